"""Claimed, exact, audited: side by side, with one word."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from tacita.assess.audit.attack import Audited

__all__ = ["Verdict", "judge"]

_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Claimed, exact and audited epsilon of a mechanism.

    Attributes:
        name: The mechanism.
        claimed: Its epsilon, by its own statement; infinite where it claims nothing.
        exact: Computed from all outputs, where they can be listed.
        audited: Lower bound by attack.
        why: A known error of the mechanism, or the reason that the auditor found.
    """

    name: str
    claimed: float
    delta: float = 0.0
    exact: float | None = None
    audited: Audited | None = None
    why: str = ""

    @property
    def word(self) -> Literal["breach", "consistent"]:
        """`breach` if the exact or audited epsilon is above the claim; `consistent` is no proof.

        The exact figure decides where it is known: an audit holds only with its confidence.
        """
        found = self.exact if self.exact is not None else self.audited.epsilon if self.audited else 0.0
        return "breach" if found > self.claimed * (1 + _ROUNDING) + _ROUNDING else "consistent"

    @property
    def reached(self) -> float | None:
        """The audited share of the true epsilon, or of the claim where the truth is not known."""
        truth = self.claimed if self.exact is None else self.exact
        if self.audited is None or not math.isfinite(truth) or truth <= 0:
            return None
        return self.audited.epsilon / truth

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        exact = self.exact
        return {
            "name": self.name,
            "claimed": self.claimed if math.isfinite(self.claimed) else None,
            "delta": self.delta,
            "exact": "infinite" if exact is not None and math.isinf(exact) else exact,
            "audited": None if self.audited is None else self.audited.as_dict(),
            "verdict": self.word,
            "why": self.why,
        }


def judge(
    name: str,
    claimed: float,
    *,
    delta: float = 0.0,
    exact: float | None = None,
    audited: Audited | None = None,
    why: str = "",
) -> Verdict:
    """Collect the claimed, exact and audited epsilon of a mechanism in a verdict."""
    reason = "" if audited is None or audited.reason is None else audited.reason.words
    return Verdict(name=name, claimed=claimed, delta=delta, exact=exact, audited=audited, why=why or reason)

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
    """What is claimed of a mechanism and what was found.

    Attributes:
        name: The mechanism.
        claimed: Its epsilon, by its own statement; infinite where it claims nothing.
        exact: Worked out from all outputs, where they can be listed.
        audited: Shown by attack.
        why: What is known to be wrong with it, or what the auditor found to be.
    """

    name: str
    claimed: float
    delta: float = 0.0
    exact: float | None = None
    audited: Audited | None = None
    why: str = ""

    @property
    def word(self) -> Literal["breach", "consistent"]:
        """`breach` when what was found is above the claim; consistent is not proven.

        Where the exact figure is known it decides: an audit is right with its confidence only.
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
    """Put side by side what is known of a mechanism."""
    reason = "" if audited is None or audited.reason is None else audited.reason.words
    return Verdict(name=name, claimed=claimed, delta=delta, exact=exact, audited=audited, why=why or reason)

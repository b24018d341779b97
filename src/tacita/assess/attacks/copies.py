"""Copies: released rows that equal rows of the data, or lie too near to them.

    exact copies    the share of released rows that equal a row of the data, beside those that equal one of the control
    nearer          the share of released rows that lie nearer to the data than to as many people of the control;
                    one half when the release reflects the population only and not the people

Copies of frequent combinations are no leak: the control has them too. So the risk is always the difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.assess._nearest import nearest
from tacita.assess.attacks._as_many import none_and_one, worked_out
from tacita.assess.attacks.attack import Attack
from tacita.assess.case import Case
from tacita.assess.frame import Frame
from tacita.assess.rates import Leak, Rate, Risk
from tacita.errors import InvalidInput

__all__ = ["COPIES", "NEAREST", "Nearness", "exact_copies", "nearness"]


def exact_copies(case: Case, rng: np.random.Generator) -> Leak:
    """Count released rows that equal a row of the data in every value."""
    release, control, notes = case.first, case.control, []
    shuffled = np.stack([rng.permutation(column) for column in release.values.T], axis=1)
    beside = None
    if control is not None and len(control) >= len(case.real):
        beside = Rate.of(_counts(release, control.take(rng.choice(len(control), len(case.real), replace=False))) > 0)
    elif control is not None:
        none, _ = none_and_one(_counts(release, control).astype(np.float64), len(case.real) / len(control))
        beside, note = worked_out(1 - none, len(release), len(control), len(case.real))
        notes.append(note)
    return Leak(
        name="exact copies",
        attack=Rate.of(_counts(release, case.real) > 0),
        baseline=Rate.of(_counts(Frame(domain=release.domain, values=shuffled), case.real) > 0),
        control=beside,
        notes=tuple(notes),
    )


def _counts(rows: Frame, others: Frame) -> NDArray[np.int64]:
    """Count, for each row, the other rows that it equals."""
    both = np.nan_to_num(np.concatenate([rows.values, others.values]), nan=np.finfo(np.float64).max)
    which = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)
    return np.bincount(which[len(rows) :], minlength=int(which.max()) + 1)[which[: len(rows)]]


@dataclass(frozen=True, kw_only=True)
class Nearness:
    """Distances of released rows to the data, and to people who are not in it.

    Attributes:
        nearer: Released rows that lie nearer to the data than to the control; ties count one half, so the number of
            successes is rounded.
        to_real, to_control: Quantiles of the distance to the nearest row (5 %, 50 %), in attributes.
        looked_at: The share of the data that was compared: as many rows as the control has.
    """

    nearer: Rate
    to_real: tuple[float, float]
    to_control: tuple[float, float]
    looked_at: float = 1.0

    @property
    def name(self) -> str:
        """The measure."""
        return "nearest rows"

    def risks_at(self, level: float) -> tuple[Risk, ...]:
        """Return nothing: a distance is no guess about a person."""
        return ()

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """The result in words, for a page."""
        words = f"{self.nearer.share:.1%} of released rows lie nearer to the data than to people held back"
        return ((self.name, f"{words}; one half would be chance"),)

    @property
    def excess(self) -> float:
        """(2 share - 1) / looked_at, between 0 and 1: 0 when no row depends on a person, 1 when all rows are copies.

        A copy of a person who was not compared is equally often nearer to either side.
        """
        return min(1.0, max(0.0, 2 * self.nearer.share - 1) / self.looked_at)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "nearer": self.nearer.as_dict(),
            "excess": self.excess,
            "looked_at": self.looked_at,
            "to_real": list(self.to_real),
            "to_control": list(self.to_control),
        }


def nearness(case: Case, rng: np.random.Generator, *, rows: int = 2000) -> Nearness:
    """Compare distances of released rows to the data and to a control; the larger side is subsampled to equal size."""
    if case.control is None:
        raise InvalidInput(
            "needs people whose data was not used: without them a distance has no reference",
            field="control",
            hint="Hold some rows back before releasing",
        )
    size = min(len(case.real), len(case.control))
    real, control = (frame.take(rng.choice(len(frame), size, replace=False)) for frame in (case.real, case.control))
    release = case.first
    some = release if len(release) <= rows else release.take(rng.choice(len(release), rows, replace=False))
    ours, theirs = (nearest(some, frame)[1][:, 0] for frame in (real, control))
    wins = int((ours < theirs).sum()) + round(0.5 * int((ours == theirs).sum()))
    return Nearness(
        nearer=Rate(successes=wins, trials=len(some)),
        to_real=_quantiles(ours),
        to_control=_quantiles(theirs),
        looked_at=size / len(case.real),
    )


def _quantiles(distances: NDArray[np.float32]) -> tuple[float, float]:
    low, middle = np.quantile(distances, [0.05, 0.5])
    return float(low), float(middle)


COPIES = Attack(
    name="copies",
    title="exact copies",
    question="Do released rows equal real rows?",
    needs="released rows",
    run=lambda case, options, rng: [exact_copies(case, rng)],
    shared=True,
)
NEAREST = Attack(
    name="nearest",
    title="nearest rows",
    question="Do released rows lie nearer to the people in the data than to others?",
    needs="released rows, people held back",
    run=lambda case, options, rng: [nearness(case, rng, rows=options.attempts)],
    shared=True,
)

"""Protocol of risk measures: what a measure is and what it returns.

A new measure is a file with a `RiskMeasure` and a line in `registry`: Python, the command line, REST and pages read it
from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.assess.risk.sample import Sample
from tacita.errors import InvalidInput

__all__ = ["Figure", "Measured", "RiskMeasure", "RiskOptions"]


@dataclass(frozen=True, kw_only=True)
class RiskOptions:
    """Options of measures.

    Attributes:
        threshold: Risk above which a record counts as at risk.
        size: Largest minimal sample unique that is looked for.
        fraction: Sampling fraction where the size of the population is not known; for DIS scores only.
        measures: Names of the measures to run; all that apply by default.
    """

    threshold: float = 0.2
    size: int = 3
    fraction: float = 0.01
    measures: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1:
            raise InvalidInput("must lie between 0 and 1", field="threshold", value=self.threshold)
        check.whole(self.size, "size", least=1, most=10)
        check.inside(self.fraction, "fraction", 0, 1)


class Figure(NamedTuple):
    """One number, with its interval where there is one.

    `name` is its key, `title` its name for people; `share` says whether it is a share or a probability.
    """

    name: str
    title: str
    value: float
    low: float = float("nan")
    high: float = float("nan")
    share: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Plain data; an end that is not known is null."""
        low, high = (None if np.isnan(end) else end for end in (self.low, self.high))
        return {"name": self.name, "title": self.title, "value": self.value, "low": low, "high": high}


@dataclass(frozen=True, kw_only=True, eq=False)
class Measured:
    """Result of a measure.

    Attributes:
        figures: Numbers about the file.
        records: Columns with one number for each record; for the owner only.
        notes: What to know about the numbers.
    """

    figures: tuple[Figure, ...]
    records: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def _always(sample: Sample) -> str | None:
    return None


@dataclass(frozen=True, kw_only=True)
class RiskMeasure:
    """A measure of the registry.

    Attributes:
        name: Its key on every surface: lower case with hyphens.
        title: Its name for people.
        question: The question that it answers, in one sentence.
        needs: Its needs beside the records, in words.
        run: Computes it.
        applies: Returns the reason why it does not apply, None if it does.
    """

    name: str
    title: str
    question: str
    needs: str
    run: Callable[[Sample, RiskOptions], Measured]
    applies: Callable[[Sample], str | None] = _always

    def as_dict(self) -> dict[str, str]:
        """Return its description."""
        return {"name": self.name, "title": self.title, "question": self.question, "needs": self.needs}

"""Random counting queries: the number of people who meet a few conditions, in the data and in the release.

Each query is a conjunction over some attributes: a level, or a range of an ordered attribute. The error is in shares
of the people; a relative error is given against at least 1 % of them, so that tiny counts do not dominate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.assess.case import Case
from tacita.assess.frame import Frame
from tacita.errors import InvalidInput

__all__ = ["QueryError", "query_error"]

_LEAST_SHARE = 0.01


@dataclass(frozen=True, kw_only=True)
class QueryError:
    """Errors of random queries, as shares of the people."""

    queries: int
    mean: float
    median: float
    p95: float
    relative: float

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def query_error(case: Case, rng: np.random.Generator, *, queries: int = 500, attributes: int = 3) -> QueryError:
    """Ask the same random queries of the data and of all releases."""
    check.whole(queries, "queries", least=1)
    width = min(attributes, len(case.names))
    if width < 1:
        raise InvalidInput("must be at least 1", field="attributes", value=attributes)
    questions = [_question(case.real, rng, width) for _ in range(queries)]
    truth = _shares(case.real, questions)
    found = np.mean([_shares(frame, questions) for frame in case.released], axis=0)
    gaps = np.abs(found - truth)
    return QueryError(
        queries=queries,
        mean=float(gaps.mean()),
        median=float(np.median(gaps)),
        p95=float(np.quantile(gaps, 0.95)),
        relative=float((gaps / np.maximum(truth, _LEAST_SHARE)).mean()),
    )


def _question(frame: Frame, rng: np.random.Generator, width: int) -> list[tuple[int, float, float]]:
    """Draw a query as (column, low, high) from the schema; it does not read the data."""
    chosen = []
    for place in rng.choice(len(frame.names), width, replace=False):
        attribute = frame.domain.attributes[place]
        if frame.ordered[place]:
            low, high = getattr(attribute, "line_bounds", (0, len(attribute.labels) - 1))
            ends = np.sort(rng.uniform(low, high, 2))
            chosen.append((int(place), float(ends[0]), float(ends[1])))
        else:
            level = float(rng.integers(len(attribute.labels)))
            chosen.append((int(place), level, level))
    return chosen


def _shares(frame: Frame, questions: list[list[tuple[int, float, float]]]) -> NDArray[np.float64]:
    columns = np.asfortranarray(frame.values)
    found = np.empty(len(questions))
    for number, question in enumerate(questions):
        fits = np.ones(len(frame), bool)
        for place, low, high in question:
            fits &= (columns[:, place] >= low) & (columns[:, place] <= high)
        found[number] = fits.mean()
    return found

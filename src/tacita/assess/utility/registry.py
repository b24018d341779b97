"""Registry of utility measures: one line for each, in the order in which `assess` computes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tacita.assess.case import Case
from tacita.assess.options import AssessmentOptions
from tacita.assess.utility.association import associations
from tacita.assess.utility.estimates import compare_means, compare_regression
from tacita.assess.utility.learning import train_on_release
from tacita.assess.utility.marginals import margins
from tacita.assess.utility.propensity import propensity
from tacita.assess.utility.structure import compare_structure
from tacita.assess.utility.travel import travel_utility
from tacita.assess.utility.workload import query_error

__all__ = ["MEASURES", "Measure"]


class Measure(NamedTuple):
    """A measure of utility.

    `key` is its field of `Assessment`, `begins` the share of an assessment's work that precedes it, `empty` its value
    where it cannot be computed.
    """

    key: str
    title: str
    begins: float
    run: Callable[[Case, AssessmentOptions, np.random.Generator], Any]
    empty: Any = None


def _regression(case: Case, options: AssessmentOptions, rng: np.random.Generator) -> Any:
    if options.number is None or len(case.names) < 2:
        return ()
    return compare_regression(case, options.number, kind=options.kind)


MEASURES: tuple[Measure, ...] = (
    Measure("margins", "tables", 0.55, lambda case, options, rng: margins(case, rng)),
    Measure("associations", "associations", 0.56, lambda case, options, rng: associations(case)),
    Measure("propensity", "distinguishing rows", 0.58, lambda case, options, rng: propensity(case, rng)),
    Measure("queries", "random questions", 0.65, lambda case, options, rng: query_error(case, rng)),
    Measure(
        "learned",
        "learning",
        0.7,
        lambda case, options, rng: train_on_release(case, str(options.target), rng, group=options.group),
    ),
    Measure("means", "means", 0.9, lambda case, options, rng: compare_means(case, kind=options.kind), ()),
    Measure("regression", "regression", 0.92, _regression, ()),
    Measure("structure", "structure", 0.95, lambda case, options, rng: compare_structure(case)),
    Measure("travel", "trips", 0.97, lambda case, options, rng: travel_utility(case)),
)

"""Intruder scenario as an attack of the registry; the estimator is in `assess.disclosure`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tacita.assess.attacks.attack import Attack, Result, needs_rows
from tacita.assess.case import Case
from tacita.assess.disclosure import disclosure_risk
from tacita.assess.options import AssessmentOptions

__all__ = ["SCENARIO"]


def _run(case: Case, options: AssessmentOptions, rng: np.random.Generator) -> Iterator[Result]:
    assert options.scenario is not None
    yield disclosure_risk(options.scenario, case.real, case.released, belongs=case.belongs, population=case.population)


def _applies(case: Case, options: AssessmentOptions) -> str | None:
    if options.scenario is None:
        return "It needs a scenario: the knowledge of an intruder."
    return needs_rows(case, options)


SCENARIO = Attack(
    name="scenario",
    title="scenario",
    question="Does an intruder who knows some fields of a person find the row that was made from that person?",
    needs="released rows, a scenario, and the real row that each released row was made from",
    run=_run,
    applies=_applies,
    shared=True,
)

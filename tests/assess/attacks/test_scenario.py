"""The intruder scenario in the registry: it runs the estimator of `assess.disclosure`, or says what it needs."""

import numpy as np

from tacita.assess.attacks.scenario import SCENARIO
from tacita.assess.case import Case
from tacita.assess.disclosure import disclosure_risk
from tacita.assess.options import AssessmentOptions
from tacita.assess.scenario import Scenario

KNOWS = AssessmentOptions(scenario=Scenario(exact=("age", "town", "job")))


def own_rows(case):
    """The case, with the knowledge that each released row was made from the real row in its position."""
    return Case(real=case.real, released=(case.real,), belongs=(np.arange(len(case.real)),))


def test_it_is_the_risk_of_the_estimator(cases):
    case = own_rows(cases["copied"])
    (found,) = SCENARIO.run(case, KNOWS, np.random.default_rng(1))
    alone = disclosure_risk(KNOWS.scenario, case.real, case.released, belongs=case.belongs, population=case.population)
    assert found.as_dict() == alone.as_dict()


def test_it_says_what_it_needs(cases):
    case = cases["copied"]
    assert "needs a scenario" in SCENARIO.applies(case, AssessmentOptions())
    assert "released rows" in SCENARIO.applies(Case(real=case.real, released=(), models=("a model",)), KNOWS)
    assert SCENARIO.applies(case, KNOWS) is None

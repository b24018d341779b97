import json

import numpy as np
import pytest

from tacita.assess.assessment import Wishes, assess
from tacita.assess.case import Case
from tacita.assess.scenario import Scenario
from tacita.errors import InvalidInput

WISHES = Wishes(attempts=300, secrets=("ill",), group="school")


@pytest.fixture(scope="module")
def found(cases):
    return {name: assess(case, np.random.default_rng(1), wishes=WISHES) for name, case in cases.items()}


def test_copies_are_risky_and_strangers_are_not(found):
    assert found["copied"].risk > 0.9
    assert found["fresh"].risk < 0.12
    assert found["copied"].kept > found["marginal"].kept
    assert found["copied"].worst in {"exact copies", "singling out, univariate"}
    for each in found.values():
        assert not each.skipped
        names = [name for name, *_ in each.risks]
        assert len(names) == len(set(names)) >= 6
        assert all(0 <= low <= value <= high <= 1 for _, value, low, high in each.risks)


def test_it_is_plain_data(found):
    for each in found.values():
        text = json.dumps(each.as_dict(), allow_nan=False)
        assert json.loads(text)["tacita"] == "assessment/1"


def test_without_a_control_it_says_what_is_meaningless(cases):
    case = cases["fresh"]
    told = []
    alone = assess(
        Case(real=case.real, released=case.released),
        np.random.default_rng(1),
        wishes=WISHES,
        progress=lambda share, what: told.append(share),
    )
    skipped = dict(alone.skipped)
    assert {"control group", "learning", "nearest rows", "membership by distance"} <= set(skipped)
    assert alone.learned is None
    assert told == sorted(told)
    assert told[-1] == 1


def test_a_scenario_goes_along(cases):
    case = cases["copied"]
    same = Case(real=case.real, released=(case.real,), control=case.control)
    wishes = Wishes(attempts=100, scenario=Scenario(exact=("town", "job"), within={"age": 0}))
    matched = assess(same, np.random.default_rng(1), wishes=wishes)
    assert matched.disclosure.true_rate.share > 0.3
    assert "match in the scenario" in [name for name, *_ in matched.risks]


def test_one_attribute_is_enough(cases):
    found = assess(cases["fresh"].only(["ill"]), np.random.default_rng(1), wishes=Wishes(attempts=50))
    assert found.kept > 0.9
    assert "learning" in dict(found.skipped)


@pytest.mark.parametrize("bad", [{"secrets": ("nobody",)}, {"target": "nobody"}, {"group": "nobody"}, {"number": "x"}])
def test_bad_wishes(cases, bad):
    with pytest.raises(InvalidInput, match=next(iter(bad))):
        assess(cases["fresh"], np.random.default_rng(1), wishes=Wishes(**bad))

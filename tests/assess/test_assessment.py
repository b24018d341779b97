import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from tacita.assess.assessment import AssessmentOptions, assess
from tacita.assess.case import Case
from tacita.assess.compare.page import assessment_sections
from tacita.assess.rates import Leak, Rate
from tacita.assess.scenario import Scenario
from tacita.errors import InvalidInput

OPTIONS = AssessmentOptions(attempts=300, secrets=("ill",), group="school")


@pytest.fixture(scope="module")
def found(cases):
    return {name: assess(case, np.random.default_rng(1), options=OPTIONS) for name, case in cases.items()}


def test_copies_are_risky_and_strangers_are_not(found):
    assert found["copied"].risk > 0.9
    assert found["fresh"].risk < 0.12
    assert found["copied"].kept > found["marginal"].kept
    assert found["copied"].worst in {"exact copies", "singling out, univariate"}
    for each in found.values():
        assert not each.skipped
        names = [name for name, *_ in each.risks]
        assert len(names) == len(set(names)) >= 6
        assert all(0 <= risk.low <= risk.value <= risk.high <= 1 for risk in each.risks)
        assert each.shown <= each.risk <= each.interval[1]


def test_the_headline_follows_the_rows(found):
    """It names an attack as a leak only if that attack beats guessing and its interval lies above 0."""
    rate, some = partial(Rate, trials=200), found["fresh"]
    weak = Leak(name="a weak one", attack=rate(successes=60), baseline=rate(successes=100), control=rate(successes=20))
    strong = Leak(
        name="a strong one", attack=rate(successes=90), baseline=rate(successes=20), control=rate(successes=60)
    )
    chance = Leak(name="a chance", attack=rate(successes=90), baseline=rate(successes=20), control=rate(successes=85))
    assert weak.risk[0] > strong.risk[0] - 0.02 > 0.15
    for leaks, named, leaky in (
        ((weak,), "a weak one", False),
        ((chance,), "a chance", False),
        ((weak, chance, strong), "a strong one", True),
    ):
        each = replace(some, leaks=leaks, memberships=())
        assert each.headline.startswith("The attacks that were tried learn") == leaky
        assert each.headline.startswith("No attack did better than guessing") != leaky
        assert f"by {named}" in each.headline
        assert each.headline in assessment_sections(each)[0].text
    assert "could be tried" in replace(some, leaks=(), memberships=()).headline


def test_all_attacks_are_in_the_figures(found):
    for each in found.values():
        told = each.as_dict()
        assert [row["name"] for row in told["risks"]] == [name for name, *_ in each.risks]
        assert told["worst"] in [row["name"] for row in told["risks"]]
    assert found["copied"].headline.startswith("The attacks that were tried learn much")


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
        options=OPTIONS,
        progress=lambda share, what: told.append(share),
    )
    skipped = dict(alone.skipped)
    assert {"control group", "learning", "nearest rows", "membership by distance"} <= set(skipped)
    assert alone.learned is None
    assert "No one was held back" in alone.headline
    assert told == sorted(told)
    assert told[-1] == 1


def test_a_scenario_goes_along(cases):
    case = cases["copied"]
    same = Case(real=case.real, released=(case.real,), control=case.control)
    options = AssessmentOptions(attempts=100, scenario=Scenario(exact=("town", "job"), within={"age": 0}))
    with pytest.raises(InvalidInput, match="real row of each"):  # it was asked for, so it is not skipped in silence
        assess(same, np.random.default_rng(1), options=options)
    matched = assess(same, np.random.default_rng(1), options=options, belongs="same rows")
    assert matched.disclosure.true_rate.share > 0.3
    assert "match in the scenario" in [name for name, *_ in matched.risks]


def test_one_attribute_is_enough(cases):
    found = assess(cases["fresh"].only(["ill"]), np.random.default_rng(1), options=AssessmentOptions(attempts=50))
    assert found.kept > 0.9
    assert "learning" in dict(found.skipped)


@pytest.mark.parametrize("bad", [{"secrets": ("nobody",)}, {"target": "nobody"}, {"group": "nobody"}, {"number": "x"}])
def test_bad_options(cases, bad):
    with pytest.raises(InvalidInput, match=next(iter(bad))):
        assess(cases["fresh"], np.random.default_rng(1), options=AssessmentOptions(**bad))

"""The registry of attacks: every line is on every surface, and a new one is at once in results, listing and report."""

import json
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from typer.testing import CliRunner

from tacita.assess.assessment import AssessmentOptions, assess
from tacita.assess.attacks import registry
from tacita.assess.attacks.attack import Attack
from tacita.assess.case import Case
from tacita.assess.compare.page import assessment_sections
from tacita.assess.compare.plan import ComparePlan
from tacita.assess.rates import Leak, Rate
from tacita.cli import app
from tacita.errors import InvalidInput
from tacita.wire.assessments import AttackName

ROOT = Path(__file__).resolve().parents[3]
NAMES = [attack.name for attack in registry.ATTACKS]


def listing():
    done = CliRunner().invoke(app, ["assess", "--list-attacks"], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    return done.output


def test_every_line_is_on_every_surface():
    assert len(set(NAMES)) == len(NAMES)
    assert list(get_args(AttackName)) == NAMES
    contract = json.loads((ROOT / "spec" / "openapi.json").read_text())["components"]["schemas"]
    for request in ("AssessmentRequest", "ComparisonRequest"):
        assert f'"enum": {json.dumps(NAMES)}' in json.dumps(contract[request]["properties"]["attacks"])
    shown, guide = listing(), (ROOT / "docs" / "guides" / "assess.md").read_text()
    for attack in registry.ATTACKS:
        assert attack.name in shown
        assert f"`{attack.name}`" in guide
        assert attack.question.endswith("?")
        assert attack.needs


def _run(case, options, rng):
    taken = Rate.of(np.isin(case.real.column("age"), case.first.column("age")))
    yield Leak(name="ages of people", attack=taken, baseline=Rate(successes=0, trials=taken.trials))


AGES = Attack(name="ages", title="ages", question="Does a person's age occur?", needs="released rows", run=_run)


def test_a_new_attack_is_in_the_results_the_listing_and_the_report(cases, monkeypatch):
    options = AssessmentOptions(attempts=50, attacks=("copies",))
    before = assess(cases["fresh"], np.random.default_rng(1), options=options)
    monkeypatch.setattr(registry, "ATTACKS", (*registry.ATTACKS, AGES))
    options = AssessmentOptions(attempts=50, attacks=("ages", "copies"))
    found = assess(cases["fresh"], np.random.default_rng(1), options=options)
    assert [leak.name for leak in found.leaks] == ["exact copies", "ages of people"]
    assert found.leaks[0] == before.leaks[0]  # the same draws as without it
    assert "ages of people" in [risk["name"] for risk in found.as_dict()["risks"]]
    assert {"name": "ages", "title": "ages", "ran": True, "reason": None} in found.as_dict()["attacks"]
    assert "Does a person's age occur?" in listing()
    facts = [name for section in assessment_sections(found) for name, _ in section.facts]
    assert "ages of people" in facts


def test_selected_attacks_alone_are_run(cases):
    case = cases["copied"]
    options = AssessmentOptions(attempts=50, attacks=("nearest", "copies", "scenario"))
    found = assess(case, np.random.default_rng(1), options=options)
    assert [leak.name for leak in found.leaks] == ["exact copies"]
    assert (found.memberships, found.nearness is None) == ((), False)
    assert dict(found.skipped)["scenario"].startswith("It needs a scenario")  # it was asked for and does not apply
    why = {each.name: each.reason for each in found.attacks}
    assert list(why) == NAMES
    assert (why["copies"], why["nearest"], why["linkability"]) == ("", "", "It was not selected.")
    facts = next(section.facts for section in assessment_sections(found) if "not tried" in section.title)
    assert any("linkability" in titles for titles, why in facts if why == "It was not selected.")


def test_an_attack_that_does_not_apply_is_named_with_the_reason(cases):
    found = assess(cases["fresh"].only(["ill"]), np.random.default_rng(1), options=AssessmentOptions(attempts=50))
    why = {each.title: each.reason for each in found.not_tried}
    assert {"inference", "linkability", "scenario"} <= set(why)
    assert "attributes" in why["linkability"]
    alone = Case(real=cases["fresh"].real, released=cases["fresh"].released)
    found = assess(alone, np.random.default_rng(1), options=AssessmentOptions(attempts=50))
    assert {each.name for each in found.attacks if each.reason} >= {"nearest", "membership-distance"}
    assert "nearest rows" in dict(found.skipped)
    assert "nearest rows" not in [each.title for each in found.not_tried]  # named once


def test_unknown_names_are_refused(cases):
    with pytest.raises(InvalidInput, match=r"attacks.*singling-out"):
        assess(cases["fresh"], np.random.default_rng(1), options=AssessmentOptions(attacks=("magic",)))
    plan = {"data": "d.csv", "schema": "s.yaml", "releases": [{"synthesize": {"epsilon": 1}}]}
    assert ComparePlan.from_dict(plan | {"attacks": ["copies"]}).options.attacks == ("copies",)
    with pytest.raises(InvalidInput, match="attacks"):
        ComparePlan.from_dict(plan | {"attacks": ["magic"]})

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from tacita.assess.compare.makers import MAKERS, ReleaseSpec
from tacita.assess.compare.plan import ComparePlan
from tacita.console.parts.presets import PRESETS, WAYS, as_text, make_path, of_text
from tacita.errors import InvalidInput


def test_every_way_has_a_name():
    assert set(WAYS) == set(MAKERS)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_plans_and_survive_being_written(name):
    releases = PRESETS[name][1]
    assert of_text(as_text(releases)) == releases
    plan = ComparePlan.from_dict({"data": "d", "schema": "d", "releases": releases})
    assert len(plan.releases) == len(releases)


@pytest.mark.parametrize("text", ["", "synthesize", "magic: {}", "synthesize: 1", "{", "a: {}\nb: {}"])
def test_lines_that_say_nothing_are_refused(text):
    with pytest.raises(InvalidInput):
        of_text(text)


def test_what_is_wrong_is_told_with_its_line():
    with pytest.raises(InvalidInput) as refused:
        of_text("anonymize: {k: 3}\n\nmagic: {k: 3}")
    assert refused.value.field == "releases, line 3"


@pytest.mark.parametrize(
    ("wanted", "epsilon", "path", "asked"),
    [
        (
            ReleaseSpec(way="anonymize", settings={"k": 10, "l": 2}),
            None,
            "/releases/new",
            {"kind": "anonymized", "k": "10"},
        ),
        (
            ReleaseSpec(way="synthesize", settings={"epsilon": 0.5}),
            0.5,
            "/releases/new",
            {"kind": "synthetic", "epsilon": "0.5"},
        ),
        (
            ReleaseSpec(way="statistics", settings={"epsilon": 1}),
            1.0,
            "/releases/new",
            {"kind": "tables", "epsilon": "1"},
        ),
        (ReleaseSpec(way="collect", settings={"epsilon": 2}), 2.0, "/campaigns/new", {"epsilon": "2"}),
    ],
)
def test_the_way_to_the_wizard_carries_the_settings(wanted, epsilon, path, asked):
    found = make_path("my data", {"way": wanted.way, "name": wanted.name, "epsilon": epsilon, "delta": 0.0})
    parts = urlsplit(found)
    assert parts.path == path
    assert parse_qs(parts.query) == {name: [value] for name, value in ({"dataset": "my data"} | asked).items()}


def test_what_nothing_here_makes_has_no_way():
    assert make_path("d", {"way": "impute", "name": "impute", "epsilon": None}) is None


def test_the_wizard_knows_the_kinds():
    from tacita.console.parts.forms import FORMS

    for way in ("anonymize", "synthesize", "statistics"):
        path = make_path("d", {"way": way, "name": way, "epsilon": 1.0})
        assert parse_qs(urlsplit(path).query)["kind"][0] in FORMS

"""A plan is read, its releases are made and assessed, and one is recommended for reasons."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacita.assess.compare.makers import ReleaseSpec
from tacita.assess.compare.page import write_assessment, write_comparison
from tacita.assess.compare.plan import ComparePlan
from tacita.assess.compare.run import compare
from tacita.assess.rates import Leak, Rate
from tacita.errors import InvalidInput, TacitaError

SCHEMA = """
tacita: 1
attributes:
- {name: age, kind: numeric, bounds: [0, 99], bins: 10, integer: true}
- {name: sex, kind: categorical, levels: [f, m]}
- {name: school, kind: ordinal, levels: [none, basic, high, college]}
- {name: job, kind: categorical, levels: [j0, j1, j2, j3, j4]}
- {name: ill, kind: categorical, levels: ["no", flu, gout], role: sensitive}
"""
PLAN = """
data: people.parquet
schema: people.yaml
control: 0.4
attempts: 200
target: job
group: sex
most_risk: 0.15
scenario: {exact: [sex, school], within: {age: 0}}
releases:
- anonymize: {k: 5}
- anonymize: {k: 60}
- synthesize: {epsilon: 2, delta: 1.0e-6}
- {statistics: {epsilon: 1}, name: counts}
- impute: {replace: [ill, age], m: 2}
- collect: {epsilon: 3}
- anonymize: {k: 100000}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("compare")
    rng = np.random.default_rng(3)
    n = 2500
    age = rng.integers(16, 95, n)
    school = np.clip(rng.normal(1.6, 0.8, n).round(), 0, 3).astype(int)
    job = (school + rng.integers(0, 2, n)) % 5
    ill = np.where(age > 60, rng.integers(0, 3, n), rng.integers(0, 2, n))
    pq.write_table(
        pa.table(
            {
                "age": age,
                "sex": np.array(["f", "m"])[rng.integers(0, 2, n)],
                "school": np.array(["none", "basic", "high", "college"])[school],
                "job": np.array([f"j{i}" for i in range(5)])[job],
                "ill": np.array(["no", "flu", "gout"])[ill],
            }
        ),
        place / "people.parquet",
    )
    (place / "people.yaml").write_text(SCHEMA)
    (place / "plan.yaml").write_text(PLAN)
    return place


@pytest.fixture(scope="module")
def found(folder):
    told = []
    comparison = compare(ComparePlan.read(folder / "plan.yaml"), progress=lambda share, what: told.append(share))
    assert told == sorted(told)
    return comparison


def test_every_release_is_made_or_told_why_not(found):
    assert [each.way for each in found.results] == [
        "anonymize",
        "anonymize",
        "synthesize",
        "statistics",
        "impute",
        "collect",
        "anonymize",
    ]
    assert len(found.good) == 6
    assert "k" in found.results[-1].error
    by_name = {each.name: each for each in found.results}
    assert by_name["counts"].made.epsilon == 1
    assert by_name["collect epsilon 3"].made.trust == "no one"
    assert by_name["synthesize epsilon 2, delta 1e-06"].guarantee
    assert not by_name["anonymize k 5"].guarantee


def test_references_stand_at_the_ends(found):
    copy, shuffled = found.references
    assert copy.assessment.kept == 1
    assert copy.assessment.risk > max(each.assessment.risk for each in found.good)
    assert shuffled.assessment.kept < copy.assessment.kept


def test_only_rows_that_belong_to_people_are_matched(found):
    for each in found.good:
        assert (each.assessment.disclosure is not None) == (each.way == "impute")


def test_the_front_is_not_beaten(found):
    for one in found.front:
        for other in found.good:
            safer = other.assessment.interval[1] < one.assessment.interval[0]
            assert not (safer and other.assessment.kept > one.assessment.kept)
    risks = [each.assessment.risk for each in found.front]
    assert risks == sorted(risks)


def test_releases_are_ranked_by_intervals_and_tie_where_these_overlap(found):
    assert sorted(each.name for group in found.ranking for each in group) == sorted(each.name for each in found.good)
    firsts = [group[0].assessment.interval for group in found.ranking]
    for (_, high), (low, _) in pairwise(firsts):
        assert high < low
    for group in found.ranking:
        assert all(each.assessment.interval[0] <= group[0].assessment.interval[1] for each in group)
    assert found.as_dict()["ranking"] == [[each.name for each in group] for group in found.ranking]
    assert "200 trials" in found.as_dict()["trials"]


def test_a_few_lucky_guesses_do_not_rank_a_release(found):
    """2 of 3 guesses right are no risk of 0.667: the point says nothing, and k = 50 would come out above k = 5."""
    lucky = Leak(
        name="singling out",
        attack=Rate(successes=2, trials=3),
        baseline=Rate(successes=0, trials=200),
        control=Rate(successes=0, trials=3),
    )
    safe = next(each for each in found.good if each.name == "anonymize k 60")
    assessed = replace(safe.assessment, leaks=(*safe.assessment.leaks, lucky))
    assert assessed.risk == safe.assessment.risk
    assert assessed.interval[1] == pytest.approx(safe.assessment.interval[1], abs=0.05)
    copy = found.references[0]
    both = replace(found, results=(replace(safe, assessment=assessed), replace(copy, way="anonymize")))
    assert [[each.name for each in group] for group in both.ranking] == [[safe.name], [copy.name]]


def test_only_what_the_plan_names_is_released(folder):
    import yaml

    names = ["age", "sex", "ill"]
    only = yaml.safe_load(PLAN) | {"attributes": names, "target": "ill", "scenario": {"exact": ["sex"]}}
    only["releases"] = [
        {"anonymize": {"k": 20}},
        {"synthesize": {"epsilon": 2}},
        {"impute": {"m": 2}},
        {"statistics": {"epsilon": 1}},
        {"collect": {"epsilon": 3}},
    ]
    found = compare(ComparePlan.from_dict(only, folder))
    assert [each.error for each in found.results] == [""] * 5
    for each in found.good:
        assert set(each.made.tables[0].column_names) == set(names)


def test_the_recommendation_keeps_within_what_is_allowed(found):
    best = found.recommended
    assert best.guarantee
    assert best.assessment.risk <= 0.15
    assert best.name in found.reasons()[0]
    strict = replace(found, plan=replace(found.plan, most_risk=1e-9))
    if strict.recommended is None:
        assert "No release stays below" in strict.reasons()[0]


def test_pages_and_plain_data(found, tmp_path):
    write_comparison(tmp_path / "c.html", found)
    write_assessment(tmp_path / "a.html", found.good[0].assessment, "rows", promise="k = 5")
    for name in ("c.html", "a.html"):
        page = (tmp_path / name).read_text()
        assert "<script" not in page
        assert "For the owner" in page
        assert page.count("<svg") >= 2
    plain = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert plain["recommended"] == found.recommended.name
    assert len(plain["results"]) == 7


@pytest.mark.parametrize(
    "change",
    [
        {"releases": []},
        {"releases": "all"},
        {"releases": [{"magic": {}}]},
        {"releases": [{"anonymize": {"kk": 5}}]},
        {"releases": [{"anonymize": {"k": 5}, "collect": {}}]},
        {"releases": [{"anonymize": {"k": 5}}, {"anonymize": {"k": 5}}]},
        {"releases": ["anonymize"]},
        {"control": 0},
        {"control": "half"},
        {"attempts": 3},
        {"attempts": 96},
        {"most_risk": 2},
        {"sensitive": "ill"},
        {"colour": "red"},
        {"scenario": {"exact": "sex"}},
        {"target": 3},
    ],
)
def test_bad_plans(folder, change):
    import yaml

    with pytest.raises(InvalidInput):
        ComparePlan.from_dict(yaml.safe_load(PLAN) | change, folder)


def test_bad_data(folder, tmp_path):
    plan = ComparePlan.read(folder / "plan.yaml")
    with pytest.raises(TacitaError):
        compare(replace(plan, data=tmp_path / "nothing.csv"))
    with pytest.raises(TacitaError):
        compare(replace(plan, attributes=("nobody",)))
    with pytest.raises(InvalidInput, match="rows"):
        compare(replace(plan, control=0.001))
    with pytest.raises(InvalidInput):
        ComparePlan.read(tmp_path / "nothing.yaml")
    with pytest.raises(InvalidInput):
        ReleaseSpec(way="anonymize", settings={"epsilon": 1})

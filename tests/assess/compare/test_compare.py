"""A plan is read, its releases are made and assessed, and one is recommended for reasons."""

import json
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from tacita.assess.compare.makers import ReleaseSpec, make
from tacita.assess.compare.page import write_assessment, write_comparison
from tacita.assess.compare.plan import ComparePlan
from tacita.assess.compare.run import compare
from tacita.assess.compare.trials import PairedTrials
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
            assert not (found.safer(other, one) and found.kept(other) > found.kept(one))
    risks = [found.risk(each) for each in found.front]
    assert risks == sorted(risks)


def test_releases_are_ranked_by_paired_intervals(found):
    """Against intervals computed from the figures by the formula."""
    assert sorted(each.name for group in found.ranking for each in group) == sorted(each.name for each in found.good)
    alpha = 0.05 / (4 * 7 * 8)  # looks, and the statements about seven releases
    for one, other in combinations(found.good, 2):
        count = min(len(found.trials.figures[each.name]) for each in (one, other))
        assert count in (6, 10, 16, 24)
        gaps = found.trials.figures[one.name][:count] - found.trials.figures[other.name][:count]
        for place, figure in enumerate(("kept", "risk")):
            low, high = stats.t.interval(1 - alpha, count - 1, gaps[:, place].mean(), stats.sem(gaps[:, place]))
            gap = found.difference(one, other, figure)
            assert (gap.low, gap.high) == pytest.approx((max(-1, low), min(1, high)))
    for group in found.ranking:
        assert not any(found.safer(group[0], each) for each in group)
    for (first, *_), (second, *_) in pairwise(found.ranking):
        assert found.safer(first, second)


def test_a_trial_is_the_same_for_all_and_trials_differ(found, folder):
    """The same recipe under two names has no difference at all; its figures differ from trial to trial."""
    import yaml

    twins = yaml.safe_load(PLAN) | {"most_trials": 7, "attacks": ["copies"], "releases": []}
    twins["releases"] = [{"statistics": {"epsilon": 1}, "name": name} for name in ("one", "two")]
    pair = compare(ComparePlan.from_dict(twins, folder))
    one, two = (pair.trials.figures[name] for name in ("one", "two"))
    assert (one == two).all()
    assert len(set(one[:, 0])) == len(one)
    assert pair.difference(pair.good[0], pair.good[1], "kept")[1:3] == (-1, 1)  # seven equal trials show little
    assert "one and two cannot be distinguished by what they keep" in " ".join(pair.reasons())
    assert pair.unsettled == ("one", "two")
    assert "could change" in pair.reasons()[-1]


def test_trials_end_when_they_are_enough(found):
    trials = found.trials
    assert not found.unsettled
    assert trials.trials in trials.looks
    assert len(trials.figures["anonymize k 5"]) == 6  # without a guarantee it is soon out of the question
    plain = found.as_dict()
    assert plain["repeated"]["enough"]
    assert plain["repeated"]["trials"] == trials.trials
    assert f"{trials.trials} trials were enough" in " ".join(plain["reasons"])
    assert len(plain["differences"]) == 2 * 15
    assert [each["figure"] for each in plain["verdicts"]] == ["kept", "risk"]
    first = next(each for each in plain["results"] if each["name"] == "counts")
    assert first["kept"]["low"] < first["kept"]["value"] < first["kept"]["high"]


@pytest.fixture
def three(found):
    """Releases with a guarantee; a test sets by how much each keeps more than the one before."""
    names = ["counts", "collect epsilon 3", "synthesize epsilon 2, delta 1e-06"]
    some = [next(each for each in found.results if each.name == name) for name in names]

    def build(gaps, noise=0.001, trials=10):
        rng = np.random.default_rng(1)
        common = rng.normal(0.9, 0.02, trials)  # cancels in differences
        kept = [common + at + rng.normal(0, noise, trials) for at in np.cumsum([0, *gaps])]
        rows = {
            name: np.stack([column, 0.01 + 0.001 * rng.random(trials)], axis=1)
            for name, column in zip(names, kept, strict=False)
        }
        paired = PairedTrials(figures=rows, releases=3, most=24)
        return replace(found, results=tuple(some[: len(rows)]), trials=paired)

    return build


def test_the_best_is_named_or_those_that_cannot_be_distinguished(three):
    clear = three([0.05, 0.05])
    kept, risk = clear.verdicts()
    assert kept.best == ("synthesize epsilon 2, delta 1e-06",)
    assert kept.words.startswith("synthesize epsilon 2, delta 1e-06 is best by what it keeps")
    assert "(10 trials)" in kept.words
    assert clear.recommended.name == kept.best[0]
    assert not clear.unsettled
    gap = clear.difference(clear.good[2], clear.good[1], "kept")
    assert gap.words in kept.words
    assert "cannot be distinguished by risk" in risk.words
    assert "a difference below 0.02 does not matter" in risk.words

    tied = three([0.05, 0.0], noise=0.02)
    kept = tied.verdicts()[0]
    assert set(kept.best[:2]) == {"collect epsilon 3", "synthesize epsilon 2, delta 1e-06"}
    assert "cannot be distinguished by what they keep (difference" in kept.words
    assert set(kept.best) <= set(tied.unsettled)
    assert "could change what is recommended" in " ".join(tied.reasons())
    epsilons = {each.name: each.made.epsilon for each in tied.good}
    assert tied.recommended.made.epsilon == min(epsilons[name] for name in kept.best)

    small = three([0.05, 0.005], noise=0.0005)
    assert "less than the 0.02 that matters" in small.verdicts()[0].words
    assert not small.unsettled

    alone = three([])
    assert "the only release" in alone.verdicts()[0].words


def test_a_release_that_fails_in_a_later_trial_is_reported(folder, monkeypatch):
    import yaml

    from tacita.assess.compare import run

    calls = []

    def sometimes(wanted, material):
        calls.append(wanted.name)
        if wanted.name == "counts" and calls.count("counts") == 3:
            raise InvalidInput("cannot be met", field="k")
        return make(wanted, material)

    monkeypatch.setattr(run, "make", sometimes)
    asked = yaml.safe_load(PLAN) | {"most_trials": 6, "attacks": ["copies"]}
    asked["releases"] = [{"collect": {"epsilon": 1}}, {"statistics": {"epsilon": 1}, "name": "counts"}]
    found = compare(ComparePlan.from_dict(asked, folder))
    assert [each.name for each in found.good] == ["collect epsilon 1"]
    assert found.results[1].error.startswith("in trial 3")
    assert "counts" in found.reasons()[-1]


def test_one_trial_ranks_by_intervals_that_overlap(found):
    alone = replace(found, plan=replace(found.plan, most_trials=1), trials=None)
    assert alone.verdicts() == ()
    assert alone.as_dict()["differences"] == []
    assert "Each release was made once" in " ".join(alone.reasons())
    _ranked_by_overlap(alone)


def _ranked_by_overlap(found):
    assert sorted(each.name for group in found.ranking for each in group) == sorted(each.name for each in found.good)
    firsts = [group[0].assessment.interval for group in found.ranking]
    for (_, high), (low, _) in pairwise(firsts):
        assert high < low
    for group in found.ranking:
        assert all(each.assessment.interval[0] <= group[0].assessment.interval[1] for each in group)
    assert found.as_dict()["ranking"] == [[each.name for each in group] for group in found.ranking]
    assert "200 guesses" in found.as_dict()["trials"]
    assert "One trial" in found.as_dict()["trials"]
    assert "looked at after 6, 10, 16, 24" in replace(found.plan, most_trials=24).trials


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
    both = replace(found, trials=None, results=(replace(safe, assessment=assessed), replace(copy, way="anonymize")))
    assert [[each.name for each in group] for group in both.ranking] == [[safe.name], [copy.name]]


def test_only_what_the_plan_names_is_released(folder):
    import yaml

    names = ["age", "sex", "ill"]
    only = yaml.safe_load(PLAN) | {"attributes": names, "target": "ill", "scenario": {"exact": ["sex"]}}
    only["most_trials"] = 1
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
    assert found.risk(best) <= 0.15
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
        {"most_trials": 0},
        {"most_trials": 2.5},
        {"indifference": 0},
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

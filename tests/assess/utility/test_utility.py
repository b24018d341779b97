"""Measures of utility: right where they can be worked by hand, and in the right order where they cannot."""

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from tacita.assess.case import Case, read_case
from tacita.assess.frame import Frame, read_frame
from tacita.assess.utility import marginals
from tacita.assess.utility.association import association_matrix, associations
from tacita.assess.utility.estimates import compare_means, compare_regression, overlap
from tacita.assess.utility.learning import PANEL, train_on_release
from tacita.assess.utility.marginals import margins
from tacita.assess.utility.propensity import propensity
from tacita.assess.utility.structure import compare_structure
from tacita.assess.utility.workload import query_error
from tacita.domain import Categorical, Domain, Numeric
from tacita.errors import TacitaError


def rng():
    return np.random.default_rng(7)


# -- tables ---------------------------------------------------------------------------------------------------------


def test_margins(cases, domain):
    fresh, marginal = margins(cases["fresh"], rng()), margins(cases["marginal"], rng())
    assert marginal.mean(1) == 0  # the same values in another order
    assert marginal.mean(2) > fresh.mean(2) * 1.05
    assert fresh.mean(2) == pytest.approx(fresh.floor[1] * np.sqrt(2), rel=0.15)  # two samples, against one
    assert len(fresh.singles) == 6
    assert len(fresh.pairs) == 15
    ages = next(each for each in fresh.singles if each.attributes == ("age",))
    real, made = (np.bincount(frame.codes[:, 0], minlength=10) for frame in (cases["fresh"].real, cases["fresh"].first))
    assert ages.variation == pytest.approx(np.abs(real / 1500 - made / 1500).sum() / 2)
    assert ages.wasserstein is not None
    assert fresh.worst(1)[0].variation == max(each.variation for each in (*fresh.singles, *fresh.pairs))


def test_missing_values_are_a_level(domain):
    table = pa.table({"ill": ["no", None, "flu", "no"]})
    case = read_case(domain, real=table, released=[table.slice(0, 1)])
    assert margins(case, rng()).mean(1) == pytest.approx(0.5)


# -- associations ---------------------------------------------------------------------------------------------------


def test_associations_are_what_others_call_so(cases):
    frame = cases["fresh"].real
    found = association_matrix(frame)
    age, income, _, _, job, ill = frame.values.T
    assert found[0, 1] == pytest.approx(stats.spearmanr(age, income)[0])
    groups = [stats.rankdata(age)[job == code] for code in range(8)]
    ss = sum(len(g) * (g.mean() - stats.rankdata(age).mean()) ** 2 for g in groups)
    total = ((stats.rankdata(age) - stats.rankdata(age).mean()) ** 2).sum()
    assert found[0, 4] == pytest.approx(np.sqrt(ss / total))
    table = np.histogram2d(job, ill, bins=(np.arange(9), np.arange(5)))[0]
    plain = stats.contingency.association(table.astype(int), method="cramer")
    assert found[4, 5] == pytest.approx(plain, abs=0.06)  # the correction takes what chance gives
    assert np.allclose(found, found.T)
    assert (np.diag(found) == 1).all()


def test_shuffling_loses_associations(cases):
    lost, kept = associations(cases["marginal"]), associations(cases["fresh"])
    assert lost.gaps.max() > 0.4
    assert kept.gaps.max() < 0.15
    assert lost.as_dict()["largest_gap"] == lost.gaps.max()


def test_constant_columns_go_with_nothing(domain):
    frame = read_frame(
        domain, pa.table({"age": [5, 5, 5], "town": ["t1"] * 3, "job": ["j1", "j2", "j1"], "income": [1, 2, 3]})
    )
    found = association_matrix(frame)
    assert np.isfinite(found).all()
    assert found[0, 1] == 0


# -- distinguishing --------------------------------------------------------------------------------------------------


def test_propensity(cases):
    fresh, copied = propensity(cases["fresh"], rng()), propensity(cases["copied"], rng())
    assert 0.4 < fresh.ratio < 2
    assert copied.ratio < 2
    biased = cases["fresh"].first.take(cases["fresh"].first.column("age") > 50)
    skewed = propensity(Case(real=cases["fresh"].real, released=(biased,)), rng())
    assert skewed.ratio > 10
    assert skewed.auc > 0.7
    with pytest.raises(TacitaError, match="rows"):
        propensity(Case(real=biased.take(slice(10)), released=(biased,)), rng())


def test_the_null_of_propensity():
    """Over many pairs of samples of one law the ratio is 1 on average."""
    domain = Domain(
        attributes=[Numeric(name="x", bounds=(-5, 5), bins=5), Categorical(name="c", levels=["a", "b", "c"])]
    )
    source, found = np.random.default_rng(3), []
    for _ in range(60):
        frames = [
            Frame(
                domain=domain,
                values=np.stack([source.normal(size=300), source.integers(0, 3, 300)], axis=1).astype(float),
            )
            for _ in range(2)
        ]
        found.append(propensity(Case(real=frames[0], released=(frames[1],)), source).ratio)
    assert np.mean(found) == pytest.approx(1, abs=0.25)


# -- questions ------------------------------------------------------------------------------------------------------


def test_queries(cases):
    fresh, marginal = query_error(cases["fresh"], rng()), query_error(cases["marginal"], rng())
    assert fresh.mean < 0.01
    assert fresh.mean <= fresh.p95
    same = Case(real=cases["fresh"].real, released=(cases["fresh"].real,))
    assert query_error(same, rng()).mean == 0
    assert query_error(cases["marginal"], rng(), attributes=1).mean == 0
    assert marginal.mean > 0
    with pytest.raises(TacitaError):
        query_error(cases["fresh"], rng(), queries=0)
    with pytest.raises(TacitaError):
        query_error(cases["fresh"], rng(), attributes=0)


# -- learning -------------------------------------------------------------------------------------------------------


def test_training_on_the_release(cases):
    fresh, marginal = (train_on_release(cases[name], "job", rng(), group="school") for name in ("fresh", "marginal"))
    assert abs(fresh.lost) < 0.05
    assert marginal.lost > 0.1
    assert all(scores.accuracy > fresh.majority for scores in fresh.real.values())
    assert set(fresh.groups) <= {"none", "basic", "high", "college"}
    assert sum(size for _, _, size in fresh.groups.values()) <= 1500
    weighted = sum(size * real for real, _, size in fresh.groups.values()) / sum(s for *_, s in fresh.groups.values())
    assert weighted == pytest.approx(fresh.real["logistic"].accuracy, abs=0.03)
    binary = train_on_release(cases["fresh"].only(["age", "income", "school", "ill"]), "ill", rng(), models=("tree",))
    assert binary.real["tree"].auc is None  # four classes
    assert binary.real["tree"].micro_f1 == pytest.approx(binary.real["tree"].accuracy)


def test_a_release_of_one_class(cases):
    case = cases["fresh"]
    one = case.first.take(case.first.column("ill") == 0)
    found = train_on_release(
        Case(real=case.real, released=(one,), control=case.control), "ill", rng(), models=("tree",)
    )
    assert found.released["tree"].accuracy <= found.majority + 1e-9
    assert "one class" in found.notes[0]


@pytest.mark.parametrize("bad", [{"target": "nobody"}, {"models": ("oracle",)}, {"models": ()}])
def test_bad_learning(cases, bad):
    with pytest.raises(TacitaError):
        train_on_release(cases["fresh"], **({"target": "job", "rng": rng()} | bad))


def test_learning_needs_people_who_were_not_used(cases):
    case = cases["fresh"]
    with pytest.raises(TacitaError, match="Hold some rows back"):
        train_on_release(Case(real=case.real, released=case.released), "job", rng())
    with pytest.raises(TacitaError, match="nothing is left"):
        train_on_release(case.only(["job"]), "job", rng())


# -- estimates ------------------------------------------------------------------------------------------------------


def test_overlap():
    assert overlap((0, 1), (0, 1)) == 1
    assert overlap((0, 1), (2, 3)) == 0
    assert overlap((0.4, 0.6), (-1000, 1000)) == pytest.approx(0.5, abs=1e-3)  # why widths are always shown
    assert overlap((0, 4), (1, 3)) == pytest.approx(0.75)
    assert overlap((1, 1), (1, 1)) == 1
    assert overlap((1, 1), (0, 2)) == 0.5


def test_means(cases):
    found = {each.name: each for each in compare_means(cases["fresh"])}
    age = found["mean of age"]
    real = cases["fresh"].real.column("age")
    assert age.real == pytest.approx(real.mean())
    assert age.widths[0] == pytest.approx(2 * 1.959964 * real.std(ddof=1) / np.sqrt(1500))
    assert age.overlap > 0.2
    assert found["share of ill = flu"].real == pytest.approx((cases["fresh"].real.column("ill") == 1).mean())


def test_regression_is_least_squares(cases):
    found = {each.name: each for each in compare_regression(cases["fresh"], "income")}
    frame = cases["fresh"].real
    age, income, school, town, job, ill = frame.values.T
    columns = [np.ones(1500), age / 99, school / 3]
    columns += [(town == code).astype(float) for code in range(1, 12)]
    columns += [(job == code).astype(float) for code in range(1, 8)] + [
        (ill == code).astype(float) for code in range(1, 4)
    ]
    expected = np.linalg.lstsq(np.stack(columns, axis=1), income / 200_000, rcond=None)[0]
    assert found["school"].real == pytest.approx(expected[2], rel=1e-6)
    assert found["school"].same_finding
    lost = {each.name: each for each in compare_regression(cases["marginal"], "income")}
    assert not lost["school"].same_finding
    assert lost["school"].overlap == 0
    with pytest.raises(TacitaError, match="ordered"):
        compare_regression(cases["fresh"], "town")


def test_several_releases_are_combined_by_their_rule(cases):
    source = np.random.default_rng(4)
    real = cases["fresh"].real
    releases = tuple(real.take(source.integers(0, 1500, 1500)) for _ in range(5))
    case = Case(real=real, released=releases)
    partial, full = (compare_means(case, kind=kind)[0] for kind in ("partial", "full"))
    estimates = np.array([frame.column("age").mean() for frame in releases])
    within = np.mean([frame.column("age").var(ddof=1) / 1500 for frame in releases])
    between = estimates.var(ddof=1)
    assert partial.released == full.released == pytest.approx(estimates.mean())
    half = stats.t.ppf(0.975, 4 * (1 + within / (between / 5)) ** 2) * np.sqrt(within + between / 5)
    assert partial.widths[1] == pytest.approx(2 * half, rel=1e-6)
    with pytest.raises(TacitaError, match="two releases"):
        compare_means(Case(real=real, released=releases[:1]), kind="partial")


# -- structure ------------------------------------------------------------------------------------------------------


def test_structure(cases):
    fresh, marginal = compare_structure(cases["fresh"]), compare_structure(cases["marginal"])
    assert frozenset(("school", "job")) in fresh.real
    assert fresh.recall > 0.6
    assert marginal.recall < fresh.recall
    assert not marginal.released
    assert marginal.precision == 1
    assert marginal.differing == len(marginal.real)


def test_what_one_side_does_not_know_is_not_compared(cases, domain):
    case, values = cases["fresh"], cases["fresh"].first.values.copy()
    values[:, 0] = np.nan
    gaps = Frame(domain=domain, values=values)
    for real, released in ((case.real, gaps), (gaps, case.real)):
        half = Case(real=real, released=(released,))
        assert "mean of age" not in [each.name for each in compare_means(half)]
        names = [each.name for each in compare_regression(half, "income")]
        assert "school" in names
        assert "age" not in names
        with pytest.raises(TacitaError, match="target"):
            compare_regression(half, "age")


def test_a_regression_needs_rows(cases):
    few = cases["fresh"].real.take(np.arange(15))
    with pytest.raises(TacitaError, match="more rows"):
        compare_regression(Case(real=few, released=(few,)), "income")


def test_a_class_of_one_among_many_rows_can_be_learned():
    rng = np.random.default_rng(1)
    features, labels = rng.normal(size=(10_500, 2)), rng.integers(0, 2, 10_500)
    labels[0] = 2
    model = PANEL["boosting"](1).set_params(max_iter=2).fit(features, labels)
    assert set(model.classes_) == {0, 1, 2}


def test_a_classifier_is_not_asked_about_the_rows_it_saw():
    """Many levels and few rows of one law: a model tells them apart by heart, and learns nothing."""
    domain = Domain(
        attributes=[Categorical(name=f"z{place}", levels=[str(i) for i in range(30)]) for place in range(4)]
    )
    source, found = np.random.default_rng(5), []
    for _ in range(6):
        one, other = (Frame(domain=domain, values=source.integers(0, 30, (150, 4)).astype(float)) for _ in range(2))
        found.append(propensity(Case(real=one, released=(other,)), source).auc)
    assert np.mean(found) == pytest.approx(0.5, abs=0.06)


def test_pairs_with_very_many_cells_have_the_same_distances(cases, monkeypatch):
    whole = margins(cases["marginal"], rng())
    monkeypatch.setattr(marginals, "_MOST_CELLS", 1)
    seen = margins(cases["marginal"], rng())
    for one, other in zip(whole.pairs, seen.pairs, strict=True):
        for name in ("variation", "hellinger", "js", "kl"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-12)
    assert whole.floor == pytest.approx(seen.floor)


def test_pairs_with_more_cells_than_memory():
    size = 200_000  # 4e10 cells: 300 GB if each had a place
    domain = Domain(attributes=[Categorical(name=name, levels=[str(i) for i in range(size)]) for name in ("a", "b")])
    one, other = (Frame(domain=domain, values=rng().integers(0, size, (50, 2)).astype(float) // by) for by in (1, 2))
    case = Case(real=one, released=(other,))
    assert 0 < margins(case, rng()).mean(2) <= 1
    assert compare_structure(case).differing == 0

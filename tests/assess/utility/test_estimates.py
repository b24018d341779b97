"""Means and regressions, with the intervals that an analyst would state."""

import numpy as np
import pytest
from scipy import stats

from tacita.assess.case import Case
from tacita.assess.frame import Frame
from tacita.assess.utility.estimates import compare_means, compare_regression, overlap
from tacita.errors import TacitaError


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

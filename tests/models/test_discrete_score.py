"""Discrete scores and tests against direct computations."""

import math

import numpy as np
import pytest
from scipy import stats

from tacita.errors import InvalidInput
from tacita.models.discrete_score import DiscreteCounts, DiscreteScore
from tacita.models.search import Search, total_score

SIZES = {"A": 3, "S": 2, "E": 2, "O": 2, "R": 2, "T": 3}


def draw(survey, rows=5000, seed=1):
    return survey.sample(rows, np.random.default_rng(seed))


def test_local_scores_add_up_to_the_bic_of_the_fitted_network(survey):
    from tacita.models import fit_network
    from tacita.tables.table import Table

    codes = draw(survey)
    rows = np.stack([codes[name] for name in SIZES], axis=1)
    table = Table.count(survey.domain, rows)
    fitted = fit_network(survey.domain, survey.parents, lambda key: table.project(key).normalize())
    score = DiscreteScore(counts=DiscreteCounts.of(SIZES, codes))
    assert total_score(score, dict(survey.parents)) == pytest.approx(fitted.bic(codes))


def test_bdeu_is_the_probability_of_the_rows_one_after_the_other():
    """Polya's urn: each value's chance given those before, with the prior as rows seen before."""
    rng = np.random.default_rng(2)
    codes = {"a": rng.integers(0, 2, 40), "b": rng.integers(0, 3, 40)}
    score = DiscreteScore(counts=DiscreteCounts.of({"a": 2, "b": 3}, codes), kind="bdeu", sample=5.0)
    seen, expected = np.full((2, 3), 5.0 / 6), 0.0
    for a, b in zip(codes["a"], codes["b"], strict=True):
        expected += math.log(seen[a, b] / seen[a].sum())
        seen[a, b] += 1
    assert score("b", ("a",)) == pytest.approx(expected)


def test_bdeu_is_equal_for_equivalent_structures(survey):
    score = DiscreteScore(counts=DiscreteCounts.of(SIZES, draw(survey)), kind="bdeu", sample=3.0)
    assert score("E", ("O",)) + score("O", ()) == pytest.approx(score("O", ("E",)) + score("E", ()))


def test_the_test_is_scipys_within_each_cell(survey):
    codes = draw(survey)
    score = DiscreteScore(counts=DiscreteCounts.of(SIZES, codes))
    statistic, freedom = 0.0, 0
    for level in range(2):
        at = codes["E"] == level
        table = np.zeros((2, 3))
        np.add.at(table, (codes["O"][at], codes["T"][at]), 1)
        found = stats.chi2_contingency(table, correction=False, lambda_="log-likelihood")
        statistic, freedom = statistic + found.statistic, freedom + found.dof
    assert score.test("O", "T", ("E",)) == pytest.approx(stats.chi2.sf(statistic, freedom))


def test_p_values_of_independent_attributes_are_uniform():
    rng, found = np.random.default_rng(3), []
    for _ in range(400):
        codes = {name: rng.integers(0, size, 500) for name, size in SIZES.items()}
        found.append(DiscreteScore(counts=DiscreteCounts.of(SIZES, codes)).test("A", "T", ("S",)))
    assert stats.kstest(found, "uniform").pvalue > 1e-6


def test_empty_levels_take_no_freedom():
    codes = {"a": np.zeros(50, int), "b": np.arange(50) % 2}
    assert DiscreteScore(counts=DiscreteCounts.of({"a": 2, "b": 2}, codes)).test("a", "b", ()) == 1.0


def test_the_exact_search_finds_the_survey(survey):
    from tacita.models.links import shd

    score = DiscreteScore(counts=DiscreteCounts.of(SIZES, draw(survey, 60_000)))
    found = Search(kind="exact").run(tuple(SIZES), score)
    assert shd(found, survey.parents, classes=True) <= 3
    restricted = Search(kind="rsmax2").run(tuple(SIZES), score, score.test)
    assert total_score(score, restricted) <= total_score(score, found) + 1e-9


def test_bad_input():
    counts = DiscreteCounts.of({"a": 2}, {"a": np.array([0, 1])})
    with pytest.raises(InvalidInput, match="score"):
        DiscreteScore(counts=counts, kind="aic")
    with pytest.raises(InvalidInput, match="sample"):
        DiscreteScore(counts=counts, kind="bdeu", sample=0.0)
    with pytest.raises(InvalidInput, match="row"):
        DiscreteScore(counts=DiscreteCounts.of({"a": 2}, {"a": np.zeros(0, int)}))
    wide = {f"x{i}": 1000 for i in range(4)}
    many = DiscreteScore(counts=DiscreteCounts.of(wide, {name: np.zeros(3, int) for name in wide}))
    with pytest.raises(InvalidInput, match="cells"):
        many("x0", ("x1", "x2", "x3"))

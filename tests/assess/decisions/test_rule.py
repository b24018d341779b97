import numpy as np
import pytest
from scipy import stats

from tacita.assess.decisions.rule import Rule
from tacita.errors import InvalidInput


def test_the_decision_is_the_textbook_test_on_exact_tables():
    rng = np.random.default_rng(1)
    tables = rng.multinomial(200, rng.dirichlet(np.ones(6), size=60))
    for name, statistic in (("g2", "log-likelihood"), ("pearson", "pearson")):
        by_scipy = [
            stats.chi2_contingency(table.reshape(2, 3), correction=False, lambda_=statistic).pvalue <= 0.05
            for table in tables
        ]
        assert Rule(statistic=name).dependent(tables, (1, 2, 3)).tolist() == by_scipy


def test_degrees_of_freedom_of_a_conditional_hypothesis():
    assert Rule().critical((2, 2, 2)) == pytest.approx(stats.chi2.isf(0.05, 2))
    assert Rule(df=3).critical((2, 2, 2)) == pytest.approx(stats.chi2.isf(0.05, 3))


def test_levels_that_are_absent_may_be_left_out():
    table = [[30, 10, 0, 12, 28, 0, 0, 0, 0]]  # a third level that nobody has
    statistic = float(Rule(statistic="pearson").statistics(table, (1, 3, 3))[0])
    alpha = float(np.sqrt(stats.chi2.sf(statistic, 1) * stats.chi2.sf(statistic, 4)))
    assert not Rule(statistic="pearson", alpha=alpha).dependent(table, (1, 3, 3))[0]
    assert Rule(statistic="pearson", alpha=alpha, present=True).dependent(table, (1, 3, 3))[0]
    assert not Rule(present=True).dependent([[5, 0, 0, 0]], (1, 2, 2))[0]


def test_negative_cells_count_as_zero():
    assert Rule().statistics([[10, -3, 2, 7]], (1, 2, 2)) == Rule().statistics([[10, 0, 2, 7]], (1, 2, 2))


def test_what_is_no_rule_is_refused():
    for wrong in ({"statistic": "t"}, {"alpha": 0.0}, {"df": 0}):
        with pytest.raises(InvalidInput):
            Rule(**wrong)

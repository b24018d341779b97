"""Prosecutor, journalist and marketer risk: against loops."""

from __future__ import annotations

import numpy as np
import pytest

from tacita.assess.risk.measure import RiskOptions
from tacita.assess.risk.microdata import microdata_risk
from tacita.assess.risk.sample import sample_of
from tacita.errors import DataError


def test_against_loops() -> None:
    rng = np.random.default_rng(0)
    everyone = np.array([rng.integers(0, 5, 300), rng.integers(0, 7, 300)])
    codes = everyone[:, :80]
    sample = sample_of(["a", "b"], codes, population=everyone)
    found = microdata_risk(sample, RiskOptions(threshold=0.25))
    people = [tuple(row) for row in everyone.T.tolist()]
    rows = people[:80]
    prosecutor = [1 / rows.count(row) for row in rows]
    journalist = [1 / people.count(row) for row in rows]
    assert found.figure("prosecutor", "marketer") == pytest.approx(np.mean(prosecutor))
    assert found.figure("prosecutor", "marketer") == pytest.approx(len(set(rows)) / 80)
    assert found.figure("prosecutor", "sample-uniques") == sum(rows.count(row) == 1 for row in rows)
    assert found.figure("prosecutor", "at-risk") == np.mean(np.array(prosecutor) > 0.25)
    assert found.figure("prosecutor", "highest") == max(prosecutor)
    assert found.figure("journalist", "marketer") == pytest.approx(np.mean(journalist))
    assert found.figure("journalist", "population-uniques") == sum(people.count(row) == 1 for row in rows)
    table = found.records()
    np.testing.assert_allclose(table.column("prosecutor").to_numpy(), prosecutor)
    np.testing.assert_allclose(table.column("journalist").to_numpy(), journalist)


def test_a_population_without_these_people_is_refused() -> None:
    with pytest.raises(DataError, match="fewer people"):
        sample_of(["a"], np.array([[0, 0, 1]]), population=np.array([[0, 1, 1]]))

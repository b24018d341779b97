"""Errors of counting queries."""

import numpy as np
import pytest

from tacita.assess.case import Case
from tacita.assess.utility.workload import query_error
from tacita.errors import TacitaError


def rng():
    return np.random.default_rng(7)


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

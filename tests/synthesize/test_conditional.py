import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.models.mixture import Mixture
from tacita.synthesize.conditional import draw_given


def test_draws_follow_the_conditional_of_the_model(domain):
    """Against the model's own table over all attributes, row of given codes by row."""
    rng = np.random.default_rng(1)
    tables = {name: rng.dirichlet(np.full(domain[name].size, 0.5), 4) for name in domain.names}
    model = Mixture(domain=domain, weights=np.array([0.4, 0.3, 0.2, 0.1]), tables=tables)
    joint = model.project(("a", "c", "b", "d")).values
    for a in range(3):
        for c in range(2):
            given = {"a": np.full(20_000, a), "c": np.full(20_000, c)}
            drawn = draw_given(model, given, ("b", "d"), rng)
            counted = np.zeros((3, 4))
            np.add.at(counted, (drawn["b"], drawn["d"]), 1 / 20_000)
            expected = joint[a, c] / joint[a, c].sum()
            assert np.abs(counted - expected).sum() / 2 < 0.02


def test_refusals_and_no_rows(domain):
    tables = {name: np.full((1, domain[name].size), 1 / domain[name].size) for name in domain.names}
    model = Mixture(domain=domain, weights=np.ones(1), tables=tables)
    none = draw_given(model, {"a": np.zeros(0, int)}, ("b",), np.random.default_rng(1))
    assert none["b"].size == 0
    for given in ({}, {"b": np.zeros(3, int)}):
        with pytest.raises(InvalidInput):
            draw_given(model, given, ("b",), np.random.default_rng(1))

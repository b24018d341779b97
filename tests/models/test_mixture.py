import numpy as np
import pytest

from tacita.domain import Boolean, Categorical, Domain
from tacita.errors import InvalidInput
from tacita.models.mixture import Mixture
from tacita.tables.cells import Projectable

DOMAIN = Domain(attributes=[Boolean(name="a"), Categorical(name="b", levels=("x", "y", "z")), Boolean(name="c")])


@pytest.fixture(scope="module")
def mixture():
    rng = np.random.default_rng(0)
    tables = {name: rng.dirichlet(np.ones(DOMAIN[name].size), 4) for name in DOMAIN.names}
    return Mixture(domain=DOMAIN, weights=rng.dirichlet(np.ones(4)), tables=tables)


def joint_of(mixture):
    """By the definition, cell by cell."""
    parts = [mixture.tables[name] for name in DOMAIN.names]
    return np.einsum("k,ka,kb,kc->abc", mixture.weights, *parts)


def test_tables_are_those_of_the_joint_distribution(mixture):
    joint = joint_of(mixture)
    assert isinstance(mixture, Projectable)
    assert np.allclose(mixture.project(["a", "b", "c"]).values, joint)
    assert np.allclose(mixture.project(["c", "a"]).values, joint.sum(axis=1).T)
    assert np.allclose(mixture.project(["b"]).values, joint.sum(axis=(0, 2)))
    assert mixture.supports(["a", "c"])
    assert not mixture.supports(["q"])


def test_rows_follow_the_model_also_between_attributes(mixture):
    """Two attributes of one component must not be aligned: the joint table of rows is that of the model."""
    codes = mixture.sample(200_000, np.random.default_rng(1))
    counts = np.zeros(DOMAIN.shape)
    np.add.at(counts, tuple(codes[name] for name in DOMAIN.names), 1)
    assert np.abs(counts / counts.sum() - joint_of(mixture)).sum() / 2 < 0.005


def test_plain_data_and_averages(mixture):
    again = Mixture.from_dict(mixture.as_dict())
    assert np.allclose(again.project(["a", "b", "c"]).values, mixture.project(["a", "b", "c"]).values, atol=1e-8)
    other = Mixture(
        domain=DOMAIN, weights=[1.0], tables={n: np.full((1, DOMAIN[n].size), 1 / DOMAIN[n].size) for n in "abc"}
    )
    both = Mixture.average([mixture, other])
    assert both.components == 5
    assert np.allclose(both.project(["a", "b", "c"]).values, (joint_of(mixture) + 1 / 12) / 2)


@pytest.mark.parametrize(
    ("weights", "first"),
    [
        ([0.5, 0.6], [[1, 0], [0, 1]]),
        ([0.5, 0.5], [[1, 1], [0, 1]]),
        ([0.5, 0.5], [[1, 0]]),
        ([1.5, -0.5], [[1, 0], [0, 1]]),
    ],
)
def test_what_is_no_distribution_is_refused(weights, first):
    domain = Domain(attributes=[Boolean(name="a")])
    with pytest.raises(InvalidInput):
        Mixture(domain=domain, weights=weights, tables={"a": first})
    with pytest.raises(InvalidInput, match="tables"):
        Mixture(domain=domain, weights=[1.0], tables={})
    with pytest.raises(InvalidInput, match="mixture/1"):
        Mixture.from_dict({"tacita": "network/1"})

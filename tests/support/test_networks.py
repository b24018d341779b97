"""Random networks are what their names say."""

from typing import get_args

import numpy as np
import pytest
from tests.support.networks import Kind, random_network

from tacita.errors import InvalidInput


def dependence(network):
    gaps = []
    for parent, child in network.edges:
        table = network.project((parent, child)).values
        gaps.append(np.abs(table - np.outer(table.sum(1), table.sum(0))).sum() / 2)
    return np.mean(gaps)


@pytest.mark.parametrize("kind", get_args(Kind))
def test_a_seed_repeats_a_network_and_another_does_not(kind):
    one, again, other = (random_network(kind, seed=seed) for seed in (1, 1, 2))
    assert one.as_dict() == again.as_dict() != other.as_dict()
    assert len(one.domain) == 5


def test_kinds_differ_as_they_say():
    chain, dense, loose = (random_network(kind, seed=3) for kind in ("chain", "dense", "independent"))
    assert chain.edges == {(f"x{i}", f"x{i + 1}") for i in range(4)}
    assert len(dense.edges) > 4
    assert dependence(loose) < 0.05 < dependence(chain)
    skewed = random_network("skewed", seed=3)
    assert max(skewed.project((name,)).values.max() for name in skewed.domain.names) > 0.6
    assert min(random_network("wide", seed=3).domain.shape) >= 4


def test_an_unknown_kind():
    with pytest.raises(InvalidInput, match="kind"):
        random_network("star", seed=1)

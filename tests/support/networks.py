"""Random Bayesian networks by seed: populations whose true tables are known, for simulations and benches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Categorical, Domain
from tacita.errors import InvalidInput
from tacita.models import BayesianNetwork
from tacita.tables.cells import Cells

__all__ = ["Kind", "random_network"]

Kind = Literal["chain", "tree", "dense", "independent", "skewed", "wide"]
"""chain: each attribute depends on the one before. tree: on one earlier attribute. dense: on two or three. independent:
a tree whose edges hardly matter. skewed: a tree with one common level in each attribute. wide: a tree over attributes
with many levels."""

Array = NDArray[np.float64]

_SIZES: Mapping[str, tuple[int, int]] = {"wide": (4, 7)}
_STRENGTH: Mapping[str, float] = {"independent": 0.1, "chain": 1.0, "dense": 0.7}
_MOST_PARENTS = 3


def random_network(kind: Kind, *, attributes: int = 5, seed: int) -> BayesianNetwork:
    """Draw a network.

    Args:
        kind: Its shape.
        attributes: How many attributes.
        seed: The same seed gives the same network.
    """
    if kind not in get_args(Kind):
        raise InvalidInput(f"must be one of {', '.join(get_args(Kind))}", field="kind", value=kind)
    rng = np.random.default_rng([seed, get_args(Kind).index(kind)])
    fewest, most = _SIZES.get(kind, (2, 4))
    names = [f"x{place}" for place in range(attributes)]
    sizes = dict(zip(names, rng.integers(fewest, most + 1, attributes).tolist(), strict=True))
    domain = Domain(attributes=[Categorical(name=n, levels=[f"l{j}" for j in range(sizes[n])]) for n in names])
    parents = {name: _parents(kind, names[:place], rng) for place, name in enumerate(names)}
    strength = _STRENGTH.get(kind, 0.8)
    conditionals = {}
    for name, above in parents.items():
        table = _conditional([sizes[n] for n in above], sizes[name], strength, kind == "skewed", rng)
        conditionals[name] = Cells(domain.project((*above, name)), table)
    return BayesianNetwork(domain=domain, parents=parents, conditionals=conditionals)


def _parents(kind: Kind, before: Sequence[str], rng: np.random.Generator) -> tuple[str, ...]:
    if not before:
        return ()
    if kind == "chain":
        return (before[-1],)
    count = int(rng.integers(2, _MOST_PARENTS + 1)) if kind == "dense" else 1
    chosen = sorted(rng.choice(len(before), min(count, len(before)), replace=False))
    return tuple(before[place] for place in chosen)


def _conditional(above: Sequence[int], size: int, strength: float, skewed: bool, rng: np.random.Generator) -> Array:
    """Rows of a softmax: a base that all rows share, plus for each parent's level a normal tilt."""
    base = rng.normal(0, 0.5, size)
    if skewed:
        base[int(rng.integers(size))] += 2.5
    logits = np.broadcast_to(base, (*above, size)).copy()
    for axis, levels in enumerate(above):
        shape = [1] * len(above) + [size]
        shape[axis] = levels
        logits += strength * rng.normal(size=(levels, size)).reshape(shape)
    weights = np.exp(logits)
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))

"""Questions to a network when some attributes are known: exactly, or by drawing rows.

    conditional     P(wanted | given), of whatever gives tables; a network does so by elimination
    rejected_rows   rows drawn as ever, of which those are kept that have what is given
    weighted_rows   rows in which what is given is set, each with the probability of that given its parents

Privacy: none of its own; answers cost what the network did.
Utility: rejection keeps a share P(given) of what it draws; weights spare that, and are uneven where what is given is
rare among the likely parents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.models.network import BayesianNetwork
from tacita.tables.cells import Cells, Projectable

__all__ = ["conditional", "rejected_rows", "weighted_rows"]

Array = NDArray[Any]
Given = Mapping[str, int]

_BATCH = 1 << 16


def _checked(domain: Domain, given: Given) -> dict[str, int]:
    for name, code in given.items():
        if not 0 <= code < domain[name].size:
            raise InvalidInput("must be a code inside the domain", field=name, value=code)
    return dict(given)


def conditional(model: Projectable, wanted: Iterable[str], given: Given) -> Cells:
    """The table of shares over the wanted attributes among all who have what is given."""
    names, known = tuple(wanted), _checked(model.domain, given)
    joint = model.project((*known, *names))
    values = joint.values[tuple(known.values())]
    if not values.sum() > 0:
        raise InvalidInput("has no probability", field="given", value=known)
    return Cells(model.domain.project(names), values / values.sum())


def rejected_rows(
    network: BayesianNetwork, given: Given, rows: int, rng: np.random.Generator, *, most: int = 1 << 26
) -> dict[str, Array]:
    """Rows that have what is given; at most `most` are drawn for them."""
    known, kept, drawn = _checked(network.domain, given), [], 0
    left = rows
    while left > 0:
        if drawn >= most:
            hint = "Take weighted_rows, or conditional"
            raise InvalidInput(f"is too rare: {rows - left} of {drawn} rows had it", field="given", hint=hint)
        size = min(_BATCH, most - drawn)
        batch = network.sample(size, rng)
        drawn += size
        fits = np.ones(size, bool)
        for name, code in known.items():
            fits &= batch[name] == code
        found = np.flatnonzero(fits)[:left]
        kept.append({name: codes[found] for name, codes in batch.items()})
        left -= found.size
    names = network.domain.names
    return {name: np.concatenate([part[name] for part in kept]) if kept else np.empty(0, int) for name in names}


def weighted_rows(
    network: BayesianNetwork, given: Given, rows: int, rng: np.random.Generator
) -> tuple[dict[str, Array], NDArray[np.float64]]:
    """Rows in which what is given is set, and their weights: products of P(given value | its parents in that row)."""
    known, weights = _checked(network.domain, given), np.ones(rows)
    codes: dict[str, Array] = {}
    for name in network.order:
        table = network.conditionals[name]
        chances = table.values.reshape(-1, table.shape[-1])
        row = np.zeros(rows, np.int64)
        for parent in network.parents[name]:
            row = row * network.domain[parent].size + codes[parent]
        if name in known:
            codes[name] = np.full(rows, known[name])
            weights *= chances[row, known[name]]
        else:
            heights = np.cumsum(chances, axis=1)[row]
            codes[name] = np.minimum((rng.random(rows)[:, None] >= heights).sum(axis=1), table.shape[-1] - 1)
    return {name: codes[name] for name in network.domain.names}, weights

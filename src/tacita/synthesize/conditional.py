"""Codes drawn given others: for each row, from the model where it has what is given.

A mixture of products knows its conditionals exactly: components are weighted by how likely each makes what is given,
one is drawn, and the rest comes from it.

Privacy: post-processing of the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.errors import InvalidInput
from tacita.models._draw import draw_codes
from tacita.models.mixture import Mixture

__all__ = ["draw_given"]

_BATCH = 1 << 14
_LEAST = 1e-300


def draw_given(
    model: Mixture, given: Mapping[str, NDArray[Any]], names: Sequence[str], rng: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Codes of some attributes, one for each row of the given ones.

    Args:
        model: Knows all of them.
        given: Codes inside the domain.
        names: Attributes to draw.
        rng: For the draws.
    """
    if not given or set(given) & set(names):
        raise InvalidInput("must be others than those that are drawn", field="given", value=sorted(given))
    rows = len(next(iter(given.values())))
    logs = {name: np.log(np.maximum(model.tables[name], _LEAST)) for name in given}
    component = np.empty(rows, np.int64)
    for start in range(0, rows, _BATCH):
        part = slice(start, start + _BATCH)
        score = np.log(np.maximum(model.weights, _LEAST))[None]
        for name, codes in given.items():
            score = score + logs[name][:, codes[part]].T
        heights = np.cumsum(np.exp(score - score.max(axis=1, keepdims=True)), axis=1)
        wanted = rng.random(len(heights)) * heights[:, -1]
        component[part] = np.minimum((heights <= wanted[:, None]).sum(axis=1), model.components - 1)
    drawn = {}
    for name in names:
        codes = np.empty(rows, np.int64)
        draw_codes(component, np.cumsum(model.tables[name], axis=1), rng.random(rows), codes)
        drawn[name] = codes
    return drawn

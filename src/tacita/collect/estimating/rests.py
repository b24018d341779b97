"""Differences between measured tables and a model, added back as far as it stands out of the noise.

The model gives every table; a measured one differs from it by noise and by what the model does not know. The
difference is split into its parts (`interactions`): of single attributes and of pairs averaged over all tables that
hold them, of larger sets in each table by itself. Each kind of part is shrunk by the law of all of its kind
(`empirical.kept_shares`); parts of pairs with many levels by their singular values instead, where that leaves more
(`shrink`): a few directions of such a pair may stand out of noise that hides them together.

Privacy: post-processing of reports; nothing is spent.   Claim page: docs/claims/collected-tables.md.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacita.collect.estimating.empirical import kept_shares
from tacita.collect.estimating.evidence import Evidence, Key
from tacita.collect.estimating.interactions import Interactions, centred_margin
from tacita.collect.estimating.shrink import shrink_weighted
from tacita.tables.cells import Cells
from tacita.tables.simplex import project_table

__all__ = ["Describes", "Rests"]

Array = NDArray[np.float64]

_DIRECTIONS = 3
"""Free numbers of the smaller attribute from which on a pair is shrunk by its singular values."""


class Describes(Protocol):
    """A description of the population: a model, or tables that were made from one."""

    def project(self, attributes: Iterable[str]) -> Cells:
        """The shares over these attributes."""


class Rests:
    """The shrunk differences between measurements and a model, by their attributes.

    Attributes:
        parameters: The effective number: of each kept share, as many as its part has free numbers.
        kept: Mean share that is kept, of parts of one attribute, of two, and of more; 0 where there are none.
    """

    def __init__(self, evidence: Evidence, measured: Interactions, model: Describes) -> None:
        """Compute all of them.

        Args:
            evidence: The measured tables.
            measured: Their averaged parts.
            model: What is taken away from them.
        """
        self._evidence, self._measured, self._model = evidence, measured, model
        self._place = {name: number for number, name in enumerate(measured.domain.names)}
        self.parameters = 0.0
        self.kept = {1: 0.0, 2: 0.0, 3: 0.0}
        self._singles = self._shrunk_singles()
        self._pairs = self._shrunk_pairs()
        self._larger = self._shrunk_larger()

    def corrected(self, key: Key) -> Cells:
        """A table of the model with what was left of it, made possible."""
        table = self._model.project(key).values.astype(float)
        for size in (1, 2):
            for axes in itertools.combinations(range(len(key)), size):
                table = table + _lift(self._part([key[axis] for axis in axes]), axes, table.shape)
        if key in self._larger:
            table = table + self._larger[key]
        return project_table(Cells(self._measured.domain.project(key), table))

    def _part(self, names: list[str]) -> Array:
        places = [self._place[name] for name in names]
        if len(places) == 1:
            return self._singles[places[0]]
        low, high = min(places), max(places)
        part = self._pairs.get((low, high))
        if part is None:
            return np.zeros([self._measured.domain.shape[place] for place in places])
        return part if places == [low, high] else part.T

    def _shrunk_singles(self) -> list[Array]:
        measured, domain = self._measured, self._measured.domain
        rests = [
            measured.singles[block] - centred_margin(self._model.project((name,)).values.astype(float), (0,))
            for name, block in zip(domain.names, measured.blocks, strict=True)
        ]
        known = [measured.single_precision[block] for block in measured.blocks]
        kept = self._kept(rests, known, [max(size - 1, 1) for size in domain.shape])
        self.kept[1] = float(kept.mean())
        return [share * rest for share, rest in zip(kept, rests, strict=True)]

    def _shrunk_pairs(self) -> dict[tuple[int, int], Array]:
        measured, domain = self._measured, self._measured.domain
        pairs, rests, known = measured.measured_pairs, [], []
        for a, b in pairs:
            modelled = self._model.project((domain.names[a], domain.names[b])).values.astype(float)
            at = measured.blocks[a], measured.blocks[b]
            rests.append(measured.pairs[at] - centred_margin(modelled, (0, 1)))
            known.append(measured.pair_precision[at])
        if not pairs:
            return {}
        kept = self._kept(rests, known, [max((domain.shape[a] - 1) * (domain.shape[b] - 1), 1) for a, b in pairs])
        self.kept[2] = float(kept.mean())
        return {
            pair: _shrink_pair(rest, float(share), 1 / precision)
            for pair, rest, share, precision in zip(pairs, rests, kept, known, strict=True)
        }

    def _kept(self, rests: Sequence[Array], precisions: Sequence[Array], free: Sequence[int]) -> Array:
        """The share of each that is kept; cells weigh by their precision."""
        noise = [1 / float(precision.mean()) for precision in precisions]
        squares = [
            variance * float((precision * rest**2).sum())
            for rest, precision, variance in zip(rests, precisions, noise, strict=True)
        ]
        kept = kept_shares(squares, free, noise)
        self.parameters += float(kept @ np.array(free))
        return kept

    def _shrunk_larger(self) -> dict[Key, Array]:
        """Parts of three and more attributes of each table that was measured, all of them together."""
        found, squares, free, noise = {}, [], [], []
        for key, values in self._evidence.values.items():
            if len(key) < 3:
                continue
            rest = values - self._model.project(key).values
            rest = rest - rest.mean()
            for size in (1, 2):
                for axes in itertools.combinations(range(len(key)), size):
                    rest = rest - _lift(centred_margin(rest, axes), axes, rest.shape)
            found[key] = rest
            squares.append(float((rest**2).sum()))
            free.append(_free(values.shape))
            noise.append(float(np.mean(self._evidence.covariance(key).variance())))
        if not found:
            return {}
        kept = kept_shares(squares, free, noise)
        self.kept[3] = float(kept.mean())
        self.parameters += float(kept @ np.array(free))
        return {key: share * rest for (key, rest), share in zip(found.items(), kept, strict=True)}


def _shrink_pair(rest: Array, share: float, variance: Array) -> Array:
    """The part of a pair, all of its directions alike, or a few of them."""
    if min(rest.shape) <= _DIRECTIONS:
        return share * rest
    few = shrink_weighted(rest, variance)
    return few if float((few**2).sum()) > float(((share * rest) ** 2).sum()) else share * rest


def _free(shape: tuple[int, ...]) -> int:
    """Free numbers of a table beyond its pairs."""
    free = [size - 1 for size in shape]
    pairs = sum(a * b for a, b in itertools.combinations(free, 2))
    return max(int(np.prod(shape)) - 1 - sum(free) - pairs, 1)


def _lift(part: Array, axes: tuple[int, ...], shape: tuple[int, ...]) -> Array:
    """A part as a table over all axes: its margin is the part, and all its other margins are 0."""
    wide = [shape[axis] if axis in axes else 1 for axis in range(len(shape))]
    merged = int(np.prod(shape)) // max(int(np.prod([shape[axis] for axis in axes])), 1)
    return np.asarray(np.broadcast_to(part.reshape(wide) / merged, shape))

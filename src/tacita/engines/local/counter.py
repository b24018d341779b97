"""Counting a workload over blocks of codes: plan, compile, count, sum up.

    counter = Counter(layout, keys, outside, rows)
    counter.add(block)            for each block
    counter.tables()              exact tables, in the order asked

Rows with a value outside the domain are counted in one more cell along that axis, which is cut off at the
end; a table that is summed over the axis includes them. Tables with too many cells are counted in a hash
table of the cells that occur.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Domain
from tacita.engines.checking import check_codes
from tacita.engines.local import kernels
from tacita.engines.local.cover import Key, make_plan
from tacita.engines.local.layout import Layout, Planes
from tacita.tables.table import Table

__all__ = ["DENSE_CELLS", "Counter", "is_dense"]

DENSE_CELLS = 1 << 22
"""Most cells that are counted one by one."""
_THREAD_UPDATES = 500_000  # below, starting threads costs more than it saves
_FULL = (1 << 32) - 1  # the largest 32-bit total
_WORD = 1 << 63  # a word of a hash key holds cell numbers below this


def is_dense(cells: int, rows: int | None) -> bool:
    """Return whether a table with this many cells is counted in an array, for about `rows` rows (None: not known)."""
    enough = DENSE_CELLS if rows is None else min(DENSE_CELLS, 16 * rows)
    return cells <= max(enough, kernels.NARROW_CELLS)


class Counter:
    """Exact tables over blocks of codes.

    Args:
        layout: Layout of the attributes in the blocks.
        keys: The tables to count.
        outside: Attributes whose codes may lie outside the domain.
        rows: Approximate number of rows, if known.
        threads: Threads to count with; all processors by default.
    """

    def __init__(
        self,
        layout: Layout,
        keys: Sequence[tuple[str, ...]],
        outside: frozenset[str],
        rows: int | None,
        threads: int | None = None,
    ) -> None:
        self._layout, self._keys = layout, tuple(keys)
        self._threads = threads or os.cpu_count() or 1
        self._pool: ThreadPoolExecutor | None = None
        names = layout.names
        sizes = [layout.domain[name].size + (name in outside) for name in names]
        positions = {name: i for i, name in enumerate(names)}
        used = {name for key in keys for name in key}
        self._limits = {name: size for name, size in zip(names, sizes, strict=True) if name in used}
        wanted = [tuple(positions[name] for name in key) for key in keys]
        dense = [is_dense(math.prod(sizes[i] for i in key), rows) for key in wanted]
        self._dense = [i for i, small in enumerate(dense) if small]
        self._sparse = {i: _Sparse(layout, keys[i], outside) for i, small in enumerate(dense) if not small}
        self._parts = _share(layout, sizes, [wanted[i] for i in self._dense], rows or 1 << 20, self._threads)

    def add(self, block: Planes) -> None:
        """Count the rows of a block."""
        if block.shape[1] == 0:
            return
        for name, limit in self._limits.items():
            check_codes(name, self._layout.codes(block, name), limit)
        workers: list[_Part | _Sparse] = [*self._parts, *self._sparse.values()]
        jobs = [partial(worker.add, block) for worker in workers]
        tables = sum(len(part.counted) for part in self._parts) + 10 * len(self._sparse)
        self._run(jobs, block.shape[1] * tables)

    def tables(self) -> dict[tuple[str, ...], Table]:
        """Return the requested tables, in that order."""
        found: dict[int, Table] = {i: sparse.table() for i, sparse in self._sparse.items()}
        self._run([part.finish for part in self._parts], sum(int(part.totals.size) for part in self._parts))
        for part in self._parts:
            for number, values in zip(part.asked, part.results(), strict=True):
                i = self._dense[number]
                domain = self._layout.domain.project(self._keys[i])
                found[i] = Table(domain, values.reshape(domain.shape))
            part.out = None
        if self._pool is not None:
            self._pool.shutdown()
        return {key: found[i] for i, key in enumerate(self._keys)}

    def _run(self, jobs: Sequence[Callable[[], None]], updates: int) -> None:
        if len(jobs) < 2 or updates < _THREAD_UPDATES:
            for job in jobs:
                job()
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads)
        for future in [self._pool.submit(job) for job in jobs]:
            future.result()


@dataclass
class _Part:
    """The tables that one thread counts, and the requested tables that are summed from them."""

    counted: list[Key]
    asked: list[int]
    count_with: tuple[NDArray[np.int64], ...]  # ends, used, weights, sizes, starts
    project_with: tuple[NDArray[np.int64], ...]  # froms, ends, dims, limits, strides, tos
    totals: NDArray[Any]
    out: NDArray[np.int64] | None = None
    rows: int = 0
    spilled: NDArray[np.int64] | None = None

    def add(self, block: Planes) -> None:
        """Count one block."""
        if self.rows + block.shape[1] > _FULL:
            self.spill()
        kernels.count(block, *self.count_with, self.totals)
        self.rows += block.shape[1]

    def spill(self) -> None:
        """Move the 32-bit totals to 64-bit ones before they could overflow."""
        if self.spilled is None:
            self.spilled = np.zeros(self.totals.size, np.int64)
        self.spilled += self.totals
        self.totals[:] = 0
        self.rows = 0

    def finish(self) -> None:
        """Sum the counted tables into the requested ones."""
        if self.spilled is not None:
            self.spill()
        self.out = np.zeros(int(self.project_with[-1][-1]), np.int64)
        totals = self.totals if self.spilled is None else self.spilled
        *rest, tos = self.project_with
        kernels.project(totals, *rest, tos[:-1], self.out)

    def results(self) -> list[NDArray[np.int64]]:
        """Return the cells of the requested tables, each in the order of its key."""
        assert self.out is not None
        tos = self.project_with[-1].tolist()
        return [self.out[tos[i] : tos[i + 1]] for i in range(len(self.asked))]


def _share(layout: Layout, sizes: list[int], wanted: list[Key], rows: int, threads: int) -> list[_Part]:
    """Plan, and assign whole tables to threads, so that nothing has to be added up across threads."""
    if not wanted:
        return []
    plan = make_plan(wanted, sizes, rows)
    children: list[list[int]] = [[] for _ in plan.counted]
    for asked, home in enumerate(plan.source):
        children[home].append(asked)
    parts = []
    for thread in range(min(threads, len(plan.counted))):
        mine = range(thread, len(plan.counted), threads)
        tables = [(plan.counted[i], children[i]) for i in mine]
        parts.append(_compile(layout, sizes, wanted, tables))
    return parts


def _compile(layout: Layout, sizes: list[int], wanted: list[Key], tables: list[tuple[Key, list[int]]]) -> _Part:
    """Compile a plan into the arrays that the kernels read."""
    names, inside = layout.names, [layout.domain[name].size for name in layout.names]
    ends, used, weights, cells, starts = [0], [], [], [], [0]
    asked, froms, axes_end, dims, limits, steps, tos = [], [], [0], [], [], [], [0]
    for key, parts in tables:
        shape = [sizes[i] for i in key]
        planes, weight = layout.weights([names[i] for i in key], _strides(shape))
        used += planes
        weights += weight
        ends.append(len(used))
        for part in parts:
            own = dict(zip(wanted[part], _strides([inside[i] for i in wanted[part]]), strict=True))
            asked.append(part)
            froms.append(starts[-1])
            dims += shape
            limits += [inside[i] if i in own else sizes[i] for i in key]
            steps += [own.get(i, 0) for i in key]
            axes_end.append(len(dims))
            tos.append(tos[-1] + math.prod(inside[i] for i in wanted[part]))
        cells.append(math.prod(shape))
        starts.append(starts[-1] + cells[-1])
    return _Part(
        counted=[key for key, _ in tables],
        asked=asked,
        count_with=_arrays(ends, used, weights, cells, starts),
        project_with=_arrays(froms, axes_end, dims, limits, steps, tos),
        totals=np.zeros(starts[-1], np.uint32),
    )


def _arrays(*lists: list[int]) -> tuple[NDArray[np.int64], ...]:
    return tuple(np.array(items, np.int64) for items in lists)


def _strides(shape: Sequence[int]) -> list[int]:
    """Compute the stride of each axis: the difference of cell numbers at one step along it."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return strides[::-1]


class _Sparse:
    """A table of the cells that occur, for domains too large to hold."""

    def __init__(self, layout: Layout, key: tuple[str, ...], outside: frozenset[str]) -> None:
        self._layout, self._key = layout, key
        self._outside = [name for name in key if name in outside]
        self._words = _words(layout.domain, key)
        self._keys = np.zeros((1 << 12, len(self._words)), np.uint64)
        self._slots = np.zeros(1 << 12, np.int64)
        self._filled = 0

    def add(self, block: Planes) -> None:
        for name in self._outside:
            inside = self._layout.codes(block, name) < self._layout.domain[name].size
            if not inside.all():
                block = block[:, inside]
        words = np.empty((block.shape[1], len(self._words)), np.uint64)
        column = np.empty(block.shape[1], np.uint64)
        for number, (names, sizes) in enumerate(self._words):
            used, weights = self._layout.weights(names, _strides(sizes))
            # a weight beyond 64 bits belongs to a byte that is always zero
            low = [weight & 0xFFFF_FFFF_FFFF_FFFF for weight in weights]
            kernels.pack(block, np.array(used, np.int64), np.array(low, np.uint64), column)
            words[:, number] = column
        self._insert(words, np.ones(len(words), np.int64))

    def _insert(self, words: NDArray[np.uint64], counts: NDArray[np.int64]) -> None:
        row = 0
        while True:
            row, self._filled = kernels.insert(words, counts, row, self._keys, self._slots, self._filled)
            if row == len(words):
                return
            self._double()

    def _double(self) -> None:
        taken = self._slots != 0
        keys, slots = self._keys[taken], self._slots[taken]
        self._keys = np.zeros((2 * len(self._keys), self._keys.shape[1]), np.uint64)
        self._slots = np.zeros(len(self._keys), np.int64)
        _, self._filled = kernels.insert(keys, slots, 0, self._keys, self._slots, 0)

    def table(self) -> Table:
        taken = self._slots != 0
        keys, counts = self._keys[taken], self._slots[taken]
        codes = np.empty((len(keys), len(self._key)), np.uint32)
        axis = 0
        for number, (_, sizes) in enumerate(self._words):
            rest = keys[:, number].copy()
            for back in range(len(sizes) - 1, -1, -1):
                codes[:, axis + back] = rest % np.uint64(sizes[back])
                rest //= np.uint64(sizes[back])
            axis += len(sizes)
        return Table(self._layout.domain.project(self._key), counts, codes)


def _words(domain: Domain, key: tuple[str, ...]) -> list[tuple[list[str], list[int]]]:
    """Split attributes, in order, into groups whose cell numbers fit a word."""
    groups: list[tuple[list[str], list[int]]] = [([], [])]
    product = 1
    for name in key:
        product *= domain[name].size
        if product >= _WORD:
            groups.append(([], []))
            product = domain[name].size
        groups[-1][0].append(name)
        groups[-1][1].append(domain[name].size)
    return groups

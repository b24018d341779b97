"""Choice of the tables to count, so that all other tables are sums of them.

Counting costs an update for each row and table, whatever the table; summing a small table is cheap. So a few
wider tables are counted and the requested ones are summed from them: all 105 pairs of 15 attributes from
about 25 tables of four, for instance. Wider is not always better: a table that exceeds the cache costs more
per update, and all of its cells must be read for each table that is summed from it. `CountingCosts` has the
costs.

The plan is greedy: take the widest table not yet covered, and let it grow by the attribute that saves most,
until none does. The counts are always the same; only the time differs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["CountingCosts", "CountingPlan", "forget_plans", "make_plan"]

Key = tuple[int, ...]  # a requested or counted table, as positions of attributes


@dataclass(frozen=True)
class CountingCosts:
    """Nanoseconds, as measured on the kernels. Only ratios matter."""

    update: float = 0.40
    """One row in one table that stays in the first-level cache."""
    update_cell: float = 8e-6
    """Additional cost of each cell, as the table exceeds the cache."""
    update_far: float = 1.6
    """One row in a table with more cells than 16 bits can number."""
    flush_cell: float = 0.25
    """One cell, cleared and added up once for every 65,535 rows."""
    project_cell: float = 0.6
    """One cell, summed into a requested table."""
    project: float = 600.0
    """One asked table."""
    most_cells: int = 1 << 15
    """No table is widened beyond this."""
    lookup: float = 300.0
    """One step of planning."""

    def count(self, cells: int, rows: int) -> float:
        """Cost of counting a table."""
        if cells > 1 << 16:
            return rows * self.update_far + cells * 0.5
        return rows * (self.update + cells * self.update_cell) + cells * self.flush_cell * (1 + rows / 65_535)

    def sum(self, cells: int) -> float:
        """Cost of summing one requested table from a counted one."""
        return self.project + cells * self.project_cell


@dataclass(frozen=True)
class CountingPlan:
    """The tables to count, and for each requested table the one that it is summed from."""

    counted: tuple[Key, ...]
    source: tuple[int, ...]


def make_plan(
    keys: Iterable[Sequence[int]], sizes: Iterable[int], rows: int, model: CountingCosts | None = None
) -> CountingPlan:
    """Plan the counting of some tables.

    Args:
        keys: The requested tables, as positions of attributes.
        sizes: Number of codes of each attribute.
        rows: Approximate number of rows.
        model: The costs.

    >>> plan = make_plan([(0, 1), (0, 2), (1, 2)], [4, 4, 4], rows=1_000_000)
    >>> plan.counted, plan.source
    (((0, 1, 2),), (0, 0, 0))
    """
    # similar numbers of rows share a plan: planning again costs more than a slightly worse plan
    about = 1 << max(rows, 1).bit_length()
    return _cached_plan(tuple(tuple(key) for key in keys), tuple(sizes), about, model or CountingCosts())


def forget_plans() -> None:
    """Drop the cached plans; for benchmarks."""
    _cached_plan.cache_clear()


@lru_cache(maxsize=64)
def _cached_plan(keys: tuple[Key, ...], sizes: tuple[int, ...], rows: int, model: CountingCosts) -> CountingPlan:
    asked = {_mask(key): math.prod(sizes[i] for i in key) for key in keys}
    direct = sum(model.count(cells, rows) for cells in asked.values())
    widest = max(map(len, keys))
    planning = model.lookup * len(asked) * len(sizes) * (1 << min(widest, 12)) / 2
    covers = _grow(asked, sizes, rows, model) if planning < direct / 2 else dict.fromkeys(asked)
    counted = tuple(_members(mask) for mask in covers)
    home: dict[int, int] = {}
    for number, mask in enumerate(covers):
        for part in covers[mask] or (mask,):
            home[part] = number
    return CountingPlan(counted, tuple(home[_mask(key)] for key in keys))


def _mask(key: Iterable[int]) -> int:
    return sum(1 << i for i in key)


def _members(mask: int) -> Key:
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


def _grow(
    asked: dict[int, int], sizes: tuple[int, ...], rows: int, model: CountingCosts
) -> dict[int, list[int] | None]:
    """Return the counted tables as masks, each with the requested ones that are summed from it."""
    left = {mask: model.count(cells, rows) for mask, cells in asked.items()}
    covers: dict[int, list[int] | None] = {}
    candidates = sorted(_members(_union(asked)), key=lambda i: sizes[i])
    for seed in sorted(asked, key=lambda mask: (-mask.bit_count(), -asked[mask])):
        if seed not in left:
            continue
        wide = _Growing(seed, asked[seed], left=left, sizes=sizes, rows=rows, model=model)
        while wide.step(candidates):
            pass
        covers[wide.mask] = [part for part in wide.parts if part in left]
        for part in wide.parts:
            left.pop(part, None)
    return covers


def _union(masks: Iterable[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union


class _Growing:
    """One table that is being widened."""

    def __init__(
        self,
        seed: int,
        cells: int,
        *,
        left: dict[int, float],
        sizes: tuple[int, ...],
        rows: int,
        model: CountingCosts,
    ) -> None:
        self.mask, self.cells = seed, cells
        self._left, self._sizes, self._rows, self._model = left, sizes, rows, model
        self._subsets = _subsets(seed) if seed.bit_count() <= 12 else [seed]
        self.parts = [part for part in self._subsets if part in left]
        self.cost = self._total(cells, len(self.parts))

    def _total(self, cells: int, parts: int) -> float:
        return self._model.count(cells, self._rows) + parts * self._model.sum(cells)

    def step(self, candidates: list[int]) -> bool:
        """Add the attribute that saves most; False if none saves anything."""
        best, chosen, gained = 0.0, -1, []
        for attribute in candidates:
            bit = 1 << attribute
            cells = self.cells * self._sizes[attribute]
            if cells > self._model.most_cells:
                break  # candidates come smallest first
            if self.mask & bit:
                continue
            found = [part | bit for part in self._subsets if part | bit in self._left]
            if not found:
                continue
            alone = sum(self._left[part] for part in found) + len(found) * self._model.project
            saved = alone - (self._total(cells, len(self.parts) + len(found)) - self.cost)
            if saved > best:
                best, chosen, gained = saved, attribute, found
        if chosen < 0:
            return False
        bit = 1 << chosen
        self.mask |= bit
        self.cells *= self._sizes[chosen]
        self.parts += gained
        self._subsets += [part | bit for part in self._subsets]
        self.cost = self._total(self.cells, len(self.parts))
        return True


def _subsets(mask: int) -> list[int]:
    found = [0]
    for i in _members(mask):
        found += [part | 1 << i for part in found]
    return found

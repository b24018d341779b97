"""Networks from many draws of the same tables.

A child with parents is scored by their table: half of G2 between child and parents, less (ln n / 2) times the number of
free parameters, which is BIC up to a constant. All draws of a family are scored at once.

Where the tables carry noise of variance v a cell, G2 measures the noise too. It is multiplied by

    sum (x - E)^2 / (E + v)  /  sum (x - E)^2 / E,     x the nearest non-negative counts, E the product of their margins

which under independence brings it to about the chi-square law of an exact table, and is 1 without noise.

Privacy: post-processing of releases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.assess.decisions.posterior import lay_out
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.models import best_parents, chow_liu, hill_climb
from tacita.models.contingency import deviance, pearson
from tacita.tables.simplex import norm_sub_rows

__all__ = ["DrawnTables", "Parents", "Search", "choose_search", "learn_each"]

Array = NDArray[np.float64]
Key = tuple[str, ...]
Parents = dict[str, Key]
Search = Literal["auto", "tree", "hill-climb", "exact"]


@dataclass(frozen=True, kw_only=True, eq=False)
class DrawnTables:
    """Tables of many draws: for each table an array of counts, one row for each draw.

    Attributes:
        domain: All attributes.
        tables: By their attributes.
        noise: Variance of the noise on a count, by table; 0 where none is named.
    """

    domain: Domain
    tables: Mapping[Key, Array]
    noise: Mapping[Key, float] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Number of draws."""
        return len(next(iter(self.tables.values())))

    @property
    def widest(self) -> int:
        """Most attributes of a table."""
        return max(len(key) for key in self.tables)

    def supports(self, names: Key) -> bool:
        """Whether some table holds these attributes."""
        return any(set(names) <= set(key) for key in self.tables)

    def table(self, names: Key) -> tuple[Array, float]:
        """Counts over these attributes and the variance of their noise, from the smallest table that holds them."""
        held = [key for key in self.tables if set(names) <= set(key)]
        key = min(held, key=lambda each: self.domain.project(each).size)
        merged = self.domain.project(key).size / self.domain.project(names).size
        return lay_out(self.tables[key], self.domain.project(key), names), merged * self.noise.get(key, 0.0)

    def scores(self) -> Callable[[str, Key], Array]:
        """Score of a child with parents beyond that without, for all draws; minus infinity where no table is held."""
        known: dict[tuple[str, Key], Array] = {}

        def score(child: str, parents: Key) -> Array:
            if (child, parents) not in known:
                known[child, parents] = self._score(child, parents)
            return known[child, parents]

        return score

    def _score(self, child: str, parents: Key) -> Array:
        if not parents:
            return np.zeros(self.count)
        if not self.supports((*parents, child)):
            return np.full(self.count, -np.inf)
        counts, noise = self.table((*parents, child))
        above = math.prod(self.domain[name].size for name in parents)
        below = self.domain[child].size
        shape = (1, above, below)
        if noise > 0:
            counts = norm_sub_rows(counts, total=np.maximum(counts.sum(axis=1), 1.0))
        counts = np.maximum(counts, 0.0)
        people = np.maximum(counts.sum(axis=1), 2.0)
        fit = deviance(counts, shape)
        if noise > 0:
            plain = pearson(counts, shape)
            fit = fit * np.divide(
                pearson(counts, shape, noise_variance=noise), plain, out=np.ones_like(plain), where=plain > 0
            )
        return np.asarray(fit / 2 - np.log(people) / 2 * (above - 1) * (below - 1))


def choose_search(search: Search, drawn: DrawnTables, degree: int | None) -> tuple[Search, int]:
    """The search and the most parents: a tree where there are only tables of two, unless another is asked for."""
    most = drawn.widest - 1
    if most < 1:
        raise InvalidInput("must hold a table of two attributes or more", field="releases")
    check.one_of(search, "search", ("auto", "tree", "hill-climb", "exact"))
    check.whole(degree, "degree", least=1, optional=True)
    chosen: Search = ("tree" if min(degree or most, most) == 1 else "hill-climb") if search == "auto" else search
    return chosen, 1 if chosen == "tree" else min(degree or most, most)


def learn_each(drawn: DrawnTables, search: Search, degree: int) -> list[Parents]:
    """The network of each draw."""
    names, scores = drawn.domain.names, drawn.scores()
    found = []
    for draw in range(drawn.count):

        def score(child: str, parents: Key, draw: int = draw) -> float:
            return float(scores(child, parents)[draw])

        if search == "tree":
            found.append(chow_liu(names, lambda a, b, score=score: score(b, (a,))))  # type: ignore[misc]
        elif search == "exact":
            found.append(best_parents(names, score, degree=degree))
        else:
            found.append(hill_climb(names, score, degree=degree))
    return found

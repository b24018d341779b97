"""Rehearsals: run a plan on simulated people, to predict its error before anyone is asked and anything is paid.

    simulate_people        rows from three hidden groups with different distributions: attributes are correlated
    dependent_population   two groups with Zipf margins, as far from independence as the owner expects
    mean_distance          mean total variation distance between tables of the truth and of a result
    Trials                 figures of some trials with seeds of their own: means, and what chance does to them

Real data may be correlated differently: figures show the effect of noise at this size and budget, and are no promise.

Privacy: reads the schema, a budget and a public number of people; never data.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import stats

from tacita.domain import Domain, code_dtype, decode
from tacita.errors import InvalidInput
from tacita.models._draw import draw_codes
from tacita.models.mixture import Mixture
from tacita.tables.cells import Projectable

__all__ = [
    "Trials",
    "check_people",
    "dependent_population",
    "mean_distance",
    "simulate_people",
]

Array = NDArray[np.float64]
Key = tuple[str, ...]

_GROUPS = 3
_FEW = 0.7  # concentration of the groups' distributions: below 1, so that some levels are rare


def check_people(people: int, most: int | None = None) -> None:
    """Refuse a number of people that cannot be simulated."""
    if people < 2:
        raise InvalidInput("must be at least 2", field="people", value=people)
    if most is not None and people > most:
        raise InvalidInput(
            f"must be at most {most:,}, who are all simulated",
            field="people",
            value=people if people < 10**20 else "more than 20 digits",
            hint="Rehearse with fewer: what noise takes away falls with the number",
        )


def simulate_people(domain: Domain, names: Iterable[str], people: int, rng: np.random.Generator) -> pa.Table:
    """Rows that fit the schema: three groups, each with a random distribution of every attribute."""
    group, columns = rng.integers(0, _GROUPS, people), {}
    for name in names:
        size = domain[name].size
        habits = rng.dirichlet(np.full(size, _FEW), _GROUPS)
        codes = np.empty(people, code_dtype(size))
        draw_codes(group, np.cumsum(habits, axis=1), rng.random(people), codes)
        columns[name] = decode(domain[name], codes, "uniform", rng.random(people))
    return pa.table(columns)


def dependent_population(domain: Domain, names: Iterable[str], *, dependence: float, seed: int) -> Mixture:
    """Two equal groups whose pair tables have a mean distance of about `dependence` from independence, if they can.

    Args:
        domain: What the attributes are.
        names: Those of the population.
        dependence: Mean total variation distance of pair tables from the products of their margins.
        seed: The same seed gives the same population.
    """
    used, rng = domain.project(names), np.random.default_rng(seed)
    bases, tilts = {}, {}
    for name in used.names:
        shares = 1 / np.arange(1, used[name].size + 1)
        bases[name] = rng.permutation(shares / shares.sum())
        tilts[name] = rng.normal(size=used[name].size)
    pairs = list(itertools.combinations(used.names, 2))
    low, high = 0.0, 8.0
    for _ in range(30 if pairs else 0):
        middle = (low + high) / 2
        below = _dependence(_tilt(used, bases, tilts, middle), pairs) < dependence
        low, high = (middle, high) if below else (low, middle)
    return _tilt(used, bases, tilts, low)


def _tilt(domain: Domain, bases: dict[str, Array], tilts: dict[str, Array], strength: float) -> Mixture:
    """Two groups: every attribute's base, tilted one way and the other."""
    tables = {}
    for name, base in bases.items():
        both = np.stack([base * np.exp(sign * strength * tilts[name]) for sign in (1, -1)])
        tables[name] = both / both.sum(axis=1, keepdims=True)
    return Mixture(domain=domain, weights=np.array([0.5, 0.5]), tables=tables)


def _dependence(population: Mixture, pairs: Sequence[Key]) -> float:
    """Mean total variation distance between pair tables and the products of their margins."""
    tables = [population.project(pair).values for pair in pairs]
    return float(np.mean([0.5 * np.abs(t - np.outer(t.sum(1), t.sum(0))).sum() for t in tables]))


def mean_distance(truth: Projectable, found: Projectable, keys: Iterable[Key]) -> float:
    """Mean total variation distance between the tables of two sources; counts are taken as shares of their total."""
    return float(np.mean([np.abs(_shares(truth, key) - _shares(found, key)).sum() / 2 for key in keys]))


def _shares(source: Projectable, key: Key) -> Array:
    values = np.asarray(source.project(key).values, np.float64)
    return values / max(float(values.sum()), 1e-300)


@dataclass(frozen=True, eq=False)
class Trials:
    """Figures of independent trials: a row for each trial, a column for each figure."""

    figures: Array

    @classmethod
    def run(cls, trial: Callable[[int], Sequence[float]], *, trials: int, seed: int = 0) -> Trials:
        """Run a trial with each of some successive seeds."""
        return cls(np.asarray([trial(each) for each in range(seed, seed + trials)], np.float64))

    @property
    def means(self) -> tuple[Any, ...]:
        """Of each figure."""
        return tuple(self.figures.mean(axis=0).tolist())

    @property
    def margins(self) -> tuple[Any, ...]:
        """Half the 95 % interval of each mean, by Student's law; infinite for a single trial."""
        count = len(self.figures)
        if count < 2:
            return (math.inf,) * int(self.figures.shape[1])
        spread = self.figures.std(axis=0, ddof=1) / math.sqrt(count)
        return tuple(float(stats.t.ppf(0.975, count - 1) * each) for each in spread)

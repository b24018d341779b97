"""K-means within public bounds.  [Blum, Dwork, McSherry, Nissim 2005; Su et al. 2016]

It starts from a coarse noisy histogram of the box, in which centres are looked for as often as one likes. Each round
then gives every row to its nearest centre and releases, for every centre and column, the noisy sums of t and of 1-t,
where t is the place between the bounds. The next centre is their ratio.

Privacy:  one row adds S steps for each of d columns, to one centre; in the histogram it adds as many to one cell. So
          the sums of the start and of each round move by at most m d S in L1 and L2 for a unit of m rows, and by two
          parts of that for replace-one. They add up.   Claim: docs/claims/models.md
Utility:  the noise on a centre is that of the sums over the rows it has; a centre without rows stays where it was. In
          more than twelve columns there is no histogram, and the start does not read data.
Cost:     one pass, and the points are held in memory; over an engine that folds, a pass for each sum, and none is held.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tacita.common.plain import plain_fields
from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.errors import InvalidInput
from tacita.noise import Source
from tacita.plans.additive import Family
from tacita.plans.recipe import check_engine
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.query.models.point_model import PointModel
from tacita.query.models.points import STEPS, CalibratedPoints, PointSums, box, fit_noise
from tacita.query.numbers import Array
from tacita.tables.release import Provenance

__all__ = ["CalibratedKMeans", "KMeans", "cell_counts", "cluster_sums", "far_apart", "nearest"]

_CANDIDATES = 2000
_MOST_CELLS = 4096
_STARTS, _STEPS_EACH = 20, 20


@dataclass(frozen=True, kw_only=True)
class KMeans:
    """Centres of the rows in some columns, scaled by their public bounds."""

    columns: tuple[str, ...]
    clusters: int
    rounds: int = 3
    seed: int = 0
    family: Family = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        for name in ("clusters", "rounds"):
            if not isinstance(getattr(self, name), int) or not 1 <= getattr(self, name) <= 1000:
                raise InvalidInput("must be a whole number from 1 to 1000", field=name, value=getattr(self, name))

    @property
    def bins(self) -> int:
        """Bins of the histogram along each column; 1 where there are too many columns for one."""
        wanted = round((8 * self.clusters) ** (1 / len(self.columns))) + 1
        return max((n for n in range(1, wanted + 1) if n ** len(self.columns) <= _MOST_CELLS), default=1)

    @property
    def releases(self) -> int:
        """Number of noise draws: for the histogram, if there is one, and in each round."""
        return self.rounds + (self.bins > 1)

    def moves(self, family: Family, neighbours: Neighbours) -> tuple[int, int]:
        """Sensitivity of the sums of one round to one row, and its number of parts: down and up when it is replaced."""
        return len(self.columns) * STEPS, 2 if neighbours is Neighbours.REPLACE_ONE else 1

    def calibrate(self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours) -> CalibratedKMeans:
        """Fix the noise so that all rounds together cost at most the budget; reads no data."""
        domain.require_public()
        unit.check(domain)
        box(domain, self.columns)
        law, event = fit_noise(self.family, budget, neighbours, moves=self.moves, rounds=self.releases, unit=unit)
        return CalibratedKMeans(
            recipe=self, domain=domain, unit=unit, neighbours=neighbours, budget=budget, law=law, event=event
        )

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        return {"method": "k-means"} | plain_fields(self)


def far_apart(clusters: int, columns: int, seed: int) -> Array:
    """Centres that lie far apart in the box, whatever the data: each the farthest of many from those before."""
    candidates = np.random.default_rng(seed).random((_CANDIDATES, columns))
    chosen = [np.full(columns, 0.5)] if clusters == 1 else [candidates[0]]
    while len(chosen) < clusters:
        gaps = np.min([((candidates - centre) ** 2).sum(axis=1) for centre in chosen], axis=0)
        chosen.append(candidates[int(gaps.argmax())])
    return np.array(chosen)


def nearest(places: Array, centres: Array) -> npt.NDArray[np.int64]:
    """The nearest centre of each point; the first of several."""
    owner, least = np.zeros(len(places), np.int64), np.full(len(places), np.inf)
    for number, centre in enumerate(centres):  # one centre at a time: rows x centres would not fit in memory
        gaps = ((places - centre) ** 2).sum(axis=1)
        closer = gaps < least
        owner[closer], least[closer] = number, gaps[closer]
    return owner


def cell_counts(places: Array, bins: int) -> npt.NDArray[np.int64]:
    """Count the rows in each cell of the box; exact, and sensitive."""
    cells = np.zeros(len(places), np.int64)
    for column in places.T:
        cells = cells * bins + np.minimum((column * bins).astype(np.int64), bins - 1)
    return np.bincount(cells, minlength=bins ** places.shape[1]).astype(np.int64)


def _best_start(weights: Array, bins: int, recipe: KMeans) -> Array:
    """The best of several searches among the middles of cells: reads only released counts."""
    axes = [(np.arange(bins) + 0.5) / bins] * len(recipe.columns)
    middles = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(recipe.columns))[weights > 0]
    weights, rng = weights[weights > 0], np.random.default_rng(recipe.seed)
    found = [far_apart(recipe.clusters, len(recipe.columns), recipe.seed)]
    for _ in range(_STARTS if len(middles) >= recipe.clusters else 0):
        centres = middles[rng.choice(len(middles), recipe.clusters, replace=False, p=weights / weights.sum())]
        for _ in range(_STEPS_EACH):
            owner = nearest(middles, centres)
            size = np.bincount(owner, weights=weights, minlength=recipe.clusters)
            sums = np.stack([np.bincount(owner, weights=weights * x, minlength=recipe.clusters) for x in middles.T])
            centres = np.where(size[:, None] > 0, sums.T / np.maximum(size, 1e-300)[:, None], centres)
        found.append(centres)
    gaps = [((middles - centres[nearest(middles, centres)]) ** 2).sum(axis=1) @ weights for centres in found]
    return found[int(np.argmin(gaps))]


def cluster_sums(places: Array, centres: Array) -> npt.NDArray[np.int64]:
    """Sums of 1-t and t in steps, for every centre and column; exact, and sensitive."""
    steps = np.rint(places * STEPS).astype(np.int64)
    owner = nearest(places, centres)
    # floats hold these sums exactly, for up to 2^41 rows
    upper = [np.bincount(owner, weights=column, minlength=len(centres)) for column in steps.T]
    high = np.rint(np.array(upper)).astype(np.int64).T
    rows = np.bincount(owner, minlength=len(centres)).astype(np.int64)
    return np.stack([rows[:, None] * STEPS - high, high], axis=2)


@dataclass(frozen=True, kw_only=True)
class CalibratedKMeans(CalibratedPoints):
    """K-means with its noise fixed."""

    def run(self, engine: Engine, source: Source) -> PointModel:
        """All rounds. Sizes are those of the last one."""
        check_engine(self, engine)
        recipe: KMeans = self.recipe
        sums = PointSums(engine=engine, columns=recipe.columns, unit=self.unit)
        ends, centres = box(self.domain, recipe.columns), self._start(sums, source)
        sizes = np.zeros(recipe.clusters)
        for _ in range(recipe.rounds):
            exact = sums.of(partial(cluster_sums, centres=centres))
            noisy = (exact + self.law.draw(exact.size, source).reshape(exact.shape)) * float(self.law.step)
            totals = noisy.sum(axis=2)
            sizes = totals.mean(axis=1)
            # fewer rows than noise: the ratio would be anywhere, so the centre stays
            seen = totals > 2 * self.law.std
            moved = np.divide(noisy[:, :, 1], totals, out=centres.copy(), where=seen)
            centres = moved.clip(0, 1)
        # a size is the mean over columns of two noisy sums each
        std = self.law.std * np.sqrt(2 / len(recipe.columns))
        return PointModel(
            kind="k-means",
            columns=recipe.columns,
            arrays={
                "centres": ends[:, 0] + centres * (ends[:, 1] - ends[:, 0]),
                "sizes": sizes,
                "sizes_std": np.full(recipe.clusters, std),
            },
            event=self.event,
            unit=self.unit,
            neighbours=self.neighbours,
            provenance=Provenance(recipe=recipe.as_dict(), simulated=source.simulated),
        )

    def _start(self, sums: PointSums, source: Source) -> Array:
        recipe: KMeans = self.recipe
        if recipe.bins == 1:
            return far_apart(recipe.clusters, len(recipe.columns), recipe.seed)
        each = len(recipe.columns) * STEPS
        counts = sums.of(partial(cell_counts, bins=recipe.bins)) * each
        noisy = (counts + self.law.draw(counts.size, source)) / each
        # cells that noise alone may have filled would only draw centres away
        lowest = self.law.half_width(1 - 1 / counts.size) / len(recipe.columns)
        return _best_start(np.where(noisy > lowest, noisy, 0.0), recipe.bins, recipe)

"""Fit a mixture of products to noisy pairs and single attributes.

Least squares in units of the noise: with y the measured shares and s their standard errors, minimise

    loss = sum over cells of ((model - y) / s)^2

over weights and tables written as softmax, by Adam [Kingma, Ba 2015] from near the product of the single attributes.
All pairs come from one product of matrices, P' diag(w) P, so that a step takes milliseconds.

Privacy: post-processing of released tables.   Claim: docs/claims/marginal-synthesis.md
Utility: the truth itself has a loss of 1 a cell, so descent stops near that (`_Problem.enough`): a closer fit would fit
noise. It starts from independence, so dependence that noise hides is not modelled. Several fits from different starts
are averaged, which evens out what one invented by chance. A pair that was not measured follows from the others, which
is weak: measure all pairs if there are not too many.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.models.mixture import Mixture
from tacita.tables.cells import Cells
from tacita.tables.release import Release
from tacita.tables.simplex import to_distribution

__all__ = [
    "LOST",
    "Fitted",
    "Target",
    "check_width",
    "fit_mixture",
    "lost_rows",
    "rows_of",
    "shares_of",
    "singles_of",
    "targets_of",
]

Array = NDArray[np.float32]

MAX_LEVELS = 2048
"""Most levels of all attributes together: pairs are held as a square of that side, and a step costs as much."""

LOST = (
    "Tables disagree about the number of rows: values outside the schema are left out, table by table. "
    "Run `tacita schema check`."
)

_APART = 3  # standard errors between totals that cannot be the same
_OVER = 0.1  # most of the noise that a fit may take with it
_LEAST_GAIN = 2e-3  # relative fall of the loss in `_LOOK` steps, below which descent stops
_LOOK = 50
_STEP = 0.1
_SPREAD = 0.5  # standard deviation of the logarithms at the start
_FIRST, _SECOND = 0.9, 0.999
_LEAST = 1e-4  # share of a level at the start


def check_width(domain: Domain) -> None:
    """Refuse a domain with more levels than pairs can be held of; says what to bin."""
    if sum(domain.shape) > MAX_LEVELS:
        widest = sorted(domain.names, key=lambda name: -domain[name].size)[:3]
        names = ", ".join(f"{name} ({domain[name].size})" for name in widest)
        raise InvalidInput(
            f"all attributes together may have {MAX_LEVELS} levels",
            field="domain",
            value=sum(domain.shape),
            hint=f"Bin or group the widest: {names}",
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Target:
    """Measured shares over one or two attributes, and the standard error of each."""

    attributes: tuple[str, ...]
    shares: NDArray[np.float64]
    std: float


def targets_of(releases: Sequence[Release]) -> tuple[list[Target], float, float]:
    """Released counts as shares of their total; the number of rows and its standard error.

    Every table estimates the number of rows; all estimates are averaged, weighted by precision. But a row with an
    out-of-domain value is left out of the tables over that attribute, and only of those. Where totals differ by more
    than their noise, the largest give the number of rows, and smaller tables are taken as shares of their own total.
    """
    read = _Totals.of(releases)
    found = [
        Target(attributes=each.attributes, shares=np.asarray(each.values, float) / scale, std=_std(each) / scale)
        for each, scale in zip(releases, read.scales, strict=True)
    ]
    return found, read.rows, read.error


def rows_of(releases: Sequence[Release]) -> list[float]:
    """For each release about how many rows it counts, as `targets_of` takes it."""
    return list(_Totals.of(releases).scales)


def lost_rows(releases: Sequence[Release]) -> tuple[str, ...]:
    """A note if tables disagree about the number of rows by more than their noise."""
    return () if _Totals.of(releases).agree else (LOST,)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Totals:
    """Number of rows that the totals of released tables give together."""

    rows: float
    error: float
    agree: bool
    scales: NDArray[np.float64]

    @classmethod
    def of(cls, releases: Sequence[Release]) -> _Totals:
        totals = np.array([float(np.sum(release.values)) for release in releases])
        errors = np.array([_std(release) * math.sqrt(release.values.size) for release in releases])
        rows, error = _pooled(totals, errors)
        # squares of noise have a mean of 1 and a variance of 2 (Gaussian) to 5 (Laplace)
        spread, free = float((((totals - rows) / errors) ** 2).sum()), len(totals) - 1
        agree = spread <= free + 6 + 6 * math.sqrt(5 * free)
        if not agree:
            high = totals + _APART * errors >= (totals - _APART * errors).max()
            rows, error = _pooled(totals[high], errors[high])
        scale = max(rows, error, 1.0)  # where noise hides the total, some must be assumed
        short = (totals > np.maximum(_APART * errors, 1.0)) & (totals + _APART * errors < rows)
        return cls(rows=rows, error=error, agree=agree, scales=np.where(short & (not agree), totals, scale))


def _pooled(totals: NDArray[np.float64], errors: NDArray[np.float64]) -> tuple[float, float]:
    precision = errors**-2
    return float((totals * precision).sum() / precision.sum()), 1 / math.sqrt(precision.sum())


def singles_of(domain: Domain, targets: Sequence[Target]) -> dict[str, NDArray[np.float64]]:
    """Each attribute's own table: averaged over all tables that hold it, weighted by precision, and projected.

    Every level keeps a small share, so that a level that noise pushed to 0 can come back.
    """
    sums = {name: np.zeros(domain[name].size) for name in domain.names}
    known = dict.fromkeys(domain.names, 0.0)
    for target in targets:
        for axis, name in enumerate(target.attributes):
            variance = target.shares.size // domain[name].size * target.std**2
            others = tuple(other for other in range(target.shares.ndim) if other != axis)
            sums[name] += target.shares.sum(axis=others) / variance
            known[name] += 1 / variance
    found = {}
    for name, total in sums.items():
        shares = to_distribution(total) if known[name] else np.full(total.size, 1 / total.size)
        shares = np.maximum(shares, _LEAST / total.size)
        found[name] = shares / shares.sum()
    return found


def shares_of(release: Release) -> Cells:
    """Released counts as a distribution, see `to_distribution`."""
    return Cells(release.domain, to_distribution(np.asarray(release.values, float)))


def _std(release: Release) -> float:
    return max(float(np.mean(release.std())), 1e-6)  # a budget that is hardly one leaves no noise to weigh by


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """A model with how well it fits: the loss a cell, where 1 is what noise alone would leave."""

    model: Mixture
    loss: float
    steps: int
    hidden: bool
    """Whether no dependence could be distinguished from noise: then the model is the product of single attributes."""


def fit_mixture(
    domain: Domain,
    targets: Sequence[Target],
    rng: np.random.Generator,
    *,
    components: int = 300,
    fits: int = 3,
    steps: int = 400,
) -> Fitted:
    """The mixture that fits all targets.

    Args:
        domain: The attributes.
        targets: Tables over one or two attributes.
        rng: For the starts; they need no secrecy.
        components: Of each fit.
        fits: Number of fits to average.
        steps: Most steps of a fit.
    """
    check_width(domain)
    problem = _Problem(domain, targets)
    if problem.hidden:
        return Fitted(model=problem.product(), loss=problem.product_loss, steps=0, hidden=True)
    found = [problem.descend(rng, components, steps) for _ in range(fits)]
    model = Mixture.average([one.model for one in found])
    return Fitted(
        model=model,
        loss=float(np.mean([one.loss for one in found])),
        steps=sum(one.steps for one in found),
        hidden=False,
    )


class _Problem:
    """The targets laid out as one square over all levels of all attributes."""

    def __init__(self, domain: Domain, targets: Sequence[Target]) -> None:
        self.domain = domain
        ends = np.cumsum(domain.shape)
        self.blocks = {
            name: slice(int(e) - s, int(e)) for name, e, s in zip(domain.names, ends, domain.shape, strict=True)
        }
        width = int(ends[-1])
        self.pairs, self.pair_weights = np.zeros((2, width, width), np.float32)
        self.ones, self.one_weights = np.zeros((2, width), np.float32)
        self.cells = 0
        best = min(target.std for target in targets)
        self.unit = best**2  # so that the largest weight is 1, and single precision will do
        for target in targets:
            self._add(target, (best / target.std) ** 2)
        self.start = singles_of(domain, targets)
        self.product_loss = self._loss_of_product()

    def _add(self, target: Target, weight: float) -> None:
        at = [self.blocks[name] for name in target.attributes]
        if len(at) == 1:
            before = self.one_weights[at[0]]
            self.ones[at[0]] = (self.ones[at[0]] * before + target.shares * weight) / (before + weight)
            self.one_weights[at[0]] += weight
        elif len(at) == 2:
            self.pairs[at[0], at[1]], self.pairs[at[1], at[0]] = target.shares, target.shares.T
            self.pair_weights[at[0], at[1]] = self.pair_weights[at[1], at[0]] = weight
        else:
            raise InvalidInput("must be over one or two attributes", field="targets", value=target.attributes)
        self.cells += target.shares.size

    @property
    def hidden(self) -> bool:
        """Whether the product fits as well as noise lets the truth fit: its loss is 1, give or take two deviations.

        The square of noise has a variance of 2 (Gaussian) to 5 (Laplace) times its square.
        """
        return self.product_loss <= 1 + 2 * math.sqrt(3.5 / self.cells)

    def product(self) -> Mixture:
        """The product of single attributes."""
        return Mixture(
            domain=self.domain, weights=np.ones(1), tables={name: table[None] for name, table in self.start.items()}
        )

    @property
    def enough(self) -> float:
        """Loss at which descent stops: 1, less what a fit takes with it where there is much to fit.

        Judged on one table (Adult) only: at 1 strong dependence is fitted too little, at 0.9 weak dependence too much.
        """
        return 1 - _OVER * max(0.0, 1 - 1 / self.product_loss)

    def _loss_of_product(self) -> float:
        ones = np.concatenate([self.start[name] for name in self.domain.names]).astype(np.float32)
        return self._loss(np.outer(ones, ones), ones)[0]

    def _loss(self, pairs: Array, ones: Array) -> tuple[float, Array, Array]:
        """Loss a cell, and half of its slopes times the cells and the unit."""
        off, off_ones = pairs - self.pairs, ones - self.ones
        slope, slope_ones = off * self.pair_weights, off_ones * self.one_weights
        total = float(np.vdot(slope, off)) / 2 + float(np.vdot(slope_ones, off_ones))
        return total / (self.unit * self.cells), slope, slope_ones

    def descend(self, rng: np.random.Generator, components: int, steps: int) -> Fitted:
        """One fit from one start."""
        start = np.log(np.concatenate([self.start[name] for name in self.domain.names]))
        logits = (start + rng.normal(0, _SPREAD, (components, start.size))).astype(np.float32)
        heights = np.zeros(components, np.float32)
        places = [heights, logits]
        means, squares = ([np.zeros_like(place) for place in places] for _ in range(2))
        best, before = math.inf, math.inf
        kept = (heights.copy(), logits.copy())
        for step in range(1, steps + 1):
            weights, tables = self._softmax(heights, logits)
            weighted = weights[:, None] * tables
            loss, slope, slope_ones = self._loss(tables.T @ weighted, weighted.sum(axis=0))
            if loss < best:
                best, kept = loss, (heights.copy(), logits.copy())
            if loss <= self.enough:
                break
            if step % _LOOK == 0:
                if best > before * (1 - _LEAST_GAIN):
                    break
                before = best
            pulled = tables @ slope
            by_weight = weights * (np.einsum("ks,ks->k", pulled, tables) / 2 + tables @ slope_ones)
            by_weight -= weights * by_weight.sum()
            by_cell = weighted * (pulled + slope_ones)
            for block in self.blocks.values():
                by_cell[:, block] -= tables[:, block] * by_cell[:, block].sum(axis=1, keepdims=True)
            rate = _STEP * (1 - step / (steps + 1))
            for k, slope_of in enumerate((by_weight, by_cell)):
                means[k] += (1 - _FIRST) * (slope_of - means[k])
                squares[k] += (1 - _SECOND) * (slope_of**2 - squares[k])
                spread = np.sqrt(squares[k] / (1 - _SECOND**step)) + 1e-12
                places[k] -= (rate / (1 - _FIRST**step)) * means[k] / spread
        weights, tables = self._softmax(*kept)
        shares = weights.astype(float)
        parts = {name: tables[:, block].astype(float) for name, block in self.blocks.items()}
        model = Mixture(
            domain=self.domain,
            weights=shares / shares.sum(),
            tables={name: part / part.sum(axis=1, keepdims=True) for name, part in parts.items()},
        )
        return Fitted(model=model, loss=best, steps=step, hidden=False)

    def _softmax(self, heights: Array, logits: Array) -> tuple[Array, Array]:
        weights = np.exp(heights - heights.max())
        weights /= weights.sum()
        tables = np.empty_like(logits)
        for block in self.blocks.values():
            part = np.exp(logits[:, block] - logits[:, block].max(axis=1, keepdims=True))
            tables[:, block] = part / part.sum(axis=1, keepdims=True)
        return weights, tables

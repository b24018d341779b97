"""Uncertainty of a released estimate, and its propagation to sums of cells.

    AdditiveNoise    integer noise of a known law was added to each count
    Correlated       an estimator with a covariance: diagonal minus outer products, as collection gives
    Anchored         a published estimate, with the intervals of the unbiased one behind it
    Unknown          the error is not known

Each has `std`, `interval` and `project`, and a plain-data form. Intervals hold their level for each cell by
itself, not for all cells together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tacita import check
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.noise import Law, law_from_dict
from tacita.tables.cells import Cells

__all__ = [
    "AdditiveNoise",
    "Anchored",
    "Binomial",
    "Correlated",
    "Covariance",
    "Uncertainty",
    "Unknown",
    "anchored",
    "uncertainty_from_dict",
    "wilson",
]

Array = npt.NDArray[np.float64]


class Uncertainty(Protocol):
    """Bound on how far an estimate may lie from the truth."""

    def std(self, estimate: Cells) -> Array:
        """Standard error of each cell."""

    def interval(self, estimate: Cells, level: float) -> tuple[Array, Array]:
        """Lower and upper ends, one interval for each cell."""

    def project(self, domain: Domain, attributes: tuple[str, ...]) -> Uncertainty:
        """The uncertainty after all other attributes of `domain` are summed out."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""


def _check_level(level: float) -> None:
    check.inside(level, "level", 0, 1)


def normal_quantile(level: float) -> float:
    """z with P(|Z| <= z) = level."""
    return NormalDist().inv_cdf((1 + level) / 2)


@dataclass(frozen=True, kw_only=True)
class AdditiveNoise:
    """Each cell is the exact count plus the sum of `terms` independent draws of a law. Intervals are exact."""

    law: Law
    terms: int = 1

    def std(self, estimate: Cells) -> Array:
        """sqrt(terms * variance of one draw), the same in every cell."""
        return np.full(estimate.shape, math.sqrt(self.terms * self.law.variance))

    def interval(self, estimate: Cells, level: float) -> tuple[Array, Array]:
        """The estimate and the exact half-width of the noise, which does not depend on the data."""
        _check_level(level)
        half = self.law.half_width(level, self.terms)
        return estimate.values - half, estimate.values + half

    def project(self, domain: Domain, attributes: tuple[str, ...]) -> AdditiveNoise:
        """A sum of m cells carries the noise of all m."""
        merged = domain.size // domain.project(attributes).size
        return AdditiveNoise(law=self.law, terms=self.terms * merged)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": "additive"} | self.law.as_dict() | {"terms": self.terms}


def wilson(share: Array, trials: int, z: float) -> tuple[Array, Array]:
    """Wilson's interval: the shares r with |share - r| <= z sqrt(r (1 - r) / trials), solved for r."""
    shrink = 1 + z * z / trials
    centre = (share + z * z / (2 * trials)) / shrink
    half = z / shrink * np.sqrt(np.clip(share * (1 - share), 0, None) / trials + (z / (2 * trials)) ** 2)
    return centre - half, centre + half


def _frozen(values: npt.ArrayLike) -> Array:
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


@dataclass(frozen=True, kw_only=True, eq=False)
class Covariance:
    """The matrix diag(diagonal) - sum_j signs[j] * outer(vectors[j], vectors[j]).

    The covariance of an estimated distribution has this form; a table of a thousand cells then takes a few thousand
    numbers instead of a million.
    """

    diagonal: Array
    vectors: Array
    signs: Array

    def __post_init__(self) -> None:
        for name in ("diagonal", "vectors", "signs"):
            object.__setattr__(self, name, _frozen(getattr(self, name)))
        wanted = (self.signs.size, self.diagonal.size)
        if self.vectors.shape != wanted:
            raise InvalidInput(f"must have the shape {wanted}", field="vectors", value=self.vectors.shape)

    def variance(self) -> Array:
        """The diagonal of the matrix."""
        return np.asarray(self.diagonal - self.signs @ self.vectors**2)

    def dense(self) -> Array:
        """The whole matrix; k * k numbers."""
        return np.asarray(np.diag(self.diagonal) - (self.vectors.T * self.signs) @ self.vectors)

    def times(self, matrix: Array) -> Array:
        """The matrix times another one, without the whole matrix."""
        inner = self.signs[:, None] * (self.vectors @ matrix)
        return np.asarray(self.diagonal[:, None] * matrix - self.vectors.T @ inner)

    def draw(self, rng: np.random.Generator) -> Array:
        """One normal draw with mean 0 and this covariance, without the whole matrix.

        With D the diagonal and D^-1/2 V = Q R, the covariance is D^1/2 (I - Q (R s R') Q') D^1/2; the root of the
        middle is the identity but in the span of Q.
        """
        scale = np.sqrt(self.diagonal)
        basis, triangle = np.linalg.qr((self.vectors / scale).T)
        taken, directions = np.linalg.eigh((triangle * self.signs) @ triangle.T)
        basis = basis @ directions
        normal = rng.standard_normal(self.diagonal.size)
        inside = (np.sqrt(np.clip(1 - taken, 0, None)) - 1) * (basis.T @ normal)
        return np.asarray(scale * (normal + basis @ inside))

    def of(self, contrast: npt.ArrayLike) -> float:
        """The variance of a linear combination of the cells, without the whole matrix."""
        c = np.asarray(contrast, dtype=np.float64)
        return float(self.diagonal @ c**2 - self.signs @ (self.vectors @ c) ** 2)


@dataclass(frozen=True, kw_only=True, eq=False)
class Binomial:
    """Each estimated share comes from one binomial count: observed share = slope * share + offset, out of `trials`.

    `sums` says whether sums of cells do so too, as where every report supports one cell only.
    """

    trials: int
    slope: float
    offset: Array
    sums: bool = True


@dataclass(frozen=True, kw_only=True, eq=False)
class Correlated:
    """A covariance over the cells of an estimate, in the order of its flattened array.

    Where every cell and every sum of cells comes from one binomial count, `binomial` says so and Wilson's interval is
    used, which keeps its level in small cells; else the normal one is.
    """

    covariance: Covariance
    binomial: Binomial | None = None

    def std(self, estimate: Cells) -> Array:
        """Standard error of each cell."""
        return np.sqrt(np.clip(self.covariance.variance(), 0, None)).reshape(estimate.shape)

    def interval(self, estimate: Cells, level: float) -> tuple[Array, Array]:
        """Wilson's interval of the observed share mapped to the estimate, or the normal one."""
        _check_level(level)
        z = normal_quantile(level)
        values = estimate.values.astype(float)
        if self.binomial is None:
            half = z * self.std(estimate)
            return values - half, values + half
        slope, offset = self.binomial.slope, self.binomial.offset.reshape(estimate.shape)
        low, high = wilson(slope * values + offset, self.binomial.trials, z)
        return (low - offset) / slope, (high - offset) / slope

    def project(self, domain: Domain, attributes: tuple[str, ...]) -> Correlated:
        """A sum of cells: the diagonal adds up, and so do the vectors and the offset."""

        def summed(flat: Array) -> Array:
            return np.asarray(Cells(domain, flat.reshape(domain.shape)).project(attributes).values.reshape(-1))

        covariance = Covariance(
            diagonal=summed(self.covariance.diagonal),
            vectors=np.stack([summed(vector) for vector in self.covariance.vectors]),
            signs=self.covariance.signs,
        )
        binomial = self.binomial
        if binomial is not None and len(attributes) != len(domain):
            binomial = replace(binomial, offset=summed(binomial.offset)) if binomial.sums else None
        elif binomial is not None:
            binomial = replace(binomial, offset=summed(binomial.offset))
        return Correlated(covariance=covariance, binomial=binomial)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        parts = {name: getattr(self.covariance, name).tolist() for name in ("diagonal", "vectors", "signs")}
        if self.binomial is None:
            return {"kind": "correlated"} | parts
        binomial = {
            "trials": self.binomial.trials,
            "slope": self.binomial.slope,
            "offset": self.binomial.offset.tolist(),
            "sums": self.binomial.sums,
        }
        return {"kind": "correlated"} | parts | {"binomial": binomial}


@dataclass(frozen=True, kw_only=True, eq=False)
class Anchored:
    """The intervals of an unbiased estimate of shares, for a published one that was made from it with some bias.

    A published table was projected or fitted: its own spread does not show its bias. The interval of the unbiased
    estimate covers the truth at its level whatever was published. It is clipped to 0 .. 1, which holds every share, and
    extended to the published share where that lies outside. So the published share need not be in its middle.

    Attributes:
        centre: The unbiased estimate, flattened.
        covariance: Of the unbiased estimate.
    """

    centre: Array
    covariance: Covariance

    def __post_init__(self) -> None:
        object.__setattr__(self, "centre", _frozen(self.centre))

    def std(self, estimate: Cells) -> Array:
        """Standard error of the unbiased estimate of each cell."""
        return np.sqrt(np.clip(self.covariance.variance(), 0, None)).reshape(estimate.shape)

    def interval(self, estimate: Cells, level: float) -> tuple[Array, Array]:
        """The normal interval of the unbiased estimate, cut to 0 .. 1 and extended to the published share."""
        _check_level(level)
        half = normal_quantile(level) * self.std(estimate)
        centre, values = self.centre.reshape(estimate.shape), estimate.values.astype(float)
        low, high = np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)
        return np.minimum(low, values), np.maximum(high, values)

    def project(self, domain: Domain, attributes: tuple[str, ...]) -> Anchored:
        """A sum of cells: the unbiased estimate and its covariance add up."""
        centre = Cells(domain, self.centre.reshape(domain.shape)).project(attributes).values.reshape(-1)
        covariance = Correlated(covariance=self.covariance).project(domain, attributes).covariance
        return Anchored(centre=centre, covariance=covariance)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        parts = {name: getattr(self.covariance, name).tolist() for name in ("diagonal", "vectors", "signs")}
        return {"kind": "anchored", "centre": self.centre.tolist()} | parts


def anchored(unbiased: Cells, uncertainty: Uncertainty) -> Uncertainty:
    """The uncertainty of what is published from an unbiased estimate of shares."""
    if isinstance(uncertainty, Correlated):
        return Anchored(centre=unbiased.values.reshape(-1), covariance=uncertainty.covariance)
    return uncertainty if isinstance(uncertainty, Anchored) else Unknown()


@dataclass(frozen=True)
class Unknown:
    """Nothing is known about the error: no interval is given rather than a wrong one."""

    def std(self, estimate: Cells) -> Array:
        """Not a number, in every cell."""
        return np.full(estimate.shape, np.nan)

    def interval(self, estimate: Cells, level: float) -> tuple[Array, Array]:
        """The whole line, in every cell."""
        _check_level(level)
        return np.full(estimate.shape, -np.inf), np.full(estimate.shape, np.inf)

    def project(self, domain: Domain, attributes: tuple[str, ...]) -> Unknown:
        """Unknown again."""
        return self

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": "unknown"}


def uncertainty_from_dict(data: Mapping[str, Any]) -> Uncertainty:
    """The uncertainty that `as_dict` wrote."""
    match data.get("kind"):
        case "additive":
            return AdditiveNoise(law=law_from_dict(data), terms=data["terms"])
        case "correlated":
            covariance = Covariance(**{name: data[name] for name in ("diagonal", "vectors", "signs")})
            part = data.get("binomial")
            binomial = part and Binomial(
                trials=part["trials"],
                slope=part["slope"],
                offset=_frozen(part["offset"]),
                sums=part.get("sums", True),
            )
            return Correlated(covariance=covariance, binomial=binomial)
        case "anchored":
            covariance = Covariance(**{name: data[name] for name in ("diagonal", "vectors", "signs")})
            return Anchored(centre=_frozen(data["centre"]), covariance=covariance)
        case "unknown":
            return Unknown()
    raise InvalidInput(
        "must be additive, correlated, anchored or unknown", field="uncertainty.kind", value=data.get("kind")
    )

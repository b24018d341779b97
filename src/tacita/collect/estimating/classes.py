"""Latent classes fitted to interactions, with a prior that keeps classes alike, averaged over their number.

The model: w_k shares of K classes, t_k the shares of all levels within class k (a softmax of logarithms h_k), z_k the
same less 1 / levels. Its singles are sum_k w_k z_k and its pairs sum_k w_k z_k z_k'. Minimise

    loss = 1/2 sum over measured numbers of (model - measured)^2 precision  +  strength / 2 |d|^2

where d is how far the logarithms of a class are from those of all classes. With `common`, d is taken after the mean
over all attributes with the same labels: a class may then answer all questions more often with yes at no cost, as
where one trait stands behind many questions. Both priors, several strengths and several numbers of classes are fitted,
each from the one before, and averaged with weights exp(-score / 4) [Leung, Barron 2006; Dalalyan, Salmon 2012], one
class having as much weight at first as all others together. score = misfit + f. f, the effective number of
parameters, is tr H (H + strength P)^-1 with H the Gauss-Newton matrix and P the projector of the prior [Moody 1992].
The temperature is that of the theorem for affine estimates, 8 in units of the squared noise: 4 in units of half of it.
An average is nearer to the truth than a choice where scores are close and chance would decide.

Privacy: post-processing of reports; nothing is spent.
Utility: much noise needs the prior: without it two classes follow the noise of a pair as readily as dependence.
Cost: for each step of each fit, classes times the square of all levels.   Claim page: docs/claims/collected-tables.md.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.optimize import minimize
from scipy.special import softmax

from tacita.collect.estimating.interactions import Interactions
from tacita.models.mixture import Mixture

__all__ = ["Averaged", "ClassFit", "average_classes", "fit_classes"]

Array = NDArray[np.float64]

CLASSES = (2, 3, 4, 6)
"""Numbers of classes that are tried, beside one."""
STRENGTHS = (1.5, 0.4, 6.0)
"""Of the prior: logarithms of a class differ from the others' by about 1 / sqrt(strength). Each fit begins where the
one before ended; the strongest is last, because it may end at independence, which no other would leave."""
_TEMPERATURE = 4.0
_SMALL = 0.01
"""A smaller weight is none."""
_SPREAD = 0.5
"""Standard deviation of the logarithms at the start."""
_STEPS = 150
_LEAST = 1e-4
_MOST_PARAMETERS = 2000
"""Parameters above which all are counted: the effective number needs the square of them in memory."""
_ALIKE = 3
"""Fewer attributes with the same labels have no mean of their own."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassFit:
    """One fit.

    Attributes:
        weights: Logarithms of the shares of the classes.
        logs: Logarithms of the shares of levels; a row for each class.
        strength: Of the prior. common: Which prior.
        misfit: Half the squared error in units of the noise.
        parameters: The effective number.
    """

    weights: Array = field(repr=False)
    logs: Array = field(repr=False)
    strength: float
    common: bool
    misfit: float
    parameters: float

    @property
    def classes(self) -> int:
        """Number of classes."""
        return int(self.weights.size)

    @property
    def score(self) -> float:
        """Estimated error, up to a constant."""
        return self.misfit + self.parameters


@dataclass(frozen=True, kw_only=True, eq=False)
class Averaged:
    """The average of some fits.

    Attributes:
        model: One mixture with the components of all of them.
        one: The fit of one class: independence.
        fits: Those that are averaged; shares: the weight of each.
        parameters: The average of their effective numbers.
    """

    model: Mixture
    one: Mixture
    fits: tuple[ClassFit, ...] = field(repr=False)
    shares: tuple[float, ...]
    parameters: float

    @property
    def classes(self) -> int:
        """The number of classes with the greatest weight."""
        totals: dict[int, float] = {}
        for fit, share in zip(self.fits, self.shares, strict=True):
            totals[fit.classes] = totals.get(fit.classes, 0.0) + share
        return max(totals, key=lambda number: totals[number])


def average_classes(
    measured: Interactions, *, classes: Iterable[int] = CLASSES, seed: int = 0, near: Sequence[ClassFit] = ()
) -> Averaged:
    """Fit one class and more, and average by their scores.

    Args:
        measured: The averaged parts of all tables.
        classes: Numbers of classes to try, beside one; more are tried until they are no better.
        seed: Of the starts: the same measurements give the same model.
        near: Fits to similar measurements: only these are made again, from where they ended.
    """
    problem = _Problem(measured)
    if near:
        fits = [problem.fit(fit.weights, fit.logs, fit.strength, common=fit.common) for fit in near]
        one = next((fit for fit in fits if fit.classes == 1), None) or problem.one()
    else:
        one = problem.one()
        fits = [one, *_path(problem, sorted({c for c in classes if c > 1}), one, seed)]
    shares = _weights(fits)
    kept = [(fit, float(share)) for fit, share in zip(fits, shares, strict=True) if share >= _SMALL * shares.max()]
    total = sum(share for _, share in kept)
    chosen, weights = tuple(fit for fit, _ in kept), tuple(share / total for _, share in kept)
    return Averaged(
        model=Mixture.average([problem.mixture(fit) for fit in chosen], weights),
        one=problem.mixture(one),
        fits=chosen,
        shares=weights,
        parameters=float(sum(share * fit.parameters for fit, share in zip(chosen, weights, strict=True))),
    )


def _weights(fits: Sequence[ClassFit]) -> Array:
    """Exponential weights of the scores; one class has half of the weight before anything is measured."""
    more = sum(1 for fit in fits if fit.classes > 1)
    before = np.array([0.5 if fit.classes == 1 else 0.5 / more for fit in fits])
    scores = np.array([fit.score for fit in fits])
    return np.asarray(softmax(np.log(before) - scores / _TEMPERATURE))


def fit_classes(
    measured: Interactions, classes: int, *, strength: float = STRENGTHS[0], common: bool = False, seed: int = 0
) -> ClassFit:
    """Fit one number of classes with one prior, from near the product of the single attributes."""
    problem, rng = _Problem(measured), np.random.default_rng(seed)
    one = problem.one()
    if classes == 1:
        return one
    return problem.fit(*problem.start(one, classes, rng), strength, common=common)


def _path(problem: _Problem, classes: Sequence[int], one: ClassFit, seed: int) -> list[ClassFit]:
    """Fits of more and more classes, until no prior makes more of them better."""
    found: list[ClassFit] = []
    least = one.score
    if not problem.has_pairs:
        return found
    for number in classes:
        rng, here = np.random.default_rng(seed), []
        for common in (True, False) if problem.alike else (False,):
            start = problem.start(one, number, rng)
            for strength in STRENGTHS:
                fit = problem.fit(*start, strength, common=common)
                start = fit.weights, fit.logs
                here.append(fit)
        found += here
        best = min(fit.score for fit in here)
        if best > least + 1:
            break
        least = min(least, best)
    return found


class _Problem:
    """The loss, its slopes and its curvature, for given measurements."""

    def __init__(self, measured: Interactions) -> None:
        self.measured, self.domain = measured, measured.domain
        self._starts = np.array([block.start for block in measured.blocks])
        self._sizes = np.array(self.domain.shape, float)
        self._even = measured.spread(1 / self._sizes)
        self._single, self._pair = measured.single_precision, measured.pair_precision
        self.has_pairs = bool((measured.pair_precision > 0).any())
        labels: dict[tuple[str, ...], list[int]] = {}
        for place, name in enumerate(self.domain.names):
            labels.setdefault(tuple(self.domain[name].all_labels), []).append(place)
        self.alike = [group for group in labels.values() if len(group) >= _ALIKE]

    def one(self) -> ClassFit:
        """The product of single attributes, pulled by the pairs too."""
        shares = np.maximum(self._even + self.measured.singles, _LEAST)
        return self.fit(np.zeros(1), np.log(shares)[None], 0.0, common=False)

    def start(self, one: ClassFit, classes: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Classes of equal shares near the product, which differ at random."""
        apart = rng.normal(0, _SPREAD, (classes, one.logs.shape[1]))
        return np.zeros(classes), one.logs + apart

    def shares(self, weights: Array, logs: Array) -> tuple[Array, Array]:
        """Shares of classes, and of levels within each."""
        high = np.maximum.reduceat(logs, self._starts, axis=1)
        raised = np.exp(logs - high[:, self.measured.owner])
        return softmax(weights), raised / self._add_levels(raised)

    def _add_levels(self, rows: Array) -> Array:
        return np.asarray(np.add.reduceat(rows, self._starts, axis=1)[:, self.measured.owner])

    def differences(self, logs: Array, common: bool) -> Array:
        """Distance of each class from all, and from its own mean over attributes with the same labels."""
        return self._apart(logs - logs.mean(axis=0), common)

    def _apart(self, rows: Array, common: bool) -> Array:
        found = rows - self._add_levels(rows) / self.measured.spread(self._sizes)
        for group in self.alike if common else ():
            blocks = [self.measured.blocks[place] for place in group]
            mean = np.mean([found[:, block] for block in blocks], axis=0)
            for block in blocks:
                found[:, block] -= mean
        return found

    def __call__(self, x: Array, classes: int, strength: float, common: bool) -> tuple[float, Array]:
        """The loss, and its slopes by the logarithms."""
        logs = x[classes:].reshape(classes, -1)
        weights, shares = self.shares(x[:classes], logs)
        off = shares - self._even
        single = weights @ off - self.measured.singles
        pull = self._single * single
        pair = (off.T * weights) @ off - self.measured.pairs
        both = self._pair * pair
        across = off @ both
        loss = 0.5 * float(pull @ single) + 0.25 * float(np.vdot(both, pair))
        by_weight = off @ pull + 0.5 * np.einsum("kl,kl->k", across, off)
        by_share = weights[:, None] * (pull + across)
        by_log = shares * (by_share - self._add_levels(shares * by_share))
        if strength:
            apart = self.differences(logs, common)
            loss += 0.5 * strength * float(np.vdot(apart, apart))
            by_log = by_log + strength * apart
        return loss, np.concatenate([weights * (by_weight - weights @ by_weight), by_log.reshape(-1)])

    def fit(self, weights: Array, logs: Array, strength: float, *, common: bool) -> ClassFit:
        """Descend from a point to the minimum."""
        classes = weights.size
        start = np.concatenate([weights, logs.reshape(-1)])
        options = {"maxiter": _STEPS, "maxcor": 20, "ftol": 1e-7}
        end = minimize(self, start, (classes, strength, common), jac=True, method="L-BFGS-B", options=options).x
        found, rows = end[:classes] - end[:classes].max(), end[classes:].reshape(classes, -1)
        misfit = self(np.concatenate([found, rows.reshape(-1)]), classes, 0.0, False)[0]
        used = self._parameters(found, rows, strength, common)
        return ClassFit(weights=found, logs=rows, strength=strength, common=common, misfit=misfit, parameters=used)

    def _parameters(self, weights: Array, logs: Array, strength: float, common: bool) -> float:
        """tr H (H + strength P)^-1 over the logarithms of levels, and one for each further class."""
        classes, levels = logs.shape
        free = float(sum(self.domain.shape) - len(self.domain.shape))
        if not strength:
            return free
        if classes * levels > _MOST_PARAMETERS:  # the prior is then taken to hold none of them back
            return float(classes * free + classes - 1)
        shares, tables = self.shares(weights, logs)
        off = tables - self._even
        curvature = np.zeros((classes, levels, classes, levels))
        inner = np.stack([[self._pair @ (off[a] * off[b]) for b in range(classes)] for a in range(classes)])
        diagonal = np.arange(levels)
        for a, b in itertools.product(range(classes), repeat=2):
            both = shares[a] * shares[b]
            curvature[a, :, b, :] = both * self._pair * np.outer(off[b], off[a])
            curvature[a, diagonal, b, diagonal] += both * (self._single + inner[a, b])
        flat = tables.reshape(-1)
        owner = (np.arange(classes)[:, None] * len(self.domain.shape) + self.measured.owner).reshape(-1)
        same = owner[:, None] == owner[None, :]
        slope = np.diag(flat) - same * np.outer(flat, flat)
        matrix = slope @ curvature.reshape(classes * levels, -1) @ slope
        prior = self._projector(classes, common)
        ridge = 1e-9 * np.trace(matrix) + 1e-12
        held = linalg.solve(matrix + strength * prior + ridge * np.eye(flat.size), matrix, assume_a="pos")
        return float(np.trace(held)) + float(classes - 1)

    def _projector(self, classes: int, common: bool) -> Array:
        """The matrix of `differences`: apart from the mean of all classes, the same within each."""
        single = self._apart(np.eye(int(self.measured.owner.size)), common)
        return np.asarray(np.kron(np.eye(classes) - 1 / classes, single), dtype=np.float64)

    def mixture(self, fit: ClassFit) -> Mixture:
        """The model of a fit."""
        weights, tables = self.shares(fit.weights, fit.logs)
        parts = {name: tables[:, block] for name, block in zip(self.domain.names, self.measured.blocks, strict=True)}
        return Mixture(domain=self.domain, weights=weights, tables=parts)

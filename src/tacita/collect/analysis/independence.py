"""Tests of independence on a release: free, because they use only what is released.

    wald_test                  any release with a covariance; instant; chi-square in the limit

`independence_counts` tests counts with a curator's noise, and `independence_simulated` a tally, by running the
mechanism again. A `Hypothesis` is mutual independence, or independence given other attributes. The answer is a
`Verdict`.
Claim page: docs/claims/independence.md.   Flags: unvetted.

A reconstructed table is far noisier than a table of counts, and its cells are not multinomial: the textbook chi-square
test rejects true hypotheses nearly always. Wald's statistic is weighed with the covariance that the estimate has. It
costs the cube of the number of cells: about 6 ms for 300 on one thread.

Legend, for one stratum with k parts: pi_x its cells, S their sum, m_i its margin over part i. The hypothesis: h = 0 in

    h_x = S^(k-1) pi_x - prod_i m_i(x_i)

For k = 2 and S = 1 this is pi_ij - pi_i. pi_.j. There is no division, so a stratum estimated near 0 does no harm, and
all margins of h over single parts vanish whatever pi is: h lies in a space of the right number of dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, stats

from tacita.collect.analysis.hypothesis import Hypothesis, Verdict
from tacita.errors import InvalidInput
from tacita.models.contingency import expected, stratum_margins
from tacita.noise import DiscreteLaplace
from tacita.tables.release import Release
from tacita.tables.uncertainty import AdditiveNoise, Correlated, Covariance

__all__ = ["arranged", "known_total", "product", "quadratic_form", "wald_test"]

Array = NDArray[np.float64]

_SINGULAR = 1e-11
"""Share of a direction's variance that must be left given the others, or the covariance counts as lacking it."""
_MOST_NOISE = 0.25
"""Second-order part of h over its first-order part above which the chi-square law is not to be trusted."""
_MOST_LAPLACE = 0.25
"""Variance of Laplace noise over that of sampling, in a mean cell, above which its tails are felt."""


def wald_test(release: Release, hypothesis: Hypothesis | None = None) -> Verdict:
    """Wald's test with the covariance of the estimate: chi-square in the limit, whatever the channel is.

    Args:
        release: Unbiased shares about a population, from a collection, or counts with additive noise.
        hypothesis: What to test; mutual independence of all attributes of the release if not given.
    """
    asked = hypothesis or Hypothesis.of(*release.attributes)
    release = release.project(asked.attributes)
    df, shape = asked.df(release.domain), asked.shape(release.domain)
    pi, covariance = _measured(release)
    statistic = quadratic_form(pi, covariance, shape)
    return Verdict(
        hypothesis=asked.words,
        method="Wald, covariance of the estimate",
        statistic=statistic,
        df=df,
        p_value=float(stats.chi2.sf(statistic, df)),
        caution=_heavy_tails(release) or _caution(pi, covariance, shape),
    )


def _measured(release: Release) -> tuple[Array, Covariance]:
    """The cells and their covariance about the population, flat."""
    values = np.asarray(release.values, dtype=np.float64).reshape(-1)
    uncertainty = release.uncertainty
    if release.provenance.recipe.get("about") == "respondents":
        hint = "Take the releases about the population: those who answered are a sample of it"
        raise InvalidInput("does not include the error of sampling people", field="release", hint=hint)
    if isinstance(uncertainty, Correlated) and release.quantity == "share":
        return known_total(values, uncertainty.covariance)
    if isinstance(uncertainty, AdditiveNoise) and release.quantity == "count":
        return values, _noisy_multinomial(values, uncertainty.terms * uncertainty.law.variance)
    hint = "Test the raw release; a published one is biased and has no covariance"
    raise InvalidInput("has no covariance", field="release", hint=hint)


def _noisy_multinomial(counts: Array, variance: float) -> Covariance:
    """Covariance of multinomial counts with independent noise: diag(n p + variance) - n p p', n p estimated."""
    total = counts.sum()
    if total <= 0:
        raise InvalidInput("must have a positive total", field="release")
    expected = np.maximum(counts, 0.0)
    vectors = (expected / math.sqrt(expected.sum()))[None, :]
    return Covariance(diagonal=expected + variance, vectors=vectors, signs=np.ones(1))


def known_total(pi: Array, covariance: Covariance) -> tuple[Array, Covariance]:
    """The best unbiased estimate that uses that all shares sum to 1, and its covariance.

    Where reports may support any number of cells (unary, hashing, Hadamard) the estimates do not sum to 1. With
    s = Sigma 1 and v = 1' s, the least-variance correction is pi - s (1' pi - 1) / v, and Sigma falls by s s' / v:
    ordinary conditioning on a linear combination that is known. Nothing is done where v is 0 already.
    """
    s = covariance.diagonal - (covariance.signs * covariance.vectors.sum(axis=1)) @ covariance.vectors
    v = float(s.sum())
    if v <= 1e-9 * float(covariance.diagonal.sum()):
        return pi, covariance
    vectors = np.vstack([covariance.vectors, s / math.sqrt(v)])
    fixed = Covariance(diagonal=covariance.diagonal, vectors=vectors, signs=np.append(covariance.signs, 1.0))
    return pi - s * (pi.sum() - 1) / v, fixed


def arranged(pi: Array, shape: Sequence[int]) -> tuple[Array, list[Array]]:
    """The table as (strata, parts ..), and for each part its margin, shaped to broadcast against it."""
    table = pi.reshape(shape)
    return table, stratum_margins(table, len(shape) - 1)


def product(x: Array, shape: Sequence[int]) -> Array:
    """The product of the margins of a non-negative table in each stratum, flat, as shares that sum to 1."""
    flat = expected(x, shape)
    return np.asarray(flat / flat.sum())


def quadratic_form(pi: Array, covariance: Covariance, shape: Sequence[int]) -> float:
    """h' (J Sigma J')^+ h, with J the derivative of h.

    With Q an orthonormal basis of the space that h lies in, the Moore-Penrose inverse is Q (Q' J Sigma J' Q)^-1 Q': its
    rank is that of the hypothesis by construction, not by a threshold on eigenvalues. A = Q' J is applied to the
    parts of Sigma, a diagonal minus outer products, so that Sigma itself is never made.
    """
    # h has degree k in pi: shares and counts give the same answer, and shares give numbers of a decent size
    pi, covariance = _as_shares(pi, covariance)
    basis = _interactions(tuple(shape[1:]))
    t = np.concatenate([basis @ h for h in _departure(pi, shape)])
    A = linalg.block_diag(*(basis @ jacobian for jacobian in _jacobians(pi, shape)))
    low = A @ covariance.vectors.T
    V = (A * covariance.diagonal) @ A.T - (low * covariance.signs) @ low.T
    return _whitened(t, V)


def _as_shares(pi: Array, covariance: Covariance) -> tuple[Array, Covariance]:
    total = float(pi.sum())
    diagonal, vectors = covariance.diagonal / total**2, covariance.vectors / total
    return pi / total, Covariance(diagonal=diagonal, vectors=vectors, signs=covariance.signs)


def _whitened(t: Array, V: Array) -> float:
    """t' V^-1 t, after each direction is brought to variance 1 so that small strata are not taken for no variance."""
    sd = np.sqrt(np.maximum(np.diag(V), 0.0))
    if not (sd > 0).all():
        raise _degenerate()
    try:
        root = linalg.cholesky(V / np.outer(sd, sd), lower=True)
    except linalg.LinAlgError:
        raise _degenerate() from None
    if np.diag(root).min() ** 2 < _SINGULAR:  # what is left of a direction's variance given those before it
        raise _degenerate()
    return float((linalg.solve_triangular(root, t / sd, lower=True) ** 2).sum())


def _degenerate() -> InvalidInput:
    hint = "Use monte_carlo_test, or merge levels, or wait for more reports"
    return InvalidInput(
        "has no variance in some direction: too few reports for so many cells", field="release", hint=hint
    )


def _departure(pi: Array, shape: Sequence[int]) -> Array:
    """h, one row for each stratum."""
    table, margins = arranged(pi, shape)
    total = table.sum(axis=tuple(range(1, table.ndim)), keepdims=True)
    h = table * total ** (len(margins) - 1) - math.prod(margins[1:], start=margins[0])
    return np.asarray(h.reshape(shape[0], -1))


def _jacobians(pi: Array, shape: Sequence[int]) -> list[Array]:
    """J of each stratum, the derivative dh_x / dpi_y by the product rule:

    S^(k-1) [x = y] + (k-1) S^(k-2) pi_x - sum_i [x_i = y_i] prod_{j != i} m_j(x_j).
    """
    table, margins = arranged(pi, shape)
    k = len(margins)
    codes = np.indices(shape[1:]).reshape(k, -1)
    same = [code[:, None] == code[None, :] for code in codes]
    found = []
    for z, stratum in enumerate(table):
        total = stratum.sum()
        jacobian = total ** (k - 1) * np.eye(stratum.size) + (k - 1) * total ** (k - 2) * stratum.reshape(-1, 1)
        for i in range(k):
            others = math.prod((m[z] for j, m in enumerate(margins) if j != i), start=np.ones(shape[1:]))
            jacobian = jacobian - others.reshape(-1, 1) * same[i]
        found.append(jacobian)
    return found


@lru_cache(maxsize=8)
def _interactions(sizes: tuple[int, ...]) -> Array:
    """Orthonormal rows that span the tables over these parts whose margins over single parts are all 0.

    For each part an orthonormal basis that begins with the constant; their products are one of all tables. A product
    has single margins iff fewer than two of its factors are not constant: those are left out.
    """
    bases = [_with_constant(size) for size in sizes]
    products = bases[0]
    for basis in bases[1:]:
        products = np.asarray(np.kron(products, basis))
    varies = np.indices(sizes).reshape(len(sizes), -1) > 0
    return np.asarray(products[varies.sum(axis=0) >= 2])


def _with_constant(size: int) -> Array:
    """Helmert's matrix: row 0 constant, the others contrasts."""
    return np.asarray(linalg.helmert(size, full=True), dtype=np.float64) if size > 1 else np.ones((1, 1))


def _heavy_tails(release: Release) -> str | None:
    """Whether Laplace noise, which more people do not make normal, is more than a trifle beside the sampling error."""
    noise = release.uncertainty
    if not isinstance(noise, AdditiveNoise) or not isinstance(noise.law, DiscreteLaplace):
        return None
    if noise.terms * noise.law.variance <= _MOST_LAPLACE * float(np.mean(release.values)):
        return None
    return "Laplace noise is a large part of the error and not normal: use central_monte_carlo_test"


def _caution(pi: Array, covariance: Covariance, shape: Sequence[int]) -> str | None:
    """Whether h is far from linear in the noise.

    A cell's error is sd; that of a product of two margins of r and c cells holds the product of their errors,
    sqrt(c) sd * sqrt(r) sd, over the stratum's total. Against a cell's own error that is sqrt(r c) sd / total.
    """
    sd = np.sqrt(np.maximum(covariance.variance(), 0.0)).reshape(shape[0], -1)
    total = pi.reshape(shape[0], -1).sum(axis=1)
    noise = np.sqrt((sd**2).sum(axis=1))
    worst = float(np.max(noise / np.maximum(total, np.finfo(float).tiny)))
    if worst <= _MOST_NOISE:
        return None
    where = "a stratum" if shape[0] > 1 else "the table"
    return f"{where} is mostly noise: the chi-square law is rough here, use monte_carlo_test"

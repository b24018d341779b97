"""Geometric noise on ordered levels, mixed with the truth, and the matrix that is best for a prior.

Privacy: local, pure; that of the final integer matrix over ALL pairs of levels (`MatrixChannel`).
Utility: `MatrixChannel`. Claim page: docs/claims/geometric-hybrid.md.   Flags: unvetted.

The geometric mechanism was made for counts, of which neighbours differ by 1: its promise is a^-1 a step. A respondent's
level may change to any other, so the loss here is that of the whole way, a^-(K-1), and more with the truth mixed
in. At an equal loss plain randomized response has less variance; these channels are for ordered levels where a far
answer is worse than a near one.

Legend: K levels, a the ratio of the noise, C_ir = w_r a^|i-r| with w = 1 / (1+a) at both ends and (1-a) / (1+a) inside.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, eye_array, hstack, kron, vstack

from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.matrix import MatrixChannel
from tacita.collect.channels.parts.exact import check_levels, exp_below
from tacita.errors import InvalidInput

__all__ = [
    "OptimalChannel",
    "distance_loss",
    "geometric_channel",
    "geometric_rows",
    "hybrid_channel",
    "hybrid_rows",
    "mix_with_response",
    "optimal_channel",
    "optimal_rows",
    "paper_optimum",
]

_MOST_LEVELS = 100  # of a linear program: 10,000 unknowns


def geometric_rows(levels: int, ratio: Fraction) -> list[list[Fraction]]:
    """The truncated geometric law, exactly: what falls beyond an end is sent as that end.

    >>> [str(share) for share in geometric_rows(4, Fraction(1, 2))[0]]
    ['2/3', '1/6', '1/12', '1/12']
    """
    check_levels(levels)
    if not 0 < ratio < 1:
        raise InvalidInput("must lie strictly between 0 and 1", field="ratio", value=float(ratio))
    end, inside = 1 / (1 + ratio), (1 - ratio) / (1 + ratio)
    width = [inside] * levels
    width[0] = width[-1] = end
    return [[width[r] * ratio ** abs(i - r) for r in range(levels)] for i in range(levels)]


def hybrid_rows(levels: int, ratio: Fraction, keep: Fraction) -> list[list[Fraction]]:
    """C' = p 1 + (1 - p) C: the truth with probability p, else geometric noise."""
    if not 0 <= keep < 1:
        raise InvalidInput("must be 0 or more and below 1", field="keep", value=float(keep))
    noise = geometric_rows(levels, ratio)
    return [[(1 - keep) * share + keep * (i == r) for r, share in enumerate(row)] for i, row in enumerate(noise)]


def hybrid_channel(*, levels: int, ratio: Fraction, keep: Fraction) -> MatrixChannel:
    """The channel of `hybrid_rows`; its loss is that of the integers, over all pairs."""
    return MatrixChannel.from_probabilities(hybrid_rows(levels, ratio, keep))


def geometric_channel(*, levels: int, epsilon: float) -> MatrixChannel:
    """Truncated geometric noise whose loss, over all pairs of levels, is at most epsilon.

    The largest ratio is that of both ends, a^-(K-1): so a = e^(-epsilon / (K-1)).
    """
    check_levels(levels)
    exp_below(epsilon)  # refuses what is no loss
    ratio = Fraction(math.exp(-epsilon / (levels - 1)))
    return MatrixChannel.within(_short(geometric_rows(levels, ratio)), epsilon)


def _short(rows: Sequence[Sequence[Fraction]]) -> list[list[Fraction]]:
    """The same law in fractions of 2**60, each row still summing to 1: long denominators cost time."""
    short = [[Fraction(round(share * 2**60), 2**60) for share in row] for row in rows]
    for row in short:
        row[row.index(max(row))] += 1 - sum(row)
    return short


def distance_loss(levels: int, power: float = 1.0) -> NDArray[np.float64]:
    """|i - r|^power: what it costs to send r for i."""
    places = np.arange(levels)
    return np.asarray(np.abs(places[:, None] - places) ** power, dtype=np.float64)


# -- linear programs -----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class OptimalChannel:
    """The channel with the least expected loss for a prior, and that loss."""

    channel: MatrixChannel
    expected_loss: float


def optimal_channel(
    *, prior: ArrayLike, loss: ArrayLike, epsilon: float, keep: float = 0.0, plain: float = 0.0
) -> OptimalChannel:
    """The matrix with the least expected loss among all whose loss of privacy is at most epsilon.

    minimise  sum_i prior_i sum_r C'_ir loss_ir   subject to   m_r <= C'_ir <= e^epsilon m_r,  rows that sum to 1,
    C'_ii >= keep. The unknown m_r stands for the least entry of column r, so that the 2 K^2 inequalities say what
    K^2 (K - 1) pairs would; and they are put on the FINAL matrix: with the truth mixed in afterwards, a report
    that the optimum never uses would come only from those who hold it.

    An optimum may merge levels, also one that keeps the truth, and then no unbiased estimate exists. A share `plain`
    of randomized response with the same epsilon keeps them apart: the mixture of two channels that keep the
    inequalities keeps them, and its determinant is a polynomial in the share that is not 0 everywhere.

    Args:
        prior: Public guess of the shares, non-negative; never read off this block's answers.
        loss: What it costs to send r for i, K rows and columns.
        epsilon: The loss of privacy allowed, over all pairs.
        keep: Least probability of the truth: the final matrix is keep * 1 + (1 - keep) C with some channel C.
        plain: Share of plain randomized response that is mixed in, 0 to 1.
    """
    p, cost = _checked(prior, loss)
    found = optimal_rows(prior=prior, loss=loss, epsilon=epsilon, keep=keep)
    channel = mix_with_response(found, plain=plain, epsilon=epsilon)
    return OptimalChannel(channel=channel, expected_loss=float((p[:, None] * cost * channel.matrix()).sum()))


def optimal_rows(*, prior: ArrayLike, loss: ArrayLike, epsilon: float, keep: float = 0.0) -> NDArray[np.float64]:
    """The optimum of the program of `optimal_channel` in floats, before it is made a channel; it may merge levels."""
    p, cost = _checked(prior, loss)
    levels = p.size
    if not 0 <= keep < 1:
        raise InvalidInput("must be 0 or more and below 1", field="keep", value=keep)
    power = float(exp_below(epsilon))
    own = eye_array(levels**2)
    column = kron(np.ones((levels, 1)), eye_array(levels))
    inequalities = vstack([hstack([own, -power * column]), hstack([-own, column])])
    bounds = [(keep if i == r else 0.0, 1.0) for i in range(levels) for r in range(levels)] + [(0.0, 1.0)] * levels
    objective = np.concatenate([(p[:, None] * cost).reshape(-1), np.zeros(levels)])
    found = _solved(objective, inequalities, levels, bounds)
    if found is None:
        raise InvalidInput("cannot be kept with this epsilon", field="keep", value=keep)
    return found


def mix_with_response(rows: NDArray[np.float64], *, plain: float, epsilon: float) -> MatrixChannel:
    """The integers of a matrix of probabilities with a share of plain randomized response, whose loss is at most
    epsilon.

    Args:
        rows: Probabilities of reports, whose ratios within a column are at most e^epsilon up to rounding.
        plain: Share of randomized response, 0 to 1. epsilon: The loss of privacy allowed.
    """
    if not 0 <= plain <= 1:
        raise InvalidInput("must be from 0 to 1", field="plain", value=plain)
    response = RandomizedResponse.k_ary(levels=len(rows), epsilon=epsilon).matrix()
    return MatrixChannel.within(_fractions((1 - plain) * rows + plain * response), epsilon)


def paper_optimum(*, prior: ArrayLike, loss: ArrayLike, ratio: float) -> tuple[NDArray[np.float64], float]:
    """The published program: only neighbouring levels are held to a ratio. Not a local guarantee, and not a channel.

    Its optimum may have columns of zeros; mixed with the truth such a column reveals it. Kept to reproduce the source's
    table and to show the break beside `optimal_channel`.

    Returns:
        The matrix and its expected loss.
    """
    p, cost = _checked(prior, loss)
    levels = p.size
    steps = (levels - 1) * levels
    first = np.arange(steps)
    ones = np.ones(steps)
    upper = coo_array((ones, (first, first)), shape=(steps, levels**2))  # C_ir
    lower = coo_array((ones, (first, first + levels)), shape=(steps, levels**2))  # C_(i+1)r
    empty = csr_array((2 * steps, levels))
    inequalities = hstack([vstack([ratio * upper - lower, ratio * lower - upper]), empty])
    objective = np.concatenate([(p[:, None] * cost).reshape(-1), np.zeros(levels)])
    found = _solved(objective, inequalities, levels, [(0.0, 1.0)] * (levels**2 + levels))
    assert found is not None, "equal rows always satisfy the program"
    return found, float((p[:, None] * cost * found).sum())


def _checked(prior: ArrayLike, loss: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    p, cost = np.asarray(prior, dtype=np.float64), np.asarray(loss, dtype=np.float64)
    if p.ndim != 1 or not 2 <= p.size <= _MOST_LEVELS or not np.isfinite(p).all() or (p < 0).any() or not p.any():
        rule = f"must be 2 to {_MOST_LEVELS} non-negative numbers, not all 0"
        raise InvalidInput(rule, field="prior", value=p.shape)
    if cost.shape != (p.size, p.size) or not np.isfinite(cost).all():
        raise InvalidInput(f"must be {p.size} rows and columns of finite numbers", field="loss", value=cost.shape)
    return p / p.sum(), cost


def _solved(
    objective: NDArray[np.float64],
    inequalities: object,
    levels: int,
    bounds: list[tuple[float, float]],
) -> NDArray[np.float64] | None:
    """The matrix of the optimum, or None if there is none."""
    sums = hstack([kron(eye_array(levels), np.ones((1, levels))), csr_array((levels, levels))])
    limits = np.zeros(inequalities.shape[0])  # type: ignore[attr-defined]
    found = linprog(objective, inequalities, limits, sums, np.ones(levels), bounds, method="highs-ds")
    if not found.success:
        return None
    return np.asarray(found.x[: levels**2].reshape(levels, levels))


def _fractions(matrix: NDArray[np.float64]) -> list[list[Fraction]]:
    """A solver's numbers as non-negative fractions whose rows sum to 1."""
    rows = [[Fraction(max(float(entry), 0.0)) for entry in row] for row in matrix]
    return _short([[entry / sum(row) for entry in row] for row in rows])

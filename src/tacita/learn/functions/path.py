"""One path of Gaussian noise with a kernel's covariance, drawn where it is asked for, once and for all.

The noise at a point is g(x) = s(x) + t e(x): s a path of the Gaussian process with the kernel, e independent at each
point, t^2 = 2^-5. That little noise of its own buys safe arithmetic:

    a new point x has, given the points that were kept, s(x) of mean v' z and variance k(x, x) - v' v,
    with v = L^-1 k(kept, x):
    variance above 2^-28     x is kept: z and L grow by one, s(x) = v' z + sqrt(variance) z_new
    variance below           s(x) is known from the kept points but for that variance, which e(x) gets besides

Privacy:  what is neglected is how the rests r(x) of points that are not kept go together, and with points that are
          kept later. For any weights a, std(a s) <= std(a (s - r)) + |a| sqrt(m 2^-28) over m <= 2^17 points, so the
          kernel's covariance is at most (1 + 2^-5) times the one that runs, in the order of matrices; `WIDER` pays
          for that, and for as much again of arithmetic. Repeated and nearly repeated points are no danger: no pivot
          is below 2^-28, and sums with weights of up to 2^14 are exact to about 2^-34.
          Claim: docs/claims/functional-perturbation.md
Utility:  smooth kernels on few dimensions keep a few hundred points however many are asked.
Cost:     a new point with r kept ones: r^2 / 2 numbers are read. One point is as fast as memory is read: one thread is
          enough, and does not wait for a second one that has no core of its own.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController

from tacita.errors import Conflict
from tacita.learn.functions.factor import Factor
from tacita.learn.functions.kernel import Array, Kernel
from tacita.models.neural.grid_noise import rounded_normal
from tacita.noise import Source

__all__ = ["MOST_KEPT", "MOST_POINTS", "OWN", "WIDER", "Drawn", "Path", "normals"]

OWN = 2.0**-5
"""Variance of the noise that each point has of its own, where the kernel has 1."""
MOST_POINTS = 1 << 17
MOST_KEPT = 1 << 14
_ROOM = 2.0**-5
_LEAST = _ROOM * OWN / (2 * MOST_POINTS)
WIDER = math.sqrt(1 + _ROOM)
"""By how much the noise must be wider, since its covariance may be below the kernel's by that factor, squared."""
_CHUNK = 256
_FINE = 2.0**40


def normals(count: int, source: Source) -> Array:
    """Independent normal numbers, on a grid of 2^-40."""
    return rounded_normal(count, _FINE, source) / _FINE


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawn:
    """Noise at some points that had none, and what must be remembered of it.

    Attributes:
        noise: One row for each point, one column for each function.
        kept: Points that were stored.
        hidden: The new z of those, in order. Secret: with the answers it would give the function away.
    """

    noise: Array = field(repr=False)
    kept: npt.NDArray[np.bool_]
    hidden: Array = field(repr=False)


class Path:
    """Paths of several functions at once: the same points, independent noise.

    Args:
        kernel: Of the noise: the kernel that the functions are made of.
        dimensions: Of a point.
        functions: Number of functions.
    """

    def __init__(self, kernel: Kernel, dimensions: int, functions: int = 1) -> None:
        self._kernel = kernel
        self._factor = Factor()
        self._points = np.empty((0, dimensions))
        self._z = np.empty((0, functions))

    @property
    def kept(self) -> int:
        """Points that new ones are drawn from."""
        return self._factor.size

    def draw(self, points: Array, source: Source) -> Drawn:
        """Noise at new points: none of them was drawn before, and no two are the same."""
        with _libraries().limit(limits=1, user_api="blas") if len(points) == 1 else nullcontext():
            parts = [self._draw(points[at : at + _CHUNK], source) for at in range(0, len(points), _CHUNK)]
        return Drawn(
            noise=np.concatenate([part.noise for part in parts]),
            kept=np.concatenate([part.kept for part in parts]),
            hidden=np.concatenate([part.hidden for part in parts]),
        )

    def _draw(self, points: Array, source: Source) -> Drawn:
        known, rest = self._given(points)
        functions = self._z.shape[1]
        own = normals(len(points) * functions, source).reshape(len(points), functions)
        rows, kept = np.zeros((len(points), len(points))), np.zeros(len(points), np.bool_)
        hidden: list[Array] = []
        smooth = known.T @ self._z
        for place in range(len(points)):
            left = max(float(rest[place, place]), 0.0)
            if left > _LEAST:
                if self.kept + len(hidden) >= MOST_KEPT:
                    raise Conflict(
                        f"has kept {MOST_KEPT:,} points, as many as it can; only points that it knows are answered",
                        field="model",
                        hint="Release a function with random features, which keeps none",
                    )
                column = rest[:, place] / np.sqrt(left)
                rest = rest - np.outer(column, column)
                z = normals(functions, source)
                smooth[place:] += np.outer(column[place:], z)
                rows[place:, len(hidden)] = column[place:]
                hidden.append(z)
                kept[place], left = True, 0.0
            own[place] *= np.sqrt(OWN + left)
        found = np.array(hidden).reshape(len(hidden), functions)
        self._append(points[kept], found, np.concatenate([known.T[kept], rows[kept, : len(hidden)]], axis=1))
        return Drawn(noise=smooth + own, kept=kept, hidden=found)

    def remember(self, points: Array, hidden: Array) -> None:
        """Add points that another process has drawn and stored, in the order in which they were stored."""
        for at in range(0, len(points), _CHUNK):
            some = points[at : at + _CHUNK]
            known, rest = self._given(some)
            try:
                corner = np.linalg.cholesky(rest)
            except np.linalg.LinAlgError:  # pivots were large enough for the process that drew them; last bits differ
                corner = np.linalg.cholesky(rest + _LEAST * np.eye(len(some)))
            self._append(some, hidden[at : at + _CHUNK], np.concatenate([known.T, corner], axis=1))

    def forget(self, kept: int) -> None:
        """Go back to the first points that were kept: what was drawn since was not written down."""
        self._factor.cut(kept)
        self._points, self._z = self._points[:kept], self._z[:kept]

    def _given(self, points: Array) -> tuple[Array, Array]:
        """L^-1 k(kept, points), and the covariance that is left among the points."""
        known = self._factor.solve(self._kernel(self._points, points))
        return known, self._kernel(points, points) - known.T @ known

    def _append(self, points: Array, hidden: Array, rows: Array) -> None:
        self._factor.append(rows)
        self._points = np.concatenate([self._points, points])
        self._z = np.concatenate([self._z, hidden])


@cache
def _libraries() -> Any:
    return ThreadpoolController()

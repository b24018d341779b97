"""The Cholesky factor of a matrix that grows by rows, kept in blocks so that growing copies nothing.

Cost:  solving with r rows reads r^2 / 2 numbers once; memory is the same r^2 / 2.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dtrsv

from tacita.learn.functions.kernel import Array

__all__ = ["Factor"]

_BLOCK = 256


class Factor:
    """A lower triangular matrix that rows are added to at its end."""

    def __init__(self) -> None:
        self.size = 0
        self._left: list[Array] = []  # of each block of rows, what is left of its corner
        self._corners: list[Array] = []  # the triangles on the diagonal, by columns as BLAS reads them

    def solve(self, right: Array) -> Array:
        """L^-1 times the columns of `right`."""
        if right.ndim == 2 and right.shape[1] == 1:  # one vector is read faster than a matrix of one column
            return self.solve(right[:, 0])[:, None]
        found = np.empty_like(right)
        for start, left, corner in zip(range(0, self.size, _BLOCK), self._left, self._corners, strict=True):
            end = min(start + _BLOCK, self.size)
            rest, own = right[start:end] - left[: end - start] @ found[:start], corner[: end - start, : end - start]
            found[start:end] = dtrsv(own, rest, lower=1) if right.ndim == 1 else solve_triangular(own, rest, lower=True)
        return found

    def append(self, rows: Array) -> None:
        """Add rows below: each as long as the matrix will be high, with zeros behind its diagonal."""
        for row in rows:
            start = self.size - self.size % _BLOCK
            if start == self.size:
                self._left.append(np.zeros((_BLOCK, start)))
                self._corners.append(np.zeros((_BLOCK, _BLOCK), order="F"))
            place = self.size - start
            self._left[-1][place] = row[:start]
            self._corners[-1][place, : place + 1] = row[start : self.size + 1]
            self.size += 1

    def cut(self, size: int) -> None:
        """Forget all rows behind the first `size`."""
        self.size = size
        del self._left[-(-size // _BLOCK) :], self._corners[-(-size // _BLOCK) :]

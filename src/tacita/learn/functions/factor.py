"""The Cholesky factor of a matrix that grows by rows, kept in blocks so that growing copies nothing.

Cost:  solving with r rows reads r^2 / 2 numbers once; memory is the same r^2 / 2.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from tacita.learn.functions.kernel import Array

__all__ = ["Factor"]

_BLOCK = 256


class Factor:
    """A lower triangular matrix that rows are added to at its end."""

    def __init__(self) -> None:
        self.size = 0
        self._blocks: list[Array] = []

    def solve(self, right: Array) -> Array:
        """L^-1 times the columns of `right`."""
        if right.ndim == 2 and right.shape[1] == 1:  # one vector is read faster than a matrix of one column
            return self.solve(right[:, 0])[:, None]
        found = np.empty_like(right)
        for start, block in zip(range(0, self.size, _BLOCK), self._blocks, strict=True):
            end = min(start + _BLOCK, self.size)
            rest = right[start:end] - block[: end - start, :start] @ found[:start]
            corner = block[: end - start, start:end]
            found[start:end] = solve_triangular(corner, rest, lower=True, check_finite=False)
        return found

    def append(self, rows: Array) -> None:
        """Add rows below: each as long as the matrix will be high, with zeros behind its diagonal."""
        for row in rows:
            start = self.size - self.size % _BLOCK
            if start == self.size:
                self._blocks.append(np.zeros((_BLOCK, start + _BLOCK)))
            self._blocks[-1][self.size - start, : self.size + 1] = row[: self.size + 1]
            self.size += 1

    def cut(self, size: int) -> None:
        """Forget all rows behind the first `size`."""
        self.size = size
        del self._blocks[-(-size // _BLOCK) :]

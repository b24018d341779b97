"""The one way to compile a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

__all__ = ["compiled"]


def compiled(function: Callable[..., Any]) -> Any:
    """Compile with numba: kept on disk, so once for each machine; without Python's lock, so threads can share it."""
    return numba.njit(cache=True, nogil=True)(function)

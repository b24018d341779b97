"""The one way to compile a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

__all__ = ["compiled"]


def compiled(function: Callable[..., Any]) -> Any:
    """Compile with numba: cached on disk, so once for each machine; without the GIL, so threads run in parallel."""
    return numba.njit(cache=True, nogil=True)(function)

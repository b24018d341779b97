"""The one way to compile a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

__all__ = ["KERNELS", "compiled"]

KERNELS: list[Any] = []
"""Every kernel whose module was loaded. `tacita warm` compiles them before they are needed."""


def compiled(function: Callable[..., Any]) -> Any:
    """Compile with numba: cached on disk, so once for each machine; without the GIL, so threads run in parallel."""
    kernel = numba.njit(cache=True, nogil=True)(function)
    KERNELS.append(kernel)
    return kernel

"""Turn a wish for time into an amount of work, from public sizes, before data is read.

No run reads a clock: the time of a step may depend on one person's rows, and the number of steps shows in the release.
So `seconds` are those of a reference machine (two cores of 2026), and a slower one takes longer.
"""

from __future__ import annotations

import itertools
import math

from tacita.errors import InvalidInput

__all__ = ["check_seconds", "mixture_step", "network_step", "scaled"]


def check_seconds(seconds: float) -> None:
    """Refuse what is no time."""
    if math.isnan(seconds) or seconds <= 0:
        raise InvalidInput("must be positive", field="seconds", value=seconds)


def mixture_step(components: int, width: int) -> float:
    """Reference seconds of one step of fitting a mixture of products over so many levels in all."""
    return 3e-4 + components * width * (3e-10 * width + 4e-8)


def network_step(rows: int, *layers: int) -> float:
    """Reference seconds of one step of training a network with these layers on so many rows."""
    weights = sum(a * b for a, b in itertools.pairwise(layers))
    return 1e-3 + 6 * rows * weights / 2e10


def scaled(count: int, seconds: float, whole: float) -> int:
    """Of `count` steps that would take `whole` seconds with all that belongs to them, those that fit; at least one."""
    return count if whole <= seconds else max(1, math.floor(count * seconds / whole))

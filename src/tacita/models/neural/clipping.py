"""The sum of the units' gradients, each clipped to the same norm, on a grid of whole numbers.

With G = 2^24 steps for one clipping norm C, gradient g_i of unit i, and k coordinates:

    sum = round(G / C * sum_i clip(g_i)),     clip(g) = g * min(1, (1 - margin) C / |g|)

Privacy: adding or removing a unit moves the sum by at most G steps (L2): (1 - margin) G by its gradient, and sqrt(k) by
rounding, for which the margin leaves G / 256; the rest pays for what floats do to a norm. Norms and sums are taken in
double precision, so that their error does not grow with the number of units. A gradient that
is not finite counts as 0, so that no unit can break a step, or be revealed by a step that breaks.
Claim: docs/claims/dp-sgd.md
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tacita.errors import InvalidInput
from tacita.models.neural.backend import load_torch

__all__ = ["GRID", "MARGIN", "UnitLoss", "clipped_sum"]

GRID = 1 << 24
MARGIN = 1 / 256
_MOST_WEIGHTS = 1 << 30  # sqrt of it is half of what the margin leaves
_CHUNK = 256

UnitLoss = Callable[..., Any]
"""Loss of one unit, of the weights by name and of what stands for the unit; must not look at other units."""


def clipped_sum(loss: UnitLoss, weights: dict[str, Any], units: tuple[Any, ...], clip: float) -> Any:
    """The sum in steps of the grid, as whole numbers in double precision, one for each weight.

    Args:
        loss: Of one unit.
        weights: By name.
        units: Tensors whose first axis is the units; there may be none of them.
        clip: The norm C.
    """
    torch = load_torch()
    count = sum(weight.numel() for weight in weights.values())
    if count > _MOST_WEIGHTS:
        raise InvalidInput(f"a network may have {_MOST_WEIGHTS} weights", field="weights", value=count)
    slopes = torch.func.vmap(torch.func.grad(loss), in_dims=(None, *(0 for _ in units)), randomness="different")
    first = next(iter(weights.values()))
    total = torch.zeros(count, dtype=torch.float64, device=first.device)
    for start in range(0, len(units[0]), _CHUNK):
        part = tuple(each[start : start + _CHUNK] for each in units)
        found = [slope.flatten(1).double() for slope in slopes(weights, *part).values()]
        norms = torch.stack([slope.square().sum(1) for slope in found]).sum(0).sqrt()
        scale = ((1 - MARGIN) * clip / norms.clamp(min=1e-30)).clamp(max=1.0)
        finite = torch.isfinite(norms)
        if not bool(finite.all()):
            scale = torch.where(finite, scale, 0.0)
            found = [torch.where(finite[:, None], slope, 0.0) for slope in found]
        total += torch.cat([scale @ slope for slope in found])
    return torch.round(total * (GRID / clip))

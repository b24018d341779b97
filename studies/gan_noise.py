"""Two ways to put noise into a critic that give no privacy at all: for study only.

    loss     noise is added to the loss: its slopes are what they were, since the noise does not depend on weights
    layer    noise is added inside the network: weights below it still get slopes made of the raw images, without bound

Both have been published with an epsilon. Neither has one, so what comes out says `guarantee: none`, and the ledger
takes it as an infinite loss. What holds is `tacita.synthesize.gan.images`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacita.errors import InvalidInput
from tacita.models.neural.backend import load_torch
from tacita.privacy.event import Event, NonPrivate
from tacita.synthesize.gan.images import ImageGan, critic_network

__all__ = ["NoisySlopes", "Variant", "noisy_slopes"]

Variant = Literal["loss", "layer"]

_REASONS = {
    "loss": "noise on a loss leaves its slopes as they are",
    "layer": "noise inside a network leaves the slopes below it made of raw images",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisySlopes:
    """What one step of such a critic shows about its images."""

    variant: Variant
    loss: float
    slopes: dict[str, NDArray[np.float32]] = field(repr=False)

    @property
    def event(self) -> Event:
        """No guarantee, and why."""
        return NonPrivate(reason=_REASONS[self.variant])

    @property
    def guarantee(self) -> str:
        """None."""
        return "none"


def noisy_slopes(
    images: NDArray[np.float32], variant: Variant, *, sigma: float, rng: np.random.Generator, seed: int = 0
) -> NoisySlopes:
    """One step of a critic on real images, with noise in the place that the variant says.

    Args:
        images: (images, side, side) between -1 and 1.
        variant: Where the noise goes.
        sigma: Its standard deviation.
        rng: Draws it.
        seed: Of the critic's first weights, which are public.
    """
    if variant not in _REASONS:
        raise InvalidInput("must be loss or layer", field="variant", value=variant)
    torch = load_torch()
    recipe = ImageGan(side=images.shape[1], labels=1)
    critic = critic_network(recipe, np.random.default_rng(seed))

    def noise(shape: tuple[int, ...]) -> Any:
        return torch.from_numpy(rng.normal(0, sigma, shape).astype(np.float32))

    flow = torch.from_numpy(images)[:, None]
    flow = torch.cat([flow, torch.zeros_like(flow)], 1)
    for at, part in enumerate(critic):
        flow = part(flow)
        if variant == "layer" and at == 3:  # after the second rectifier, as published
            flow = flow + noise(tuple(flow.shape))
    loss = -flow.sum()
    if variant == "loss":
        loss = loss + noise(()).reshape(())
    loss.backward()
    slopes = {name: weight.grad.numpy().copy() for name, weight in critic.named_parameters()}
    return NoisySlopes(variant=variant, loss=float(loss.detach()), slopes=slopes)

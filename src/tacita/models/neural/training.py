"""The one loop that trains a network on private rows.   Claim: docs/claims/dp-sgd.md   [Abadi et al. 2016]

    each step    every unit is in with probability q; gradients are clipped to C one by one and added up;
                 noise of standard deviation sigma C goes on the sum; the sum is divided by the expected number of
                 units, never by the number that were in; an optimiser takes it from there

Privacy:  `Steps.event`: so many sampled Gaussian steps. Whatever is done with the weights between steps is
          post-processing. No step is made beyond those that were paid for.
Utility:  noise falls with the number of units in a step, so large rates and few steps are better than the other way
          round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tacita import check
from tacita.errors import InternalError, InvalidInput
from tacita.models.neural.backend import load_torch
from tacita.models.neural.clipping import GRID, UnitLoss, clipped_sum
from tacita.models.neural.grid_noise import rounded_normal
from tacita.models.neural.sampling import poisson_sample
from tacita.noise import Source
from tacita.privacy.budget import Budget
from tacita.privacy.calibrate import noise_multiplier
from tacita.privacy.event import Event, Repeated, SampledGaussian

__all__ = ["PrivateTraining", "Steps", "check_finite"]

Batch = tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class Steps:
    """So many private steps, with their noise fixed.

    Args:
        steps: All that look at data.
        rate: Chance of a unit to be in a step.
        noise_multiplier: Standard deviation of the noise, in clipping norms.
        clip: The clipping norm.
    """

    steps: int
    rate: float
    noise_multiplier: float
    clip: float = 1.0

    def __post_init__(self) -> None:
        check.positive(self.clip, "clip")
        _ = self.event  # says what else is wrong

    @classmethod
    def calibrate(
        cls, budget: Budget, *, steps: int, rate: float, clip: float = 1.0, beside: tuple[Event, ...] = ()
    ) -> Steps:
        """The least noise that the budget allows; `beside` is what else it pays for."""
        noise = noise_multiplier(budget, rate=rate, steps=steps, beside=beside)
        return cls(steps=steps, rate=rate, noise_multiplier=noise, clip=clip)

    @property
    def event(self) -> Event:
        """Cost of all steps together to each unit, under add-remove."""
        step = SampledGaussian(noise_multiplier=self.noise_multiplier, rate=self.rate)
        return Repeated(event=step, count=self.steps)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        parts = ("steps", "rate", "noise_multiplier", "clip")
        return {name: getattr(self, name) for name in parts}


class PrivateTraining:
    """Private steps on the weights of a network.

    Args:
        law: How many, with which noise.
        module: The network. It must treat rows one by one: no batch normalisation.
        optimiser: Gets the noisy mean gradient.
        loss: Of one unit: of the weights by name, and of what `take` and `beside` give for it.
        units: How many units there are. Exact, hence used for sampling only.
        take: Tensors of the units with these indices, first axis units.
        expected: About how many units there are in a step, from what is public.
        source: Randomness of the sampling and of the noise.
        done: Steps that were made or lost before.
    """

    def __init__(
        self,
        law: Steps,
        module: Any,
        optimiser: Any,
        loss: UnitLoss,
        *,
        units: int,
        take: Callable[[Any], Batch],
        expected: float,
        source: Source,
        done: int = 0,
    ) -> None:
        _refuse_shared_statistics(module)
        check.positive(expected, "expected")
        self.law, self.done = law, done
        self._module, self._optimiser, self._loss = module, optimiser, loss
        self._units, self._take, self._expected, self._source = units, take, expected, source

    @property
    def left(self) -> int:
        """Steps that are paid for and not made."""
        return max(0, self.law.steps - self.done)

    def step(self, beside: Callable[[int], Batch] = lambda count: ()) -> None:
        """One private step; `beside` makes what each unit is compared with, and must not look at data."""
        if not self.left:
            raise InternalError("all steps that were paid for have been made", field="steps")
        self.done += 1
        torch = load_torch()
        named = dict(self._module.named_parameters())
        chosen = poisson_sample(self._units, self.law.rate, self._source)
        batch = (*self._take(chosen), *beside(len(chosen)))
        total = clipped_sum(self._loss, {name: weight.detach() for name, weight in named.items()}, batch, self.law.clip)
        noise = rounded_normal(total.numel(), self.law.noise_multiplier * GRID, self._source)
        noisy = (total + torch.from_numpy(noise).to(total.device)) * (self.law.clip / GRID / self._expected)
        start = 0
        for weight in named.values():
            weight.grad = noisy[start : start + weight.numel()].view_as(weight).to(weight.dtype)
            start += weight.numel()
        self._optimiser.step()
        self._optimiser.zero_grad(set_to_none=True)
        check_finite(torch, named.values())


def check_finite(torch: Any, values: Any) -> None:
    """Refuse values that are not finite. It reads noisy or synthetic numbers only, so a refusal reveals nothing."""
    if not all(bool(torch.isfinite(value).all()) for value in values):
        raise InvalidInput(
            "training has diverged: a loss or a weight is not a number any more",
            field="learning_rate",
            hint="Lower the learning rate or the clipping norm; what was spent stays spent",
        )


def _refuse_shared_statistics(module: Any) -> None:
    for part in module.modules():
        if "BatchNorm" in type(part).__name__:
            raise InvalidInput(
                "a network that sees private rows may not mix them",
                field="module",
                value=type(part).__name__,
                hint="Use layer or group normalisation",
            )

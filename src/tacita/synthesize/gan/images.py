"""Small synthetic images with labels: a convolutional generator gets the label, a private critic sees both.

    1  release how many images have each label, with noise                  `counts` of epsilon
    2  each step: the critic makes one private step on real images, each against a synthetic one    the rest of epsilon
                  the generator follows the critic                          post-processing

The generator draws the label of a synthetic image from the released counts, so images need no labelling. A model that
was trained on real labels is never used: its answers would be charged to no budget.

Privacy:  counts and critic see data; the event is theirs, in sequence. The critic treats images one by one. The
          generator may normalise over its own batches, but not over those that stand beside real images: there one
          image more would move all others.   Claim: docs/claims/dp-sgd.md
Utility:  see `student` for a measure, and mind the share of the most frequent label beside it.   [Radford et al. 2016]
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.common.plain import plain_fields
from tacita.errors import DataError, InvalidInput
from tacita.models.neural.backend import check_installed, load_torch, pick_device
from tacita.models.neural.checkpoint import (
    Checkpoint,
    Checkpoints,
    begin,
    load_states,
    reserved_steps,
    source_of_run,
)
from tacita.models.neural.training import PrivateTraining, Steps, check_finite
from tacita.noise import DiscreteGaussian, Source
from tacita.plans.additive import shift_event
from tacita.plans.recipe import CalibratedPlan
from tacita.plans.split import in_sequence
from tacita.privacy.accountant import check_sampled
from tacita.privacy.budget import Budget
from tacita.privacy.calibrate import narrowest
from tacita.privacy.event import Event
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.gan.generator import SLOPE
from tacita.synthesize.gan.networks import initialise
from tacita.synthesize.plan import generator
from tacita.tables.envelope import Stated
from tacita.tables.release import Provenance
from tacita.tables.simplex import to_distribution

__all__ = ["ImageGan", "ImageGanPlan", "MadeImages", "critic_network", "maker_network"]

Pixels = NDArray[np.uint8]

_BOX = 0.3
_CRITIC_RATE, _MAKER_RATE = 5e-3, 2e-3
_CHUNK = 512


@dataclass(frozen=True, kw_only=True)
class ImageGan:
    """Recipe of an image generator, without a budget.

    Args:
        side: Pixels of a side; a multiple of 4.
        labels: Number of labels.
        counts: Part of epsilon that goes to the counts of labels.
        steps, rate, clip: See `Steps`.
        follow: Steps of the generator after each of the critic.
        latent, channels: Sizes of layers.
        starts: Images of one step of the generator.
    """

    side: int
    labels: int
    counts: float = 0.1
    steps: int = 500
    rate: float = 0.02
    clip: float = 1.0
    follow: int = 2
    latent: int = 32
    channels: int = 16
    starts: int = 128

    def __post_init__(self) -> None:
        if type(self.side) is not int or self.side < 8 or self.side % 4 or self.side > 64:
            raise InvalidInput("must be a multiple of 4 from 8 to 64", field="side", value=self.side)
        if not 0 < self.counts < 1:
            raise InvalidInput("must lie between 0 and 1", field="counts", value=self.counts)
        for name in ("labels", "steps", "follow", "latent", "channels", "starts"):
            check.whole(getattr(self, name), name, least=1, most=100_000)

    def calibrate(self, budget: Budget, *, unit: Unit, neighbours: Neighbours) -> ImageGanPlan:
        """Fix the noise of counts and steps so that both together cost at most the budget; reads no data."""
        if unit != Unit.row():
            rule = "each image is a unit of its own here"
            raise InvalidInput(rule, field="unit", value=str(unit), hint="Keep one image of each person")
        check_sampled(neighbours)
        check_installed()
        if budget.currency != "approx":
            hint = "Give a delta"
            raise InvalidInput("training needs epsilon at a delta", field="budget", value=str(budget), hint=hint)
        part = Budget.approx(self.counts * budget.amount, budget.delta)
        sigma2 = narrowest(lambda x: shift_event(DiscreteGaussian.at_least(x), 1), part, neighbours, within=10**4)
        law = DiscreteGaussian.at_least(sigma2)
        steps = Steps.calibrate(budget, steps=self.steps, rate=self.rate, clip=self.clip, beside=(shift_event(law, 1),))
        return ImageGanPlan(recipe=self, budget=budget, unit=unit, neighbours=neighbours, law=law, steps=steps)

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        return {"method": "image-gan"} | plain_fields(self)


@dataclass(frozen=True, kw_only=True)
class ImageGanPlan(CalibratedPlan[Any]):
    """Counts and critic with their noise fixed. Reads no data until it runs."""

    recipe: ImageGan
    budget: Budget
    unit: Unit
    neighbours: Neighbours
    law: DiscreteGaussian
    steps: Steps
    checkpoints: Checkpoints | None = None

    @cached_property
    def event(self) -> Event:
        """Counts of labels, then steps."""
        return in_sequence(shift_event(self.law, 1), self.steps.event)

    def with_checkpoints(self, path: str | Path, *, every: int = 100) -> ImageGanPlan:
        """The same plan, which writes where it stands to a file, and goes on from there if the file exists."""
        return replace(self, checkpoints=Checkpoints(path=Path(path), every=every))

    @property
    def _fingerprint(self) -> dict[str, Any]:
        return {"recipe": self.recipe.as_dict(), "event": self.event.as_dict()}

    def _counted(self, state: Checkpoint, labels: NDArray[np.integer[Any]], source: Source) -> NDArray[np.int64]:
        """Counts of labels with noise; those that were released before, if there are any."""
        if state.released:
            return np.array(json.loads(state.released), np.int64)
        counts = np.bincount(labels, minlength=self.recipe.labels) + self.law.draw(self.recipe.labels, source)
        if self.checkpoints:
            self.checkpoints.write(replace(state, released=json.dumps(counts.tolist())))
        return np.asarray(counts)

    def parts(self) -> dict[str, Any]:
        """Own parts of the plain data."""
        return {
            "training": self.steps.as_dict(),
        }

    def run(self, images: Pixels, labels: NDArray[np.integer[Any]], source: Source) -> MadeImages:
        """Count labels, add noise, train. Charge the event first.

        Args:
            images: (images, side, side) of 0 to 255.
            labels: One for each image, from 0; an image whose label is out of domain is left out, as in tables.
            source: Draws the units of a step, and the noise.
        """
        recipe = self.recipe
        _check(images, labels, recipe)
        placed = (labels >= 0) & (labels < recipe.labels)
        images, labels = images[placed], labels[placed]
        state = begin(self.checkpoints, json.dumps(self._fingerprint, sort_keys=True))
        source = source_of_run(source, state.runs)
        counts = self._counted(state, labels, source)
        state = replace(state, released=json.dumps(counts.tolist()))
        shares, people = to_distribution(counts.astype(float)), max(float(counts.sum()), self.law.std, 1.0)
        torch = load_torch()
        device, rng = pick_device(torch), generator(source)
        random = torch.Generator(device).manual_seed(int(source.words(1)[0] >> np.uint64(1)))
        maker = maker_network(recipe, rng).to(device)
        critic = critic_network(recipe, rng).to(device)
        maker_steps = torch.optim.Adam(maker.parameters(), _MAKER_RATE, betas=(0.5, 0.9))

        def drawn(count: int) -> tuple[Any, Any]:
            one_hot = np.eye(recipe.labels, dtype=np.float32)[rng.choice(recipe.labels, count, p=shares)]
            one_hot_labels = torch.from_numpy(one_hot).to(device)
            latent = torch.randn((count, recipe.latent), generator=random, device=device)
            return maker(torch.cat([latent, one_hot_labels], 1)), one_hot_labels

        def beside(count: int) -> tuple[Any, ...]:
            maker.eval()  # one by one: over a batch, one image more would move the others
            with torch.no_grad():
                return (_with_label(*drawn(count)),)

        def unit_loss(weights: dict[str, Any], real: Any, made: Any) -> Any:
            heights = torch.func.functional_call(critic, weights, (torch.stack([made, real]),))[:, 0]
            return heights[0] - heights[1]

        def take(chosen: NDArray[np.int64]) -> tuple[Any, ...]:
            pictures = torch.from_numpy(images[chosen].astype(np.float32) / 127.5 - 1)[:, None]
            one_hot = torch.from_numpy(np.eye(recipe.labels, dtype=np.float32)[labels[chosen]])
            return (_with_label(pictures, one_hot).to(device),)

        critic_steps = torch.optim.RMSprop(critic.parameters(), _CRITIC_RATE)
        parts = {"maker": maker, "maker_steps": maker_steps, "critic": critic, "critic_steps": critic_steps}
        load_states(state, parts)
        training = PrivateTraining(
            self.steps,
            critic,
            critic_steps,
            unit_loss,
            units=len(images),
            take=take,
            expected=self.steps.rate * people,
            source=source,
            done=state.reserved,
        )
        for _ in reserved_steps(training, self.checkpoints, state, parts):
            training.step(beside)
            with torch.no_grad():
                for weight in critic.parameters():
                    weight.clamp_(-_BOX, _BOX)
            maker.train()
            for _ in range(recipe.follow):
                loss = -critic(_with_label(*drawn(recipe.starts))).mean()
                check_finite(torch, [loss])
                maker_steps.zero_grad(set_to_none=True)
                loss.backward()
                maker_steps.step()
        return MadeImages(
            recipe=recipe,
            network=maker.eval(),
            shares=shares,
            event=self.event,
            unit=self.unit,
            neighbours=self.neighbours,
            provenance=Provenance(recipe=recipe.as_dict(), simulated=source.simulated),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class MadeImages(Stated):
    """A released generator of images.

    Attributes:
        shares: Of the labels, read off noise.
        event, unit, neighbours: Its cost, the unit that is protected, the notion of neighbours.
        provenance: `simulated` when the noise could be repeated.
    """

    released: ClassVar[str] = "The generator and all images of it are"

    recipe: ImageGan
    network: Any = field(repr=False)
    shares: NDArray[np.float64]
    event: Event
    unit: Unit
    neighbours: Neighbours
    provenance: Provenance = field(repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Plain data about it, without the network."""
        return {
            "tacita": "made-images/1",
            "guarantee": self.guarantee,
            "statement": self.statement(),
            "shares": self.shares.tolist(),
            "event": self.event.as_dict(),
            "unit": self.unit.as_dict(),
            "neighbours": str(self.neighbours),
            "provenance": self.provenance.as_dict(),
        }

    def sample(self, count: int, rng: np.random.Generator) -> tuple[Pixels, NDArray[np.int64]]:
        """So many images, each made for the label beside it."""
        torch, side = load_torch(), self.recipe.side
        labels = rng.choice(self.recipe.labels, count, p=self.shares)
        pictures = np.empty((count, side, side), np.uint8)
        device = next(self.network.parameters()).device
        for start in range(0, count, _CHUNK):
            part = labels[start : start + _CHUNK]
            one_hot = np.eye(self.recipe.labels, dtype=np.float32)[part]
            inputs = np.concatenate([rng.standard_normal((len(part), self.recipe.latent), np.float32), one_hot], axis=1)
            with torch.no_grad():
                made = self.network(torch.from_numpy(inputs).to(device)).cpu().numpy()[:, 0]
            pictures[start : start + _CHUNK] = np.rint((made + 1) * 127.5)
        return pictures, labels


def maker_network(recipe: ImageGan, rng: np.random.Generator) -> Any:
    """From numbers and a label to an image between -1 and 1. Normalises over its own batches only."""
    nn, size, width = load_torch().nn, recipe.side // 4, recipe.channels
    return initialise(
        nn.Sequential(
            nn.Linear(recipe.latent + recipe.labels, 2 * width * size * size),
            nn.LeakyReLU(SLOPE),
            nn.Unflatten(1, (2 * width, size, size)),
            nn.ConvTranspose2d(2 * width, width, 4, 2, 1),
            nn.BatchNorm2d(width, affine=False),
            nn.LeakyReLU(SLOPE),
            nn.ConvTranspose2d(width, 1, 4, 2, 1),
            nn.Tanh(),
        ),
        rng,
    )


def critic_network(recipe: ImageGan, rng: np.random.Generator) -> Any:
    """From an image with a plane for each label to a height. No normalisation: it sees private images."""
    nn, size, width = load_torch().nn, recipe.side // 4, recipe.channels
    return initialise(
        nn.Sequential(
            nn.Conv2d(1 + recipe.labels, width, 5, 2, 2),
            nn.LeakyReLU(SLOPE),
            nn.Conv2d(width, 2 * width, 5, 2, 2),
            nn.LeakyReLU(SLOPE),
            nn.Flatten(),
            nn.Linear(2 * width * size * size, 1),
        ),
        rng,
    )


def _with_label(pictures: Any, one_hot: Any) -> Any:
    """Images with a plane for each label, of ones for their own."""
    planes = one_hot[:, :, None, None].expand(-1, -1, *pictures.shape[2:])
    return load_torch().cat([pictures, planes.to(pictures.device)], 1)


def _check(images: Pixels, labels: NDArray[np.integer[Any]], recipe: ImageGan) -> None:
    """Refuse what is not images with labels; says nothing about any of them."""
    if images.ndim != 3 or images.shape[1:] != (recipe.side, recipe.side) or images.dtype != np.uint8:
        rule = f"must be numbers from 0 to 255 (uint8), {recipe.side} by {recipe.side} for each image"
        raise DataError(rule, field="images", value=f"{images.dtype} {images.shape[1:]}")
    if labels.shape != images.shape[:1] or not np.issubdtype(labels.dtype, np.integer):
        raise DataError("must be one whole number for each image", field="labels")

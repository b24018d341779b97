"""A network classifier or regressor by DP-SGD: the loop of `nets` on rows. Needs the extra `nets` to train.

    rate = batch / people      steps = epochs / rate      noise: the least that the budget allows, at least 0.7 clips

Less noise than that hardly helps, and takes minutes to account for; so do epsilons below 0.01 and above 20.

Privacy:  so many sampled Gaussian steps: epsilon at a delta under add-remove, for rows. Other units, neighbours and
          budgets are refused.   Claim: docs/claims/dp-sgd.md
Utility:  noise in a step falls with the batch. Where people are few or features many, a line by moments does as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.errors import InvalidInput
from tacita.learn.feature_map import FeatureMap, Outside
from tacita.learn.neural.fitted_network import FittedNetwork, shape_of
from tacita.learn.neural.layers import Layers
from tacita.learn.neural.network_training import Progress, train_privately
from tacita.learn.regression.problem import check_people, gather
from tacita.models.neural.backend import check_installed
from tacita.models.neural.training import Steps
from tacita.noise import Source
from tacita.plans.recipe import CalibratedPlan, check_engine
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget, exact
from tacita.privacy.calibrate import narrowest
from tacita.privacy.event import Event
from tacita.privacy.unit import Neighbours, Unit
from tacita.tables.release import Provenance

__all__ = ["CalibratedNetwork", "NetworkTask", "NeuralNetwork"]

NetworkTask = Literal["classes", "linear"]
_PEOPLE = 10_000
_MOST_WIDE, _MOST_LAYERS, _MOST_EPOCHS = 4096, 8, 10_000
_MOST_WEIGHTS, _MOST_STEPS = 1 << 18, 1 << 16  # what one process trains: gradients are held row by row
_MOST_NOISE = 1 << 30  # numbers that all steps draw: about an hour
_EPSILONS = (0.01, 20.0)
_LEAST_NOISE = Fraction(7, 10)
_RANGES = {"clip": (1e-6, 1e6), "learning_rate": (1e-9, 1e4)}  # beyond them, steps are nothing or everything


@dataclass(frozen=True, kw_only=True)
class NeuralNetwork:
    """A network that predicts the class of a row, or a number.

    Args:
        target: Attribute to predict.
        features: Attributes to predict from.
        task: "classes" for levels, "linear" for a number with bounds.
        hidden: Width of each hidden layer; none makes a line.
        epochs: How often a row is seen, on average.
        batch: Rows in a step, on average.
        clip: The norm that a row's gradient is clipped to.
        learning_rate: Size of a step.
        outside: Rows beyond the bounds: "clip" or "leave-out".
        people: Approximate number of rows, where that is public, or 10,000: the rate is batch / people.
    """

    target: str
    features: tuple[str, ...]
    task: NetworkTask = "classes"
    hidden: tuple[int, ...] = (32,)
    epochs: int = 20
    batch: int = 1024
    clip: float = 1.0
    learning_rate: float = 1.0
    outside: Outside = "clip"
    people: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))
        object.__setattr__(self, "hidden", tuple(self.hidden))
        if self.task not in ("classes", "linear"):
            raise InvalidInput("must be classes or linear", field="task", value=self.task)
        if len(self.hidden) > _MOST_LAYERS or not all(_whole(width, _MOST_WIDE) for width in self.hidden):
            rule = f"must be at most {_MOST_LAYERS} whole numbers from 1 to {_MOST_WIDE}"
            raise InvalidInput(rule, field="hidden", value=list(self.hidden))
        for name, most in (("epochs", _MOST_EPOCHS), ("batch", 1 << 31)):
            value = getattr(self, name)
            if not _whole(value, most):
                raise InvalidInput(f"must be a whole number from 1 to {most}", field=name, value=value)
        check_people(self.people)
        for name, (least, largest) in _RANGES.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not (isinstance(value, int | float) and least <= value <= largest):
                raise InvalidInput(f"must lie between {least:g} and {largest:g}", field=name, value=value)
        if self.steps > _MOST_STEPS:
            raise InvalidInput(
                f"must make at most {_MOST_STEPS:,} steps",
                field="epochs",
                value=f"{self.steps:,}",
                hint="Take larger batches or fewer epochs",
            )

    @property
    def rate(self) -> float:
        """Chance of a row to be in a step."""
        return min(1.0, self.batch / (self.people or _PEOPLE))

    @property
    def steps(self) -> int:
        """Number of steps that read data."""
        return math.ceil(self.epochs / self.rate)

    def calibrate(self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours) -> CalibratedNetwork:
        """The least noise that the budget allows; reads no data."""
        domain.require_public()
        unit.check(domain)
        design = self.design(domain)
        self._check_size(design)
        check_installed()
        if unit.person is not None:
            raise InvalidInput("a network here protects rows", field="unit", value=str(unit), hint="Use trees or bayes")
        if neighbours is not Neighbours.ADD_REMOVE:
            raise InvalidInput(
                "a network protects under add-remove", field="neighbours", value=str(neighbours), hint="Use trees"
            )
        noise = _noise_of(budget, self.steps, self.rate)
        law = Steps(steps=self.steps, rate=self.rate, noise_multiplier=noise, clip=self.clip)
        return CalibratedNetwork(
            recipe=self, domain=domain, design=design, law=law, budget=budget, unit=unit, neighbours=neighbours
        )

    def _check_size(self, design: FeatureMap) -> None:
        given, outputs = shape_of(design)
        weights = sum((before + 1) * after for before, after in pairwise((given, *self.hidden, outputs)))
        if weights > _MOST_WEIGHTS:
            raise InvalidInput(f"may make {_MOST_WEIGHTS:,} weights at most", field="hidden", value=f"{weights:,}")
        if weights * self.steps > _MOST_NOISE:
            raise InvalidInput(
                f"may make {_MOST_NOISE // weights:,} steps at most, with {weights:,} weights",
                field="epochs",
                value=f"{self.steps:,}",
                hint="Take larger batches, fewer epochs or narrower layers",
            )

    def design(self, domain: Domain) -> FeatureMap:
        """Map from rows to columns."""
        return FeatureMap(
            domain=domain, features=self.features, target=self.target, task=self.task, outside=self.outside
        )

    def start(self, design: FeatureMap, rng: np.random.Generator) -> Layers:
        """The network before it has seen a row."""
        given, outputs = shape_of(design)
        return Layers.drawn((given, *self.hidden, outputs), rng)

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {"recipe": "network"} | plain | {"features": list(self.features), "hidden": list(self.hidden)}


def _whole(value: Any, most: int) -> bool:
    return type(value) is int and 1 <= value <= most


@lru_cache(maxsize=64)
def _noise_of(budget: Budget, steps: int, rate: float) -> float:
    """Least noise that the budget allows, to one part in a thousand; bounded so that planning takes seconds."""
    if budget.currency != "approx":
        raise InvalidInput("a network needs epsilon at a delta", field="budget", value=str(budget), hint="Give a delta")
    least, largest = _EPSILONS
    if not least <= budget.amount <= largest:
        raise InvalidInput(
            f"a network takes an epsilon from {least:g}, less is noise alone, to {largest:g}, which promises little",
            field="budget",
            value=str(budget),
        )

    def event(noise: Fraction) -> Event:
        return Steps(steps=steps, rate=rate, noise_multiplier=float(noise)).event

    if cost([(event(_LEAST_NOISE), 1)], budget, Neighbours.ADD_REMOVE) <= exact(budget.amount):
        return float(_LEAST_NOISE)
    return float(narrowest(event, budget, Neighbours.ADD_REMOVE, start=_LEAST_NOISE, within=1000))


@dataclass(frozen=True, kw_only=True)
class CalibratedNetwork(CalibratedPlan[FittedNetwork]):
    """A network with the noise of its steps fixed."""

    answer = FittedNetwork

    recipe: NeuralNetwork
    domain: Domain = field(repr=False)
    design: FeatureMap = field(repr=False)
    law: Steps
    budget: Budget
    unit: Unit
    neighbours: Neighbours
    progress: Progress | None = field(default=None, repr=False, compare=False)

    @property
    def event(self) -> Event:
        """Cost of a run to each row."""
        return self.law.event

    def watched(self, progress: Progress) -> CalibratedNetwork:
        """The same, which says after each step which share of them is made; what that raises ends the training."""
        return replace(self, progress=progress)

    def run(self, engine: Engine, source: Source) -> FittedNetwork:
        """Read once, make all steps."""
        check_engine(self, engine)
        points = gather(self.design.read(engine, self.unit), self.design.columns)
        recipe = self.recipe
        layers = train_privately(
            recipe.start(self.design, np.random.default_rng(source.words(4))),
            points,
            self.law,
            classes=recipe.task == "classes",
            learning_rate=recipe.learning_rate,
            expected=self.law.rate * (recipe.people or _PEOPLE),
            source=source,
            progress=self.progress,
        )
        return FittedNetwork(
            design=self.design,
            layers=layers,
            notes=self.law.as_dict(),
            event=self.event,
            unit=self.unit,
            neighbours=self.neighbours,
            provenance=Provenance(recipe=recipe.as_dict(), simulated=source.simulated),
        )

    def parts(self) -> dict[str, Any]:
        """Own parts of the plain data."""
        return {
            "noise": self.law.as_dict(),
        }

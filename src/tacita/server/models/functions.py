"""Functions that are served."""

from __future__ import annotations

from typing import Any

from pydantic import AwareDatetime, Field

from tacita.learn.functions.kinds import Calibration, Form, FunctionKind
from tacita.server.models.base import Name, Sent, Told
from tacita.server.models.budgets import BudgetModel

__all__ = [
    "FunctionInfo",
    "FunctionParameters",
    "FunctionPlanInfo",
    "FunctionRequest",
    "KernelModel",
    "PredictRequest",
    "PredictionsInfo",
]


class KernelModel(Sent):
    """The kernel of a function; a part of what is public about it."""

    name: str = Field(default="gaussian", description="gaussian, matern12, matern32 or matern52.")
    bandwidth: float = Field(default=0.1, description="How far it reaches, as a share of the public ranges.")


class FunctionRequest(Sent):
    """A function of the rows of a dataset, released once and asked for ever; paid for by the dataset's account."""

    dataset: Name
    name: Name = Field(description="What it is called; a name that is taken gets a new version.")
    kind: FunctionKind
    features: list[str] = Field(min_length=1, description="What it is a function of.")
    target: str | None = Field(default=None, description="The response, or the class.")
    budget: BudgetModel
    kernel: KernelModel = Field(default_factory=KernelModel)
    form: Form = Field(default="path", description="`features` has constant memory, and its parameters may be shown.")
    random: int = Field(default=256, ge=1, le=4096, description="Random frequencies, for the form `features`.")
    seed: int = Field(default=0, ge=0, description="Public seed of those.")
    calibration: Calibration = "analytic"
    noise: float = Field(default=0.1, description="For a Gaussian process: variance of noise over that of the signal.")
    c: float = Field(default=10.0, description="For a kernel machine: what all rows weigh against its norm.")
    people: int | None = Field(default=None, ge=1, description="About how many rows there are, where it is not public.")
    public_inputs: bool = Field(
        default=False, description="That the features are public; a steward must say so for a Gaussian process."
    )
    purpose: str = Field(default="release", min_length=1, max_length=200, description="What it is for.")


class FunctionPlanInfo(Told):
    """What a function would cost."""

    recipe: dict[str, Any]
    unit: str
    neighbours: str
    budget: dict[str, float]
    cost: float
    event: dict[str, Any]
    account_cost: float | None = Field(description="null when no budget would be enough.")
    account_remaining: float
    affordable: bool


class FunctionInfo(Told):
    """What is public about a function."""

    id: str
    name: str
    version: int
    dataset: str
    charge: str | None
    state: str
    about: dict[str, Any]
    sealed: bool = Field(description="Whether what it answers from is encrypted at rest.")
    points: int = Field(description="How many different points it has answered and remembers.")
    created: AwareDatetime


class PredictRequest(Sent):
    """A batch of points, each with a value for every feature, in order."""

    points: list[list[float | int | bool | str | None]] = Field(min_length=1, max_length=10_000)


class PredictionsInfo(Told):
    """Answers in the order of the points. The same point has the same answer for ever."""

    model: str
    values: list[float | list[float]] = Field(description="With classes, the scores of all functions of a point.")
    labels: list[str] | None = Field(description="The class of each point, where there are classes.")
    noise_std: float | None = Field(description="Standard deviation of the noise in each value.")


class FunctionParameters(Told):
    """The noisy numbers that a function answers from."""

    model: str
    about: dict[str, Any]
    parameters: dict[str, Any]

"""Functions and fitted models that are served."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AwareDatetime, Field, model_validator

from tacita.learn.functions.kinds import Calibration, Form, FunctionKind
from tacita.learn.kinds import ModelChoice, ModelKind
from tacita.wire.base import Name, RequestModel, ResponseModel
from tacita.wire.budgets import AccountQuote, BudgetModel

__all__ = [
    "BundleRequest",
    "FitRequest",
    "FunctionInfo",
    "FunctionParameters",
    "FunctionPlanInfo",
    "FunctionRequest",
    "KernelModel",
    "PredictRequest",
    "PredictionsInfo",
    "ReleaseFitInfo",
    "ReleaseFitRequest",
]


Value = float | int | bool | str | None


class KernelModel(RequestModel):
    """The kernel of a function; a part of what is public about it."""

    name: str = Field(default="gaussian", description="gaussian, matern12, matern32 or matern52.")
    bandwidth: float = Field(default=0.1, description="How far it reaches, as a share of the public ranges.")


class FunctionRequest(RequestModel):
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
    people: int | None = Field(
        default=None, ge=1, le=1 << 40, description="About how many rows there are, where it is not public."
    )
    public_inputs: bool = Field(
        default=False, description="That the features are public; a steward must say so for a Gaussian process."
    )
    accept_noise: bool = Field(
        default=False, description="Release it even if its noise is larger than what it is measured against."
    )
    purpose: str = Field(default="release", min_length=1, max_length=200, description="What it is for.")


class FitRequest(RequestModel):
    """A model of the rows of a dataset, released as parameters; paid for by the dataset's account.

    An option that the kind does not take is refused.
    """

    dataset: Name
    name: Name = Field(description="What it is called; a name that is taken gets a new version.")
    kind: ModelChoice = Field(default="auto", description="Kind of model; auto goes by the target.")
    target: str = Field(description="What to predict.")
    features: list[str] | None = Field(default=None, min_length=1, description="What from; all others by default.")
    budget: BudgetModel
    purpose: str = Field(default="learn", min_length=1, max_length=200, description="What it is for.")
    method: str | None = Field(default=None, description="How a line is fitted: auto, functional, sufficient, ...")
    penalty: float | None = Field(default=None, description="Size of the penalty of a line.")
    alpha: float | None = Field(default=None, description="1 is ridge, 0 is LASSO.")
    penalties: list[Annotated[list[float], Field(min_length=2, max_length=2)]] | None = Field(
        default=None, min_length=1, max_length=1000, description="Pairs of size and alpha: one is chosen privately."
    )
    share: float | None = Field(default=None, description="Of the rows, that choose among penalties.")
    narrow: float | None = Field(
        default=None, description="Share of the budget that first finds narrower bounds of numbers privately."
    )
    convexify: str | None = Field(default=None, description="How a noisy objective gets a minimum: floor, trim, ridge.")
    norm: float | None = Field(default=None, description="The longest that a row of features may be.")
    intercept: bool | None = Field(default=None, description="Whether a line has one.")
    outside: str | None = Field(default=None, description="Rows beyond the bounds: clip or leave-out.")
    people: int | None = Field(
        default=None, ge=1, le=1 << 40, description="About how many rows there are, where that is public."
    )
    inference: Literal["sample", "population"] | None = Field(
        default=None, description="Standard errors of a line: of the noise (sample), or with sampling (population)."
    )
    numbers: Literal["auto", "line", "bins"] | None = Field(
        default=None, description="Numbers among the features: one coefficient (line), or a score for each bin (bins)."
    )
    depth: int | None = Field(default=None, description="Of trees.")
    trees: int | None = Field(default=None, description="How many trees.")
    task: Literal["classes", "linear"] | None = Field(default=None, description="Of a network: levels, or a number.")
    hidden: list[int] | None = Field(default=None, max_length=8, description="Widths of a network's hidden layers.")
    epochs: int | None = Field(default=None, description="How often a network sees a row, on average.")
    batch: int | None = Field(default=None, description="Rows in a step of a network, on average.")
    clip: float | None = Field(default=None, description="The norm that gradients are clipped to.")
    learning_rate: float | None = Field(default=None, description="How far a step of a network goes.")

    def options(self) -> dict[str, Any]:
        """Return the options of the recipe that were given, by name."""
        return self.model_dump(exclude=_OF_THE_FIT, exclude_none=True)


_OF_THE_FIT = {"dataset", "name", "kind", "target", "features", "budget", "purpose"}


class ReleaseFitRequest(RequestModel):
    """A model of released data; costs nothing. An option that the kind does not take is refused."""

    kind: ModelKind
    target: str = Field(description="What to predict.")
    features: list[str] | None = Field(default=None, min_length=1, description="What from; all others by default.")
    options: dict[str, bool | int | float | str | list[float] | None] = Field(
        default={}, max_length=20, description="Other options of the kind, by name: `depth` of trees."
    )


class ReleaseFitInfo(ResponseModel):
    """A model of released data, whole."""

    statement: str
    model: dict[str, Any]


class BundleRequest(RequestModel):
    """A signed bundle to import."""

    bundle: dict[str, Any] = Field(description="What the export of a function or a model gave.")
    signed_by: list[str] | None = Field(
        default=None, min_length=1, description="Public keys that you trust; this installation's own by default."
    )
    older: bool = Field(default=False, description="That it may become the newest of its name, though made before it.")


class FunctionPlanInfo(AccountQuote):
    """Cost of a function or a model."""

    recipe: dict[str, Any]
    unit: str
    neighbours: str
    budget: dict[str, float]
    cost: float
    event: dict[str, Any]
    error: dict[str, Any] | None = Field(
        default=None, description="Noise of an answer beside what it is measured against, for a density or a process."
    )
    why: str | None = Field(default=None, description="Why this method, where one was picked.")
    kind: str | None = Field(default=None, description="Kind of a fitted model.")


class FunctionInfo(ResponseModel):
    """Public facts about a function or a fitted model."""

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


class PredictRequest(RequestModel):
    """A batch of points, each with a value for every feature in order; or of rows that name their values."""

    points: list[list[Value]] | None = Field(default=None, min_length=1, max_length=10_000)
    rows: list[dict[str, Value]] | None = Field(default=None, min_length=1, max_length=10_000)

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if (self.points is None) == (self.rows is None):
            raise ValueError("give either points or rows")
        return self


class PredictionsInfo(ResponseModel):
    """Answers in the order of the points. The same point has the same answer for ever; of a network, up to rounding."""

    model: str
    values: list[float | list[float]] = Field(
        description="With classes, the scores of all functions of a point; for a fitted model, the share of each class."
    )
    labels: list[str] | None = Field(description="The class of each point, where there are classes.")
    noise_std: float | None = Field(description="Standard deviation of the noise in each value.")
    warning: str | None = Field(default=None, description="That the noise is larger than what it is measured against.")


class FunctionParameters(ResponseModel):
    """The noisy numbers that a function answers from; the whole of a fitted model."""

    model: str
    about: dict[str, Any]
    parameters: dict[str, Any]

"""Assessments of the disclosure risk of releases, for stewards."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from tacita.wire.base import Name, RequestModel, ResponseModel

__all__ = [
    "AssessmentInfo",
    "AssessmentRequest",
    "AttackInfo",
    "AttackName",
    "ComparisonInfo",
    "ComparisonRequest",
    "DifferenceInfo",
    "RepeatedInfo",
    "VerdictInfo",
]

AttackName = Literal[
    "singling-out",
    "singling-out-univariate",
    "linkability",
    "inference",
    "copies",
    "membership-distance",
    "membership-density",
    "nearest",
    "scenario",
    "intersection",
    "membership-model",
    "reconstruction",
    "trajectories",
    "trajectory-copies",
    "trajectory-points",
    "membership-trajectory",
]
"""The names of `assess.attacks.registry`, which this room may not import; a test compares them."""


class AttackInfo(ResponseModel):
    """An attack that assessments run where it applies."""

    name: str = Field(description="As in `attacks` of an assessment.")
    title: str
    question: str = Field(description="The question that it answers.")
    needs: str = Field(description="Its needs beside the real rows.")


class AssessmentRequest(RequestModel):
    """Attack a release, with the rows that it was made from: released rows, a model, or tables."""

    release: str | None = Field(
        default=None, min_length=1, max_length=100, description="The id of released rows that are done."
    )
    dataset: Name | None = Field(default=None, description="The dataset; needed where no released rows are named.")
    model: str | None = Field(
        default=None, max_length=200, description="A fitted model of the dataset: its id, name or name@version."
    )
    tables: list[dict[str, Any]] = Field(
        default_factory=list,
        max_length=100,
        description="Answers with noise about the dataset, as `POST /v1/datasets/{name}/query` gave them.",
    )
    others: list[str] = Field(
        default_factory=list,
        max_length=20,
        description="Ids of further releases of the same dataset, which an attacker may join with it.",
    )
    control: Name | None = Field(
        default=None,
        description="A dataset of similar people who are not in the release. Without it, leaks look like guesses.",
    )
    attempts: int = Field(default=2000, ge=50, le=100_000, description="Trials of each attack.")
    secrets: list[str] | None = Field(default=None, description="Attributes that no one should infer.")
    target: str | None = Field(default=None, description="The attribute that classifiers learn to predict.")
    group: str | None = Field(default=None, description="Compare accuracy over its levels.")
    attacks: list[AttackName] | None = Field(
        default=None, description="Attacks to run, as `GET /v1/attacks` lists them; by default all that apply."
    )
    seed: int = Field(default=0, ge=0, description="The same seed gives the same figures.")


class ComparisonRequest(RequestModel):
    """Simulate several releases and assess them in the same way."""

    dataset: Name
    releases: list[dict[str, Any]] = Field(min_length=1, max_length=20, description="As in `tacita compare`.")
    control: float = Field(default=0.3, gt=0, lt=1, description="The share of rows that is held back.")
    sensitive: list[str] = Field(default_factory=list)
    quasi: list[str] = Field(default_factory=list)
    attributes: list[str] = Field(default_factory=list)
    target: str | None = None
    group: str | None = None
    attempts: int = Field(default=2000, ge=97, le=100_000, description="Guesses of each attack on each release.")
    attacks: list[AttackName] = Field(default_factory=list, description="Attacks to run; by default all that apply.")
    most_risk: float = Field(default=0.1, gt=0, le=1)
    most_trials: int = Field(
        default=24,
        ge=1,
        le=1000,
        description="The most trials, each with a new split and new noise; the figures decide how many are needed.",
    )
    indifference: float = Field(
        default=0.02, gt=0, lt=1, description="A difference of what is kept, or of risk, that does not matter."
    )
    seed: int = Field(default=0, ge=0)

    def plan(self) -> dict[str, Any]:
        """Return the request as the content of a plan file."""
        given = self.model_dump(exclude={"dataset"}, exclude_none=True)
        return given | {"data": self.dataset, "schema": self.dataset}


class RepeatedInfo(ResponseModel):
    """The trials of a comparison."""

    trials: int = Field(description="Trials that were made of at least one release.")
    most: int
    looks: list[int] = Field(description="Trials after which the figures were looked at, if it came to that.")
    level: float | None = Field(description="Confidence of all intervals together; null after one trial.")
    indifference: float
    enough: bool = Field(description="Whether more trials would not change the recommendation.")


class VerdictInfo(ResponseModel):
    """The best release by one figure."""

    figure: Literal["kept", "risk"]
    best: list[str] = Field(description="The best estimate first, then those that cannot be distinguished from it.")
    trials: int
    words: str


class DifferenceInfo(ResponseModel):
    """Excess of one release over another in a figure."""

    figure: Literal["kept", "risk"]
    one: str
    other: str
    value: float
    low: float
    high: float
    trials: int


class ComparisonInfo(ResponseModel):
    """Several releases compared. The figures come from exact rows, and all noise was simulated."""

    tacita: Literal["comparison/1"]
    dataset: str
    people: int
    control: int
    most_risk: float
    trials: str = Field(default="", description="The trials and guesses of the plan, and what they can show.")
    results: list[dict[str, Any]] = Field(
        description="Each with `kept` and `risk`: value, low, high and trials. `assessment` is that of the first trial."
    )
    references: list[dict[str, Any]]
    repeated: RepeatedInfo | None = Field(default=None, description="Null in comparisons from before.")
    verdicts: list[VerdictInfo] = Field(default=[], description="Which release is best by each figure.")
    differences: list[DifferenceInfo] = Field(
        default=[], description="Of each pair of releases, paired by trial; intervals hold together."
    )
    ranking: list[list[str]] = Field(default=[], description="By growing risk; releases in one group tie.")
    front: list[str]
    recommended: str | None
    reasons: list[str]


class AssessmentInfo(ResponseModel):
    """Risk and utility of a release. The figures come from exact rows, and are for the owner of the data."""

    tacita: Literal["assessment/1"]
    release: str | None = Field(description="Null where no released rows were attacked.")
    dataset: str
    rows: int
    people: int
    control: int
    risk: float
    shown: float | None = Field(
        default=None, description="Risk beyond chance: the largest lower end of an attack's interval."
    )
    interval: tuple[float, float] | None = Field(
        default=None, description="Of the risk, at 95 % for all attacks together; null in assessments from before."
    )
    worst: str
    headline: str = Field(default="", description="What the attacks found, in words that agree with `risks`.")
    risks: list[dict[str, Any]] = Field(
        default_factory=list, description="Every attack: its name, what it achieved beyond a guess, and the interval."
    )
    kept: float | None = Field(description="Null where no rows were released.")
    leaks: list[dict[str, Any]]
    membership: list[dict[str, Any]]
    nearness: dict[str, Any] | None
    disclosure: dict[str, Any] | None
    margins: dict[str, Any] | None
    associations: dict[str, Any] | None
    propensity: dict[str, Any] | None
    queries: dict[str, Any] | None
    learned: dict[str, Any] | None
    means: list[dict[str, Any]]
    regression: list[dict[str, Any]]
    structure: dict[str, Any] | None
    travel: dict[str, Any] | None = Field(default=None, description="Of tap records: distances of trips' statistics.")
    skipped: list[list[str]]
    further: list[dict[str, Any]] = Field(
        default_factory=list, description="Results of attacks that are neither leaks nor membership."
    )
    attacks: list[dict[str, Any]] = Field(
        default_factory=list, description="Every attack: its name, whether it ran, and the reason if it did not."
    )

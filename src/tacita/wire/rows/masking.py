"""Masked rows: requests with one member for each masking method, plans and facts."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from tacita.anonymize.masking.mask import Mask
from tacita.anonymize.masking.registry import step_parameters
from tacita.anonymize.masking.text import MOST_STEPS, read_plan, read_steps
from tacita.errors import InvalidInput
from tacita.wire.base import Name, RequestModel, ResponseModel
from tacita.wire.releases import with_members

__all__ = ["MaskedInfo", "MaskedPlan", "MaskedRequest"]

_STEPS = {each.name: each.help for each in step_parameters()}


@with_members(
    (name, list[str], Field(default=[], max_length=MOST_STEPS, description=help)) for name, help in _STEPS.items()
)
class MaskedRequest(RequestModel):
    """Masked rows. Steps are texts such as `income,age=5`, applied in the order of the members; or a plan."""

    dataset: Name
    weight: str | None = Field(
        default=None, description="Weight of rows: released unchanged; utility is shown weighted too."
    )
    keep: list[str] = Field(default=[], max_length=1000, description="Other attributes that are released unchanged.")
    plan: list[dict[str, Any]] | None = Field(
        default=None,
        max_length=MOST_STEPS,
        description="Steps in an order of their own, instead of the members: a method with its parameters each.",
    )
    purpose: str = Field(default="release", min_length=1, max_length=200, description="What the rows are for.")

    def recipe(self) -> Mask:
        """The recipe of this request."""
        steps = read_steps({name: getattr(self, name) for name in _STEPS})
        if self.plan is not None:
            if steps:
                raise InvalidInput("give steps as members or as a plan, not both", field="plan")
            steps = read_plan(self.plan)
        return Mask(steps=steps, weight=self.weight, keep=tuple(self.keep))


class MaskedPlan(ResponseModel):
    """Columns and steps of masked rows, before any data is read."""

    recipe: dict[str, Any]
    attributes: list[str]
    steps: list[str] = Field(description="Names of the methods, in order.")
    guarantee: Literal["none", "local"] = Field(
        description="`local` if all released attributes are post-randomised: local differential privacy for a row."
    )
    warnings: list[str] = Field(description="What the steps leave open.")


class MaskedInfo(ResponseModel):
    """Facts about masked rows: steps, utility, matrices of randomisation, guarantee."""

    tacita: Literal["masked/1"]
    guarantee: str
    statement: str
    epsilon: float | None = Field(description="Local privacy loss of a row, if all attributes are post-randomised.")
    rows: int
    columns: list[str]
    steps: list[dict[str, Any]] = Field(description="Parameters, figures and utility of each step; for the owner.")
    utility: list[dict[str, Any]] = Field(description="What all steps did to each attribute; for the owner.")
    correlation_change: float | None
    matrices: dict[str, Any] = Field(description="By attribute: levels, weights and estimated shares with errors.")
    weight: str | None
    recipe: dict[str, Any]
    warnings: list[str] = Field(description="What is left open; earlier releases that this one could be joined with.")
    provenance: dict[str, Any]

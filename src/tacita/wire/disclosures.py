"""Disclosure risk of microdata, for stewards."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from tacita.wire.base import Name, RequestModel, ResponseModel

__all__ = ["DisclosureInfo", "DisclosureRequest", "RiskMeasureInfo"]


class RiskMeasureInfo(ResponseModel):
    """A measure of disclosure risk."""

    name: str = Field(description="As in `measures` of a request.")
    title: str
    question: str = Field(description="The question that it answers.")
    needs: str = Field(description="Its needs beside the records.")


class DisclosureRequest(RequestModel):
    """Measure how well records of a dataset can be found by their quasi-identifiers."""

    dataset: Name
    qi: list[str] | None = Field(
        default=None, max_length=100, description="Quasi-identifiers; from the roles of the schema if null."
    )
    weight: str | None = Field(default=None, description="Attribute with sample weights.")
    household: str | None = Field(default=None, description="Attribute with the key of a household.")
    population: Name | None = Field(
        default=None, description="A dataset with the quasi-identifiers of everyone, these people included."
    )
    people: float | None = Field(default=None, gt=0, description="Size of the population, if there are no weights.")
    threshold: float = Field(default=0.2, ge=0, le=1, description="Risk above which a record counts as at risk.")
    size: int = Field(default=3, ge=1, le=10, description="Most attributes of a minimal sample unique.")
    fraction: float = Field(default=0.01, gt=0, lt=1, description="Sampling fraction for DIS scores, if not known.")
    measures: list[str] = Field(default_factory=list, max_length=50, description="Measures; all that apply if empty.")


class DisclosureInfo(ResponseModel):
    """Disclosure risk of a dataset. The figures come from exact rows, and are for the owner of the data."""

    tacita: Literal["microdata-risk/1"]
    guarantee: Literal["none"]
    dataset: str
    rows: int
    quasi: list[str]
    people: float | None
    threshold: float
    measures: list[dict[str, Any]] = Field(description="Each measure with its figures and notes.")
    skipped: list[dict[str, str]] = Field(description="Measures that do not apply, with the reason.")

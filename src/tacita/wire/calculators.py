"""Calculators: public numbers in, figures out."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from tacita.wire.base import ResponseModel

__all__ = ["CalculatorAnswer", "CalculatorInfo"]


class CalculatorInfo(ResponseModel):
    """A calculator of the server."""

    name: str
    title: str
    summary: str
    request: dict[str, Any] = Field(description="JSON schema of its request.")


class CalculatorAnswer(ResponseModel):
    """Figures that a calculator found."""

    class Fact(ResponseModel):
        """One figure in words."""

        label: str
        text: str

    class Grid(ResponseModel):
        """A table of figures."""

        title: str
        columns: dict[str, list[str | float | int | None]]
        curve: bool = Field(default=False, description="Whether the first column is a scale for the others.")

    values: dict[str, Any] = Field(description="Every figure by name.")
    facts: list[Fact]
    tables: list[Grid] = Field(default=[])
    notes: list[str] = Field(default=[])

"""One calculator: a request with public numbers -> figures, tables and notes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from tacita.wire import CalculatorAnswer
from tacita.wire.base import RequestModel

__all__ = ["Calculator", "Grid", "Result"]

R = TypeVar("R", bound=RequestModel)
Cell = str | float | int | None


@dataclass(frozen=True)
class Grid:
    """A table of figures.

    Attributes:
        title: What it shows.
        columns: Name and values of each column; all have the same length.
        curve: Whether the first column is a scale, so that the others can be drawn as curves over it.
    """

    title: str
    columns: Mapping[str, Sequence[Cell]]
    curve: bool = False


@dataclass(frozen=True, kw_only=True)
class Result:
    """Result of a calculator.

    Attributes:
        values: Every figure by name, for programs.
        facts: The figures that people look for: label and text.
        tables: Further figures.
        notes: Caveats to state with them.
    """

    values: Mapping[str, Any]
    facts: Sequence[tuple[str, str]]
    tables: Sequence[Grid] = ()
    notes: Sequence[str] = field(default_factory=tuple)

    def answer(self) -> CalculatorAnswer:
        """The same as a response of the REST interface."""
        return CalculatorAnswer(
            values=dict(self.values),
            facts=[CalculatorAnswer.Fact(label=label, text=text) for label, text in self.facts],
            tables=[
                CalculatorAnswer.Grid(
                    title=table.title,
                    columns={name: list(column) for name, column in table.columns.items()},
                    curve=table.curve,
                )
                for table in self.tables
            ],
            notes=list(self.notes),
        )


@dataclass(frozen=True, kw_only=True)
class Calculator(Generic[R]):
    """One calculator.

    Attributes:
        name: In paths, commands and clients: `/v1/calculators/NAME`, `tacita risk NAME`.
        title: Heading of its panel and of its figures.
        summary: What it computes, in one line, as an imperative sentence.
        example: Options of an example on the command line.
        request: Model of the request; its members are the options of the command and the fields of the form.
        compute: Compute the result; a function of a module, because it is pickled where `seconds` is long.
        seconds: Estimate how long that takes.
    """

    name: str
    title: str
    summary: str
    example: str
    request: type[R]
    compute: Callable[[R], Result]
    seconds: Callable[[R], float] = lambda _: 0.1

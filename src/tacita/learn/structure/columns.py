"""Rows as columns for structure learning: numbers, and codes of levels.

Privacy: these are the private rows themselves; nothing here may be released.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Binned, Domain, encode
from tacita.domain.line import points_of
from tacita.engines.base import Engine
from tacita.errors import InvalidInput
from tacita.models.continuous.moments import Array

__all__ = ["StructureColumns", "read_columns"]


@dataclass(frozen=True, kw_only=True, eq=False)
class StructureColumns:
    """Columns of complete rows. Exact: sensitive.

    Args:
        numbers: Columns of numbers.
        codes: Columns of codes.
        domain: Attributes of the codes; None where there are none.
        left_out: Rows that were left out, since a value was missing or out of domain.
    """

    numbers: Mapping[str, Array] = field(repr=False)
    codes: Mapping[str, NDArray[Any]] = field(default_factory=dict, repr=False)
    domain: Domain | None = field(default=None, repr=False)
    left_out: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """All columns: numbers, then codes."""
        return (*self.numbers, *self.codes)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(next(iter({**self.numbers, **self.codes}.values()), ()))

    @property
    def sizes(self) -> dict[str, int]:
        """Number of levels of each column of codes."""
        return {name: int(self._attribute(name).size) for name in self.codes}

    @property
    def levels(self) -> dict[str, tuple[str, ...]]:
        """Labels of each column of codes."""
        return {name: tuple(self._attribute(name).all_labels) for name in self.codes}

    def _attribute(self, name: str) -> Any:
        assert self.domain is not None
        return self.domain[name]


def read_columns(engine: Engine, names: Iterable[str] | None = None, *, binned: bool = False) -> StructureColumns:
    """Read all complete rows of some attributes.

    Numbers and dates are points of the number line within their bounds; everything else is codes. A missing value is a
    level where the schema has one; otherwise its row is left out.

    Args:
        engine: The data.
        names: Attributes; all that can be counted if None.
        binned: Whether to take numbers and dates as the codes of their bins.
    """
    domain = engine.domain
    chosen = domain.countable if names is None else domain.check_countable(names)
    if not chosen:
        raise InvalidInput("must be at least one", field="columns")
    numeric = [name for name in chosen if not binned and isinstance(domain[name], Binned)]
    coded = [name for name in chosen if name not in numeric]
    parts: dict[str, list[NDArray[Any]]] = {name: [np.zeros(0)] for name in (*numeric, *coded)}
    for batch in engine.rows(chosen):
        for name in numeric:
            parts[name].append(points_of(domain[name], batch.column(name), domain.nulls))  # type: ignore[arg-type]
        for name in coded:
            parts[name].append(encode(domain[name], batch.column(name), domain.nulls))
    whole = {name: np.concatenate(found) for name, found in parts.items()}
    complete = np.ones(len(next(iter(whole.values()))), bool)
    for name in numeric:
        complete &= ~np.isnan(whole[name])
    for name in coded:
        complete &= whole[name] != domain[name].out_of_domain
    return StructureColumns(
        numbers={name: whole[name][complete] for name in numeric},
        codes={name: whole[name][complete].astype(np.int64) for name in coded},
        domain=domain.project(coded) if coded else None,
        left_out=int((~complete).sum()),
    )

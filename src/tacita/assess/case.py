"""What is assessed: real rows, rows like them that were never used, and what was released; read once for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tacita.assess.frame import Frame, Hierarchy, read_frame
from tacita.domain import Domain
from tacita.errors import InvalidInput

__all__ = ["Case", "read_case"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """One release, or several of the same people, beside the people.

    Attributes:
        real: The people whose data was used.
        released: What left; one or more tables over the same attributes.
        control: People of the same population whose data was not used.
    """

    real: Frame
    released: tuple[Frame, ...]
    control: Frame | None = None

    def __post_init__(self) -> None:
        if not self.released or not len(self.real):
            raise InvalidInput("needs real rows and at least one release", field="case")
        for frame in (*self.released, *([self.control] if self.control is not None else [])):
            if frame.names != self.real.names:
                raise InvalidInput(
                    "must have the attributes of the real rows", field="released", value=", ".join(frame.names)
                )
            if not len(frame):
                raise InvalidInput("must have rows", field="released")

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes."""
        return self.real.names

    @property
    def domain(self) -> Domain:
        """What is public about them."""
        return self.real.domain

    @property
    def first(self) -> Frame:
        """The first release: what attacks on a single table look at."""
        return self.released[0]

    def only(self, names: Sequence[str]) -> Case:
        """The same over some attributes."""
        return Case(
            real=self.real.only(names),
            released=tuple(frame.only(names) for frame in self.released),
            control=None if self.control is None else self.control.only(names),
        )


def read_case(
    domain: Domain,
    *,
    real: pa.Table,
    released: Sequence[pa.Table],
    control: pa.Table | None = None,
    names: Sequence[str] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    rng: np.random.Generator | None = None,
) -> Case:
    """Read tables into a case, over the attributes that all of them have."""
    tables = [real, *released, *([control] if control is not None else [])]
    if names is None:
        names = [name for name in domain.countable if all(name in table.column_names for table in tables)]
        if not names:
            rule = "must share at least one attribute of the schema with the real rows"
            raise InvalidInput(rule, field="released", hint="Is it a release of another schema?")
    rng = rng or np.random.default_rng(0)

    def read(table: pa.Table) -> Frame:
        return read_frame(domain, table, names=names, hierarchies=hierarchies, rng=rng)

    return Case(
        real=read(real),
        released=tuple(read(table) for table in released),
        control=None if control is None else read(control),
    )

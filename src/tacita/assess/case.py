"""Input of an assessment: real rows, a control of unused rows like them, and the releases; read once for all measures.

A control that is the data itself makes every attack look harmless. So a control is refused if it is the same table, or
if nearly all of its rows equal real ones although few real rows equal each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.assess.disclosure import Belongs
from tacita.assess.frame import Frame, Hierarchy, read_frame
from tacita.assess.tracks import Route, Timed, Tracks, read_timed
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.synthesize.mobility.reading import Trips

if TYPE_CHECKING:
    from tacita.learn.models import Fitted
    from tacita.tables.release import Release

__all__ = ["Case", "Travel", "read_case"]

_COPIED, _TWINS = 0.9, 0.5
_LEAST = 10  # rows of a control; fewer may equal real ones by chance


@dataclass(frozen=True, kw_only=True, eq=False)
class Travel:
    """Trips of a release, of the people in the data, and of people who were not used."""

    released: Trips
    real: Trips
    control: Trips | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """One release, or several of the same people, with the people's rows.

    Attributes:
        real: The people whose data was used.
        released: Released rows: tables over the same attributes.
        control: People of the same population whose data was not used.
        belongs: For a scenario: the real row that each released row belongs to.
        population: For a scenario with unknown membership: the whole population, the people in the data first.
        models: Released models that were fitted on the people in the data.
        tables: Released tables of the people in the data.
        tracks: Trajectories, where rows are visits.
        travel: Trips, where rows are tap records.
    """

    real: Frame
    released: tuple[Frame, ...]
    control: Frame | None = None
    belongs: Belongs | None = None
    population: Frame | None = None
    models: tuple[Fitted, ...] = ()
    tables: tuple[Release, ...] = ()
    tracks: Tracks | None = None
    travel: Travel | None = None

    def __post_init__(self) -> None:
        if not (self.released or self.models or self.tables) or not len(self.real):
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
        """The public description of the attributes."""
        return self.real.domain

    @property
    def first(self) -> Frame:
        """The first release of rows: attacks on a single table use it. There is one where `released` has any."""
        return self.released[0]

    def only(self, names: Sequence[str]) -> Case:
        """Return the same case over some attributes."""
        return replace(
            self,
            real=self.real.only(names),
            released=tuple(frame.only(names) for frame in self.released),
            control=None if self.control is None else self.control.only(names),
            population=None if self.population is None else self.population.only(names),
        )


def read_case(
    domain: Domain,
    *,
    real: pa.Table,
    released: Sequence[pa.Table],
    control: pa.Table | None = None,
    models: Sequence[Fitted] = (),
    noisy: Sequence[Release] = (),
    route: Route | None = None,
    names: Sequence[str] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    rng: np.random.Generator | None = None,
) -> Case:
    """Read tables into a case, over the attributes that all of them have.

    Args:
        domain: The schema.
        real: The rows of the people in the data.
        released: Released rows.
        control: Rows of people who were not used.
        models: Released models.
        noisy: Released tables.
        route: Attributes that make rows a trajectory, which is then read from the first release; needs their person.
        names: The attributes, if not all that the tables share.
        hierarchies: For each attribute, the levels under each node that may occur in it.
        rng: For labels that allow several values.
    """
    tables = [real, *released, *([control] if control is not None else [])]
    if names is None:
        names = [name for name in domain.countable if all(name in table.column_names for table in tables)]
        if not names:
            rule = "must share at least one attribute of the schema with the real rows"
            raise InvalidInput(rule, field="released", hint="Is it a release of another schema?")
    rng = rng or np.random.default_rng(0)

    def read(table: pa.Table) -> Frame:
        return read_frame(domain, table, names=names, hierarchies=hierarchies, rng=rng)

    case = Case(
        real=read(real),
        released=tuple(read(table) for table in released),
        control=None if control is None else read(control),
        models=tuple(models),
        tables=tuple(noisy),
        tracks=None if route is None or not released else _tracks(domain, route, real, released[0], control),
    )
    if case.control is not None:
        _check_apart(case.real, case.control)
    return case


def _tracks(domain: Domain, route: Route, real: pa.Table, released: pa.Table, control: pa.Table | None) -> Tracks:
    ours, theirs = read_timed(domain, released, route), read_timed(domain, real, route)
    beside = (None, None) if control is None else read_timed(domain, control, route)
    return Tracks(
        released=ours[0],
        real=theirs[0],
        control=beside[0],
        timed=Timed(released=ours[1], real=theirs[1], control=beside[1]),
    )


def _check_apart(real: Frame, control: Frame) -> None:
    """Refuse a control that holds the people whose data was used."""
    ours, theirs = _keys(real), _keys(control)
    distinct, count = np.unique(ours, return_counts=True)
    same = len(distinct) > 1 and np.array_equal(ours, theirs)
    copied = float(np.isin(theirs, distinct).mean())
    twins = float(count[count > 1].sum() / len(ours))  # share of people who equal another by chance
    if same or (len(theirs) >= _LEAST and copied > _COPIED and twins < _TWINS):
        raise InvalidInput(
            "must be people whose data was not used; these are the real rows",
            field="control",
            value=f"{copied:.0%} of them equal a real row",
            hint="Hold some rows back before releasing",
        )


def _keys(frame: Frame) -> NDArray[np.uint64]:
    """Hash each row: equal rows get equal numbers, different rows different ones but for one chance in 2^64."""
    keys = np.zeros(len(frame), np.uint64)
    for column in np.nan_to_num(frame.values.T, nan=np.finfo(np.float64).max) + 0.0:  # no negative zero
        keys = (keys ^ column.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(29)
    return keys

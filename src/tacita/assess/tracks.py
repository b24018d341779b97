"""Trajectories of people, read from tables with one row for each visit.

    route    attributes of a visit: the person (an identifier), the time (ordered), the place
    track    the places of one person in the order of time, as codes of the schema

The person of a released row is a new key; it only joins rows of one trajectory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.assess.frame import read_frame
from tacita.domain import Date, Domain
from tacita.errors import InvalidInput

__all__ = ["Route", "Timed", "Track", "Tracks", "read_timed", "read_tracks", "route_of"]

Track = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Route:
    """Attributes that make rows a trajectory."""

    person: str
    time: str
    place: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Tracks:
    """Trajectories of a release, of the people in the data, and of people who were not used.

    Attributes:
        released, real, control: Places of each trajectory, in the order of time.
        timed: The same with the time of each visit; None if there are no times.
        points: Coordinates of each place, if they are public.
    """

    released: tuple[Track, ...]
    real: tuple[Track, ...]
    control: tuple[Track, ...] | None = None
    timed: Timed | None = None
    points: NDArray[np.float64] | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Timed:
    """Time of each visit, as codes of the schema, for the trajectories of `Tracks`."""

    released: tuple[Track, ...]
    real: tuple[Track, ...]
    control: tuple[Track, ...] | None = None


def route_of(domain: Domain, time: str | None = None, place: str | None = None) -> Route | None:
    """Return the route that a schema states; None if its rows are no visits.

    Args:
        domain: Names the person; its only date is the time, and its only other attribute the place.
        time: The ordered attribute of the time, if it is not the only date.
        place: The attribute of the place, if it is not the only other one.
    """
    given = time is not None or place is not None
    if domain.person is None:
        if given:
            raise InvalidInput("needs `person:` in the schema: whose visits make a trajectory", field="route")
        return None
    times = [time] if time is not None else [a.name for a in domain.attributes if isinstance(a, Date)]
    others = [name for name in domain.countable if name not in times]
    places = [place] if place is not None else others
    if len(times) != 1 or len(places) != 1:
        if given:
            raise InvalidInput("must state the time and the place of a visit", field="route")
        return None
    if times == places:
        raise InvalidInput("must state two attributes", field="route", value=times[0])
    chosen = domain.check_countable([times[0], places[0]])
    return Route(person=domain.person, time=chosen[0], place=chosen[1])


def read_tracks(domain: Domain, table: pa.Table, route: Route) -> tuple[Track, ...]:
    """Read the trajectories of a table; rows without a person or a time are left out."""
    return read_timed(domain, table, route)[0]


def read_timed(domain: Domain, table: pa.Table, route: Route) -> tuple[tuple[Track, ...], tuple[Track, ...]]:
    """Read the places and the times of the trajectories of a table."""
    if route.person not in table.column_names:
        raise InvalidInput("must have the column of the person", field="released", value=route.person)
    frame = read_frame(domain, table, names=[route.time, route.place])
    if not frame.ordered[0]:
        raise InvalidInput("must be ordered", field="route", value=route.time)
    persons = table[route.person].combine_chunks().dictionary_encode()
    persons = persons.combine_chunks() if isinstance(persons, pa.ChunkedArray) else persons
    owners = persons.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    times, places = frame.column(route.time), frame.codes[:, 1]
    order = np.lexsort((times, owners))
    order = order[(owners[order] >= 0) & ~np.isnan(times[order])]
    if not len(order):
        raise InvalidInput("must have visits with a person and a time", field="released")
    starts = np.flatnonzero(np.diff(owners[order])) + 1
    codes = frame.codes[:, 0]
    return tuple(np.split(places[order], starts)), tuple(np.split(codes[order], starts))

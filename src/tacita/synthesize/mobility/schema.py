"""Schema of tap records: one row for each trip of a card, in and out of a public transport network.

    card           the person's key: an identifier, and `person` of the schema
    entry_date     a date, by day           entry_time   minutes since midnight, 0 to 1439
    exit_date      the same at the end of the trip, missing where the card was not tapped
    origin         id of a place            destination  id of a place of the same list, or missing
    mode, payment, category                 of the trip; the category of the commuter

Only card, origin, destination, entry_date and entry_time are needed. Columns may have other names, and others may be
there: they are not read. `loading` brings raw records into this form.

Privacy: levels and bounds are public, as in every schema. Claim: docs/claims/mobility.md
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.domain import Categorical, Date, Domain, Identifier, Numeric
from tacita.errors import InvalidInput
from tacita.synthesize.mobility.places import Places

__all__ = ["DAY", "NEEDED", "TapColumns", "TapSchema", "tap_domain"]

DAY = 1440
"""Minutes of a day."""
NEEDED = ("origin", "destination", "entry_date", "entry_time")


@dataclass(frozen=True, kw_only=True)
class TapColumns:
    """Names of the columns of tap records; None for one that the data does not have."""

    origin: str = "origin"
    destination: str = "destination"
    entry_date: str = "entry_date"
    entry_time: str = "entry_time"
    exit_date: str | None = "exit_date"
    exit_time: str | None = "exit_time"
    mode: str | None = "mode"
    payment: str | None = "payment"
    category: str | None = "category"

    def as_dict(self) -> dict[str, str | None]:
        """Plain data."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


@dataclass(frozen=True, kw_only=True)
class TapSchema:
    """A domain whose rows are trips, the names of its columns, and the places."""

    domain: Domain = field(repr=False)
    columns: TapColumns
    places: Places = field(repr=False)

    @classmethod
    def of(
        cls, domain: Domain, *, places: Places | None = None, columns: Mapping[str, str | None] | None = None
    ) -> TapSchema:
        """Read a domain as a schema of tap records, or refuse it with what is missing.

        Args:
            domain: Public description of the rows.
            places: Public facts about the places; their ids are levels of the origin. Only the levels if not given.
            columns: Names that differ from the usual ones: `{"origin": "from_stop"}`.
        """
        given = dict(columns or {})
        known = {each.name for each in fields(TapColumns)}
        for name in given:
            if name not in known:
                raise InvalidInput(f"must be among {', '.join(sorted(known))}", field="columns", value=name)
        for name in known - set(NEEDED) - set(given):
            if name not in domain:
                given[name] = None
        found = TapColumns(**given)  # type: ignore[arg-type]
        _check(domain, found)
        levels = domain[found.origin].labels
        return cls(domain=domain, columns=found, places=_matched(places or Places(ids=levels), levels))

    @property
    def card(self) -> str:
        """The column of the card."""
        return self.domain.person or ""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns that are read, except the card."""
        return tuple(name for name in self.columns.as_dict().values() if name is not None)

    def column(self, role: str) -> str | None:
        """Return the name of a column by its role."""
        name: str | None = getattr(self.columns, role)
        return name

    def size(self, role: str) -> int:
        """Return the number of codes of a column; 1 if the data does not have it."""
        name = self.column(role)
        return 1 if name is None else self.domain[name].size

    @cached_property
    def first_day(self) -> dt.date:
        """The first date."""
        return self._dates.bounds[0]

    @cached_property
    def days(self) -> int:
        """Number of dates."""
        return len(self._dates.labels)

    @property
    def _dates(self) -> Date:
        found = self.domain[self.columns.entry_date]
        assert isinstance(found, Date)
        return found

    @cached_property
    def weekdays(self) -> NDArray[np.int64]:
        """Day of the week of each date, from Monday (0) to Sunday (6)."""
        return np.asarray((self.first_day.weekday() + np.arange(self.days)) % 7, np.int64)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "domain": self.domain.as_dict(),
            "columns": self.columns.as_dict(),
            "places": self.places.as_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TapSchema:
        """The schema that `as_dict` wrote."""
        return cls.of(
            Domain.from_dict(data["domain"]), places=Places.from_dict(data["places"]), columns=data["columns"]
        )


def _check(domain: Domain, columns: TapColumns) -> None:
    if domain.person is None:
        hint = "Name the column of the card in the schema: `person: card`"
        raise InvalidInput("tap records need a card: whose trips they are", field="person", hint=hint)
    named = [name for name in columns.as_dict().values() if name is not None]
    twice = next((name for name in named if named.count(name) > 1 or name == domain.person), None)
    if twice is not None:
        raise InvalidInput("must be a column of its own for each role", field="columns", value=twice)
    for role, name in columns.as_dict().items():
        if name is None:
            if role in NEEDED:
                raise InvalidInput("is needed", field=f"columns.{role}")
            continue
        attribute = domain[name]
        if role.endswith("_date") and not (isinstance(attribute, Date) and attribute.by == "day"):
            raise InvalidInput("must be of kind date, by day", field=name, value=attribute.kind)
        if role.endswith("_time") and not (
            isinstance(attribute, Numeric) and attribute.integer and attribute.bounds == (0, DAY - 1)
        ):
            hint = "`tacita mobility prepare` writes raw times in this form"
            raise InvalidInput(
                "must be whole minutes since midnight, with the bounds 0 and 1439", field=name, hint=hint
            )
        if role in ("origin", "destination", "mode", "payment", "category") and attribute.kind not in (
            "categorical",
            "ordinal",
        ):
            raise InvalidInput("must have levels: kind categorical", field=name, value=attribute.kind)
    if domain[columns.origin].labels != domain[columns.destination].labels:
        raise InvalidInput("must have the same levels as the origin", field=columns.destination)


def _matched(places: Places, levels: Sequence[str]) -> Places:
    """The places in the order of the levels."""
    if places.ids == tuple(levels):
        return places
    place_of = {each: place for place, each in enumerate(places.ids)}
    missing = [level for level in levels if level not in place_of]
    if missing:
        rule = "must have a row for each level of the origin in the schema"
        raise InvalidInput(rule, field="places", value=f"{len(missing)} are missing, such as {missing[0]}")
    order = [place_of[level] for level in levels]
    plain = {name: [values[place] for place in order] for name, values in places.as_dict().items()}
    return Places.from_dict(plain)


def tap_domain(
    places: Sequence[str],
    *,
    first: dt.date,
    last: dt.date,
    modes: Sequence[str] = (),
    categories: Sequence[str] = (),
    payments: Sequence[str] = (),
    step: int = 1,
    title: str = "tap records",
) -> Domain:
    """Return the schema of tap records over these places, dates and levels.

    Args:
        places: Their ids.
        first, last: The dates that are covered; later ones count as the last.
        modes, categories, payments: Levels; a column without levels is left out.
        step: Minutes of a bin of the times of day; it must divide an hour.
        title: Of the schema.
    """
    check.whole(step, "step", least=1, most=60)
    if 60 % step:
        raise InvalidInput("must divide an hour", field="step", value=step)
    edges = None if step == 1 else (*range(0, DAY, step), DAY - 1)
    after = last + dt.timedelta(days=1)
    attributes: list[Any] = [
        Identifier(name="card"),
        Date(name="entry_date", bounds=(first, last), by="day"),
        Numeric(name="entry_time", bounds=(0, DAY - 1), edges=edges, integer=True),
        Date(name="exit_date", bounds=(first, after), by="day", missing=True),
        Numeric(name="exit_time", bounds=(0, DAY - 1), edges=edges, integer=True, missing=True),
        Categorical(name="origin", levels=tuple(places), role="quasi-identifier"),
        Categorical(name="destination", levels=tuple(places), missing=True, role="quasi-identifier"),
    ]
    for name, levels in (("mode", modes), ("payment", payments), ("category", categories)):
        if levels:
            attributes.append(Categorical(name=name, levels=tuple(levels), other=True, missing=True))
    return Domain(title=title, person="card", attributes=tuple(attributes))

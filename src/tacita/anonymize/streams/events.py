"""Release the rows of a log that are z-anonymous: enough people have just shown the same values.

    recipe = AnonymizeEvents(time="minute", values=("page",), z=20, window=60)
    result = recipe.prepare(domain).run(engine)                   # rows of the whole log: time and values
    stream = recipe.prepare(domain).stream(); stream.push(rows)   # rows that keep arriving, in the order of time

A row says that a person showed some values at a time. It is released exactly when at least z people, its own among
them, showed the same values within the window that ends at its time (`tacita.anonymize.streams.stream`). Values are
compared and released as levels and bins of the schema, times within its bounds. The person's key is never released.
Rows without a person or a time, rows with an out-of-domain value, and rows that come late in a stream are suppressed.
docs/claims/z-anonymity.md says what is promised.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.anonymize.quasi import joined
from tacita.anonymize.streams.stream import ZAnonymity
from tacita.anonymize.streams.times import check_time, time_column, whole_times
from tacita.domain import Domain
from tacita.domain.encode import encode
from tacita.engines.base import Engine
from tacita.engines.local.bound import key_texts
from tacita.errors import InvalidInput

__all__ = ["AnonymizeEvents", "AnonymizedEvents", "EventStream", "EventsPlan"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class AnonymizeEvents:
    """Recipe of a z-anonymous log.

    Attributes:
        time: Attribute with the time of a row: a whole number or a date. It is released, within its bounds.
        values: Attributes that a person shows; all of them together are one value.
        z: Least people who showed the same values.
        window: How long a showing counts, in the unit of the time; days for a date.
    """

    time: str
    values: tuple[str, ...]
    z: int
    window: int

    def __post_init__(self) -> None:
        if not self.values or isinstance(self.values, str):
            raise InvalidInput("must name at least one attribute", field="values", value=self.values)
        ZAnonymity(z=self.z, window=self.window)  # checks both

    def prepare(self, domain: Domain) -> EventsPlan:
        """Check the columns; reads no data."""
        if domain.person is None:
            raise InvalidInput("needs a person's key in the schema, to count people", field="person")
        listed = (self.time, *self.values)
        twice = next((name for name in listed if listed.count(name) > 1), None)
        if twice is not None:
            raise InvalidInput("is named twice", field=twice)
        if domain.person in listed:
            raise InvalidInput("the person's key is never released", field=domain.person)
        check_time(domain, self.time)
        for name in self.values:
            if not domain[name].countable or domain[name].role == "identifier":
                raise InvalidInput("an identifier is never released", field=name)
        return EventsPlan(recipe=self, domain=domain)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"events": {"z": self.z, "window": self.window}, "time": self.time, "values": list(self.values)}


@dataclass(frozen=True, kw_only=True)
class EventsPlan:
    """A recipe for one domain: the columns to read and the columns to release."""

    recipe: AnonymizeEvents
    domain: Domain

    @property
    def leaving(self) -> tuple[str, ...]:
        """The columns of the result."""
        return (self.recipe.time, *self.recipe.values)

    @property
    def reading(self) -> tuple[str, ...]:
        """The columns that are read."""
        assert self.domain.person is not None
        return (*self.leaving, self.domain.person)

    def stream(self) -> EventStream:
        """Begin a stream; its rows must come in the order of time."""
        return EventStream(plan=self)

    def run(self, engine: Engine) -> AnonymizedEvents:
        """Read the whole log and release what holds, in the order of time and values."""
        if engine.domain.fingerprint != self.domain.fingerprint:
            raise InvalidInput("the engine's schema is not the one of the plan", field="engine")
        rows = joined(engine.rows(self.reading), self.reading)
        times, _ = whole_times(self.domain, self.recipe.time, rows)
        stream = self.stream()
        released = stream.push(rows.take(pa.array(np.argsort(times, kind="stable"))))
        order = [(name, "ascending") for name in self.leaving]
        return AnonymizedEvents(
            rows=released.sort_by(order), read=rows.num_rows, unusable=stream.unusable, recipe=self.recipe.as_dict()
        )


@dataclass
class EventStream:
    """Rows that keep arriving. Nothing is written anywhere; a new stream has seen no one.

    Attributes:
        unusable: Rows so far without a person, a time or values of the schema, or earlier than one before them; they
            are suppressed and count no one.
    """

    plan: EventsPlan
    unusable: int = 0
    _window: ZAnonymity = field(init=False, repr=False)
    _latest: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._window = ZAnonymity(z=self.plan.recipe.z, window=self.plan.recipe.window, late="suppress")
        self._latest = -(2**62)

    def push(self, rows: pa.Table) -> pa.Table:
        """Take rows in, and return those that may be released, in the same order."""
        domain, recipe = self.plan.domain, self.plan.recipe
        assert domain.person is not None
        times, known = whole_times(domain, recipe.time, rows)
        persons = key_texts(rows.column(domain.person), domain.nulls, domain.person)
        codes = [encode(domain[name], rows.column(name), domain.nulls) for name in recipe.values]
        fits = [each < domain[name].size for name, each in zip(recipe.values, codes, strict=True)]
        good = np.logical_and.reduce([known, np.asarray(persons.is_valid()), *fits])
        who = persons.filter(pa.array(good)).dictionary_decode().to_pylist()
        shown = list(zip(*(each[good].tolist() for each in codes), strict=True))
        through = self._window.push_many(times[good], who, shown)
        before = np.maximum.accumulate(np.concatenate([[self._latest], times[good]]))
        self.unusable += int((~good).sum()) + int((times[good] < before[:-1]).sum())
        self._latest = int(before[-1])
        kept = np.flatnonzero(good)[through]
        labels = {name: _labels(domain, name)[each[kept]] for name, each in zip(recipe.values, codes, strict=True)}
        time = time_column(domain, recipe.time, times[kept])
        return pa.table({recipe.time: time} | {name: pa.array(texts, pa.string()) for name, texts in labels.items()})


@dataclass(frozen=True, kw_only=True, eq=False)
class AnonymizedEvents:
    """Released rows of a log.

    Attributes:
        rows: Times and values, sorted by both.
        read: Rows of the log.
        unusable: Rows without a person, a time or values of the schema.
        recipe: The recipe, as plain data.
    """

    rows: pa.Table
    read: int
    unusable: int
    recipe: dict[str, Any]

    @property
    def guarantee(self) -> str:
        """In the sense of differential privacy: none."""
        return "none"

    def as_dict(self) -> dict[str, Any]:
        """All but the rows, as plain data."""
        return {
            "tacita": "events/1",
            "guarantee": self.guarantee,
            "rows": self.rows.num_rows,
            "columns": self.rows.column_names,
            "suppressed": 1 - self.rows.num_rows / self.read if self.read else 0.0,
            "recipe": self.recipe,
        }


def _labels(domain: Domain, name: str) -> NDArray[np.object_]:
    """Texts of the codes of an attribute, its buckets included."""
    return np.array([*domain[name].all_labels], object)

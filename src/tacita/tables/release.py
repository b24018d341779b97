"""Releases: an estimate with its uncertainty, its cost, its privacy unit and its provenance.

Of the classes here only `Release` has a wire format. It cannot be made from a `Table`.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import platform
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacita.domain import Domain
from tacita.errors import InvalidInput, UnknownName
from tacita.figures.bars import estimate_bars
from tacita.privacy.event import Event, NonPrivate, event_from_dict
from tacita.privacy.unit import Neighbours, Unit
from tacita.tables.cells import Cells
from tacita.tables.table import Table
from tacita.tables.tabular import Tabular, intervals_of
from tacita.tables.uncertainty import Uncertainty, uncertainty_from_dict

__all__ = ["Provenance", "Release", "Releases", "facts_of", "new_run"]

Array = npt.NDArray[np.float64]


@cache
def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in ("tacita", "numpy", "opendp", "dp-accounting", "cryptography"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Origin of a release: enough to make another like it and to distinguish it from a simulation.

    Attributes:
        created: When; now, unless it is given.
        run: Identifier of the run that made it. It distinguishes two runs; results of one run are not paid twice. It is
            drawn when `created` is not given, so releases written before there were runs have none when they are read.
            A seed does not repeat it: it comes from the system's randomness, not from the data or the noise.
    """

    recipe: Mapping[str, Any]
    simulated: bool
    dataset: str | None = None
    charge: str | None = None
    created: str = ""
    versions: Mapping[str, str] = field(default_factory=lambda: dict(_versions()))
    run: str | None = None

    def __post_init__(self) -> None:
        if self.created:
            return
        object.__setattr__(self, "created", dt.datetime.now(dt.UTC).isoformat(timespec="seconds"))
        if self.run is None:
            object.__setattr__(self, "run", new_run())

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        names = ("recipe", "simulated", "dataset", "charge", "created", "versions")
        return {name: getattr(self, name) for name in names} | ({} if self.run is None else {"run": self.run})


def new_run() -> str:
    """Draw the identifier of a new run: 64 bits that no one can guess."""
    return f"run_{secrets.token_hex(8)}"


def _cost(event: Event, neighbours: Neighbours) -> str:
    """Return epsilon where it is pure, else rho, else the event itself."""
    from tacita.privacy.accountant import pure_epsilon, zcdp_rho  # loads an accountant, which few results need

    if isinstance(event, NonPrivate):
        return ""
    for name, compute in (("epsilon", pure_epsilon), ("rho", zcdp_rho)):
        try:
            cost = float(compute(event, neighbours))
        except InvalidInput:  # it has none in this currency
            continue
        if math.isfinite(cost):
            return f"{name} {cost:.6g}"
    return json.dumps(event.as_dict())


def facts_of(found: Any) -> dict[str, str]:
    """Return unit, cost and provenance of anything that was paid for, in words."""
    made = found.provenance
    facts = {
        "protected": f"a {found.unit} under {found.neighbours}",
        "cost": _cost(found.event, found.neighbours),
        "recipe": json.dumps(dict(made.recipe), ensure_ascii=False, default=str),
        "dataset": made.dataset or "",
        "charge": made.charge or "",
        "created": str(made.created),
        "versions": json.dumps(dict(made.versions)),
    }
    if made.simulated:
        facts["note"] = "Simulated: NOT private, its noise can be repeated."
    return {name: text for name, text in facts.items() if text}


@dataclass(frozen=True, kw_only=True, eq=False)
class Release(Tabular):
    """Released numbers over some attributes. It has `project`, so that every later step can use it.

    Attributes:
        estimate: The numbers; unbiased unless the recipe says otherwise, so cells may be negative.
        quantity: Whether they are counts of units' rows or shares of a whole.
        uncertainty: How far they may lie from the truth.
        event: The cost to each unit.
        unit, neighbours: Who is protected and against what change.
        trust: "central" when a curator held the data, "local" when no one did.
        provenance: Recipe, versions, time, charge; `simulated` when the noise could be repeated.
    """

    estimate: Cells
    quantity: Literal["count", "share"]
    uncertainty: Uncertainty
    event: Event
    unit: Unit
    neighbours: Neighbours
    trust: Literal["central", "local"]
    provenance: Provenance

    def __post_init__(self) -> None:
        if isinstance(self.estimate, Table):
            raise InvalidInput("exact counts cannot be released as they are", field="estimate")

    # -- Projectable ----------------------------------------------------------------------------------------------

    @property
    def domain(self) -> Domain:
        """The attributes."""
        return self.estimate.domain

    @property
    def attributes(self) -> tuple[str, ...]:
        """Names of the axes, in order."""
        return self.estimate.attributes

    @property
    def values(self) -> npt.NDArray[Any]:
        """The numbers, with one axis for each attribute."""
        return self.estimate.values

    def supports(self, attributes: Iterable[str]) -> bool:
        """Whether all these attributes are here."""
        return self.estimate.supports(attributes)

    def project(self, attributes: Iterable[str]) -> Release:
        """Sum out all but these attributes; no cost, because it uses only the release."""
        names = tuple(attributes)
        found = self if set(names) == set(self.attributes) else self.derived()
        return replace(
            found,
            estimate=self.estimate.project(names),
            uncertainty=self.uncertainty.project(self.domain, names),
        )

    def derived(self) -> Release:
        """The same release without what holds for its cells as they were counted: how far one sender moves them."""
        recipe = dict(self.provenance.recipe)
        if "influence" not in recipe:
            return self
        unknown = dict.fromkeys(recipe["influence"]) | {"participation": recipe["influence"]["participation"]}
        return replace(self, provenance=replace(self.provenance, recipe=recipe | {"influence": unknown}))

    # -- error ----------------------------------------------------------------------------------------------------

    def std(self) -> Array:
        """Standard error of each cell."""
        return self.uncertainty.std(self.estimate)

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Lower and upper end for each cell; each interval holds its level by itself."""
        return self.uncertainty.interval(self.estimate, level)

    @property
    def guarantee(self) -> str:
        """Kind of the event's guarantee, in one word."""
        return "none" if isinstance(self.event, NonPrivate) else self.trust

    # -- leaving --------------------------------------------------------------------------------------------------

    def with_charge(self, charge: str, dataset: str | None) -> Release:
        """The same release, naming the ledger's charge that paid for it."""
        return replace(self, provenance=replace(self.provenance, charge=charge, dataset=dataset))

    def as_dict(self) -> dict[str, Any]:
        """Plain data: what the server sends and the client reads."""
        return {
            "tacita": "release/1",
            "domain": self.domain.as_dict() if len(self.domain) else {"tacita": 1, "attributes": []},
            "quantity": self.quantity,
            "estimate": self.values.reshape(-1).tolist(),
            "uncertainty": self.uncertainty.as_dict(),
            "guarantee": self.guarantee,
            "trust": self.trust,
            "event": self.event.as_dict(),
            "unit": self.unit.as_dict(),
            "neighbours": str(self.neighbours),
            "provenance": self.provenance.as_dict(),
        }

    def to_json(self) -> str:
        """The release as JSON text."""
        return json.dumps(self.as_dict(), ensure_ascii=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Release:
        """The release that `as_dict` wrote."""
        if data.get("tacita") != "release/1":
            raise InvalidInput("must be `release/1`", field="tacita", value=data.get("tacita"))
        empty = not data["domain"]["attributes"]
        domain = Domain.model_construct(attributes=()) if empty else Domain.from_dict(data["domain"])
        estimate = np.array(data["estimate"]).reshape(domain.shape)
        return cls(
            estimate=Cells(domain, estimate),
            quantity=data["quantity"],
            uncertainty=uncertainty_from_dict(data["uncertainty"]),
            event=event_from_dict(data["event"]),
            unit=Unit.from_dict(data["unit"]),
            neighbours=Neighbours(data["neighbours"]),
            trust=data["trust"],
            provenance=Provenance(**data["provenance"]),
        )

    @classmethod
    def from_json(cls, text: str) -> Release:
        """The release that `to_json` wrote."""
        return cls.from_dict(json.loads(text))

    def to_arrow(self, level: float = 0.95) -> pa.Table:
        """One row for each cell: its labels, the estimate, its standard error and interval."""
        low, high = self.interval(level)
        grids = np.indices(self.estimate.shape).reshape(len(self.attributes), self.values.size)
        columns = {
            name: pa.array(self.domain[name].all_labels).take(pa.array(codes))
            for name, codes in zip(self.attributes, grids, strict=True)
        }
        numbers = {"estimate": self.values, "std": self.std(), "low": low, "high": high}
        columns |= {name: pa.array(np.asarray(array, float).reshape(-1)) for name, array in numbers.items()}
        meta = {"tacita": json.dumps(self.as_dict() | {"estimate": None, "level": level})}
        return pa.table(columns).replace_schema_metadata(meta)

    def facts(self) -> dict[str, str]:
        """Return the guarantee and the origin, in words."""
        return {"guarantee": self.guarantee} | facts_of(self)

    def chart(self) -> str:
        """Draw a bar with its interval for each cell."""
        title = " by ".join(self.attributes) or "total"
        return estimate_bars(intervals_of(self), share=self.quantity == "share", title=title)


MOST_APART = 1000
"""Tables of a run that are written each with its whole provenance; of more, what they share is written once."""
_SHARED = ("tacita", "quantity", "guarantee", "trust", "event", "unit", "neighbours", "provenance")


class Releases(Mapping[tuple[str, ...], Release], Tabular):
    """Releases that were made together, by their attributes. `project` uses the most accurate one that has them."""

    def __init__(self, releases: Iterable[Release]) -> None:
        self._releases = {release.attributes: release for release in releases}
        if not self._releases:
            raise InvalidInput("must hold at least one release", field="releases")

    def __getitem__(self, key: Iterable[str]) -> Release:
        wanted = tuple(key)
        if wanted not in self._releases:
            available = [" x ".join(known) for known in self._releases]
            raise UnknownName(" x ".join(wanted), field="release", available=available)
        return self._releases[wanted]

    def __contains__(self, key: object) -> bool:
        return key in self._releases

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(self._releases)

    def __len__(self) -> int:
        return len(self._releases)

    @property
    def domain(self) -> Domain:
        """All attributes that occur."""
        domains = [release.domain for release in self.values() if len(release.domain)]
        whole = domains[0]
        for domain in domains[1:]:
            whole = whole.merge(domain)
        return whole

    @property
    def provenance(self) -> Provenance:
        """Origin of the first table; tables of one run share it."""
        return next(iter(self.values())).provenance

    def supports(self, attributes: Iterable[str]) -> bool:
        """Whether some release holds all of these."""
        wanted = tuple(attributes)
        return any(release.supports(wanted) for release in self.values())

    def project(self, attributes: Iterable[str]) -> Release:
        """The release over these attributes with the smallest error."""
        wanted = tuple(attributes)
        fitting = [release.project(wanted) for release in self.values() if release.supports(wanted)]
        if not fitting:
            raise UnknownName(" x ".join(wanted), field="release", available=[" x ".join(key) for key in self])
        return min(fitting, key=lambda release: float(np.mean(release.std())))

    def to_arrow(self) -> pa.Table:
        """Return all tables as one: `table` names them, and attributes that one lacks are empty there."""
        parts = [each.to_arrow() for each in self.values()]
        if len(parts) == 1:
            return parts[0]
        names = [" x ".join(each.attributes) or "total" for each in self.values()]
        attributes = dict.fromkeys(name for each in self.values() for name in each.attributes)
        labelled = [
            part.add_column(0, "table", pa.array([name] * part.num_rows)).replace_schema_metadata(None)
            for part, name in zip(parts, names, strict=True)
        ]
        together = pa.concat_tables(labelled, promote_options="default")
        return together.select(["table", *attributes, "estimate", "std", "low", "high"])

    def facts(self) -> dict[str, str]:
        """Return the guarantee and the origin, in words; tables of one run share them."""
        return next(iter(self.values())).facts()

    def chart(self) -> str:
        """Draw the first table."""
        return next(iter(self.values())).chart()

    def as_dict(self) -> dict[str, Any]:
        """Plain data. Of many tables, what they have in common is there once, under `shared`."""
        if len(self) <= MOST_APART:
            return {"tacita": "releases/1", "releases": [release.as_dict() for release in self.values()]}
        plain = (release.as_dict() for release in self.values())
        first = next(plain)
        shared = {name: first.pop(name) for name in _SHARED}
        parts = [first]
        for part in plain:
            parts.append({name: value for name, value in part.items() if shared.get(name) != value})
        return {"tacita": "releases/1", "shared": shared, "releases": parts}

    def to_json(self) -> str:
        """All releases as JSON text."""
        return json.dumps(self.as_dict(), ensure_ascii=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Releases:
        """The releases that `as_dict` wrote."""
        if data.get("tacita") != "releases/1":
            raise InvalidInput("must be `releases/1`", field="tacita", value=data.get("tacita"))
        shared = data.get("shared", {})
        return cls(Release.from_dict(shared | part) for part in data["releases"])

    @classmethod
    def from_json(cls, text: str) -> Releases:
        """The releases that `to_json` wrote."""
        return cls.from_dict(json.loads(text))

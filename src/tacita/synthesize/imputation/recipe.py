"""Fully and partially synthetic rows by multiple imputation: treat what is to be hidden as missing, and fill it in
m times from a model of the rest.   [Rubin 1993; Reiter 2003, 2005]

    partial   masked cells of the rows are drawn anew, all else stays                   `replace`
    all       every attribute of synthetic rows is drawn, one given those before it      `replace` gives the order
    frame     people outside the sample, of whom a frame has some attributes, get the rest drawn; a simple random
              sample of them is a release

Privacy:  none; see `result`.   Claim: docs/claims/imputation.md
Utility:  estimates from m releases have right intervals where the model is right: see `combining`.
Cost:     all rows are held; m fits for each attribute.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita import check
from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.errors import InvalidInput
from tacita.noise import Source
from tacita.plans.recipe import check_engine
from tacita.privacy.budget import Budget
from tacita.privacy.event import NonPrivate
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.imputation.backend import Backend
from tacita.synthesize.imputation.columns import Column, Columns, check_columns, read_columns, rows_of
from tacita.synthesize.imputation.linear import Linear
from tacita.synthesize.imputation.masks import Replace
from tacita.synthesize.imputation.network import NeuralNetwork
from tacita.synthesize.imputation.result import Imputed
from tacita.synthesize.imputation.sequence import Models, make_rows, replace_cells
from tacita.synthesize.imputation.trees import Cart, Forest
from tacita.synthesize.kinds import FitOn, Given, ImputedKind, Missing, TrainOn
from tacita.synthesize.plan import Key, check_attributes, generator
from tacita.tables.release import Provenance

__all__ = ["BACKENDS", "ImputationPlan", "Impute"]

BACKENDS: Mapping[str, Backend] = MappingProxyType(
    {"linear": Linear(), "cart": Cart(), "forest": Forest(), "network": NeuralNetwork()}
)

_LEAST_ROWS = 10


@dataclass(frozen=True, kw_only=True)
class Impute:
    """Attributes to draw anew, the models to draw them from, and the number of releases.

    Args:
        replace: Attributes in the order in which they are drawn; for "partial", with masks. Texts are read as
            `income: income > 70000`. For "all" it may be empty, which means all in the order of the schema.
        kind: Kind of release; see the module.
        backend: linear, cart, forest or network, or one with settings of its own.
        backends: Other ones for some attributes.
        m: Releases.
        attributes: Attributes that are released; all that can be counted if None.
        rows: Of a release, for "all" and "frame"; as many as the data has if None.
        fit_on: "original" fits every model to original values and draws given what was drawn before.
            "synthetic_prefix" also fits to what was drawn before, which weakens dependence; "partial" only.
        train_on: Rows a model is fitted to: those that are "replaced", "all", or the "unreplaced" ones, which is wrong
            when a mask reads values. "auto" takes replaced ones if there are enough. "partial" only.
        given: "others" draws a value given all other attributes, also those that are drawn later, as masks that leave
            some cells true need. "before" leaves later ones out, so that no draw has seen a value that is replaced in
            its row; for masks of whole columns. "partial" only.
        missing: "keep" leaves missing cells missing ("partial"), or draws which are missing; "impute" fills them all.
        with_sample: Whether real rows may be in a release, as in the published form; "frame" only.
    """

    replace: tuple[Replace | str, ...] = ()
    kind: ImputedKind = "partial"
    backend: str | Backend = "cart"
    backends: Mapping[str, str | Backend] = field(default_factory=dict)
    m: int = 5
    attributes: Key | None = None
    rows: int | None = None
    fit_on: FitOn = "original"
    train_on: TrainOn = "auto"
    given: Given = "others"
    missing: Missing = "keep"
    with_sample: bool = False

    def __post_init__(self) -> None:
        masks = tuple(Replace.parse(each) if isinstance(each, str) else each for each in self.replace)
        object.__setattr__(self, "replace", masks)
        object.__setattr__(self, "backends", MappingProxyType(dict(self.backends)))
        choices = {"kind": ImputedKind, "fit_on": FitOn, "train_on": TrainOn, "given": Given, "missing": Missing}
        for name, known in choices.items():
            if getattr(self, name) not in get_args(known):
                raise InvalidInput("must be " + ", ".join(get_args(known)), field=name, value=getattr(self, name))
        if type(self.m) is not int or not 2 <= self.m <= 1000:
            hint = "One release does not show how much imputation adds to the variance"
            raise InvalidInput("must be a whole number from 2 to 1000", field="m", value=self.m, hint=hint)
        check.whole(self.rows, "rows", least=1, optional=True)
        for each in (self.backend, *self.backends.values()):
            _backend(each)
        self._check_kind(masks)

    def _check_kind(self, masks: tuple[Replace, ...]) -> None:
        names = [mask.attribute for mask in masks]
        if len(set(names)) != len(names):
            raise InvalidInput("names an attribute twice", field="replace", value=names)
        if self.kind != "all" and not masks:
            raise InvalidInput("must name the attributes to draw anew", field="replace")
        if self.kind == "partial":
            wrong = [name for name in ("rows", "with_sample") if getattr(self, name)]
        else:
            wrong = ["replace"] if any(mask.where for mask in masks) else []
            wrong += ["fit_on"] if self.fit_on != "original" else []
            wrong += ["train_on"] if self.train_on != "auto" else []
            wrong += ["given"] if self.given != "others" else []
            wrong += ["with_sample"] if self.with_sample and self.kind == "all" else []
        if wrong:
            raise InvalidInput(f"has no meaning for {self.kind!r}", field=wrong[0], value=str(getattr(self, wrong[0])))

    def calibrate(self, domain: Domain, budget: Budget | None, *, unit: Unit, neighbours: Neighbours) -> ImputationPlan:
        """A plan. No budget buys a guarantee here: its event has none, so that every ledger refuses it."""
        names = check_attributes(domain, self.attributes, unit)
        check_columns(domain, names)
        masks = tuple(mask.check(domain) for mask in self._masks(names))
        for name in (*(mask.attribute for mask in masks), *self.backends):
            if name not in names:
                raise InvalidInput("must be among the attributes that are released", field="replace", value=name)
        conditions = {condition.attribute for mask in masks for condition in mask.where}
        if not conditions <= set(names):
            raise InvalidInput("must be among the attributes", field="replace", value=sorted(conditions - set(names)))
        if self.kind == "all" and len(masks) != len(names):
            raise InvalidInput("must name all attributes, in order, or none", field="replace")
        return ImputationPlan(recipe=self, domain=domain, unit=unit, neighbours=neighbours, names=names, masks=masks)

    def _masks(self, names: Key) -> tuple[Replace, ...]:
        masks: tuple[Replace, ...] = self.replace  # type: ignore[assignment]
        return masks or tuple(Replace(attribute=name) for name in names)

    def models(self) -> Models:
        """Models and options that values are drawn with."""
        backends = {"": _backend(self.backend)} | {name: _backend(each) for name, each in self.backends.items()}
        return Models(
            backend=backends, fit_on=self.fit_on, train_on=self.train_on, given=self.given, missing=self.missing
        )

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        return {
            "method": "imputation",
            "kind": self.kind,
            "replace": [str(mask) for mask in self.replace],
            "backend": _backend(self.backend).as_dict(),
            "backends": {name: _backend(each).as_dict() for name, each in self.backends.items()},
            "m": self.m,
            "attributes": self.attributes and list(self.attributes),
            "rows": self.rows,
            "fit_on": self.fit_on,
            "train_on": self.train_on,
            "given": self.given,
            "missing": self.missing,
            "with_sample": self.with_sample,
        }


def _backend(given: str | Backend) -> Backend:
    if not isinstance(given, str):
        return given
    check.one_of(given, "backend", BACKENDS)
    return BACKENDS[given]


@dataclass(frozen=True, kw_only=True)
class ImputationPlan:
    """Calibrated imputation. Reads no data until it runs."""

    recipe: Impute
    domain: Domain = field(repr=False)
    unit: Unit
    neighbours: Neighbours
    names: Key
    masks: tuple[Replace, ...]

    @property
    def event(self) -> NonPrivate:
        """That nothing is promised."""
        return NonPrivate(reason=f"multiple imputation, {self.recipe.kind}")

    def run(self, engine: Engine, source: Source, *, frame: Engine | None = None) -> Imputed:
        """Draw the releases.

        Args:
            engine: The data.
            source: Randomness; also decides the order of rows.
            frame: For the kind "frame": people who are not in the data, with the attributes that are not drawn.
        """
        check_engine(self, engine)
        if (frame is None) == (self.recipe.kind == "frame"):
            raise InvalidInput("goes with the kind `frame`, and only with it", field="frame")
        original, rng = read_columns(engine, self.names), generator(source)
        if rows_of(original) < _LEAST_ROWS:
            raise InvalidInput(
                f"needs at least {_LEAST_ROWS} rows", field="rows", hint="Nothing can be learned from fewer"
            )
        others = None if frame is None else self._frame(frame)
        made, notes = [], list[str]()
        for _ in range(self.recipe.m):  # releases are drawn one by one, so that each has draws and models of its own
            columns, origin, said = self._release(original, others, rng)
            notes = notes or said
            order = rng.permutation(origin.size)
            shuffled = {name: columns[name].at(order) for name in self.names}
            made.append((self._table(shuffled, source.simulated), origin[order]))
        return Imputed(
            releases=tuple(table for table, _ in made),
            origins=tuple(origin for _, origin in made),
            domain=self.domain.project(self.names),
            kind=self.recipe.kind,
            replaced=tuple(mask.attribute for mask in self.masks),
            people=rows_of(original),
            notes=tuple(notes),
            provenance=Provenance(recipe=self.recipe.as_dict(), simulated=source.simulated),
        )

    def _frame(self, frame: Engine) -> dict[str, Column]:
        drawn = {mask.attribute for mask in self.masks}
        known = [name for name in self.names if name not in drawn]
        for name in known:
            if name not in frame.domain or frame.domain[name] != self.domain[name]:
                raise InvalidInput("the frame must have it, described as the data does", field=name)
        if not known:
            raise InvalidInput("leaves no attribute to the frame", field="replace", hint="Take the kind `all`")
        return read_columns(frame, known)

    def _release(
        self, original: dict[str, Column], others: dict[str, Column] | None, rng: np.random.Generator
    ) -> tuple[Columns, NDArray[np.int64], list[str]]:
        """Columns of one release, the row of the data that each row stands for, and notes."""
        models, people = self.recipe.models(), rows_of(original)
        order = [mask.attribute for mask in self.masks]
        if self.recipe.kind == "partial":
            columns, notes = replace_cells(original, self.masks, models, rng)
            return columns, np.arange(people), notes
        rows = self.recipe.rows or people
        if others is None:
            return make_rows(original, {}, order, models, rows, rng), np.full(rows, -1), []
        return self._sampled(original, others, order, models, rows, rng)

    def _sampled(
        self,
        original: dict[str, Column],
        others: dict[str, Column],
        order: list[str],
        models: Models,
        rows: int,
        rng: np.random.Generator,
    ) -> tuple[Columns, NDArray[np.int64], list[str]]:
        """Draw a simple random sample of the frame, before its missing attributes: only released cells are drawn."""
        people, outside = rows_of(original), rows_of(others)
        population = outside + (people if self.recipe.with_sample else 0)
        if rows > population:
            raise InvalidInput("is more than the frame has", field="rows", value=rows)
        chosen = rng.choice(population, rows, replace=False)
        real, framed = chosen[chosen >= outside] - outside, chosen[chosen < outside]
        known = {name: column.at(framed) for name, column in others.items()}
        drawn = make_rows(original, known, order, models, framed.size, rng)
        columns = {
            name: Column(
                attribute=original[name].attribute,
                values=np.concatenate([drawn[name].values, original[name].values[real]]),
            )
            for name in self.names
        }
        return columns, np.concatenate([np.full(framed.size, -1), real]), []

    def _table(self, columns: Columns, simulated: bool) -> pa.Table:
        mark = {"synthetic": True, "by": "imputation", "guarantee": "none", "event": self.event.as_dict()}
        mark |= {"simulated": True} if simulated else {}
        table = pa.table({name: columns[name].arrow() for name in self.names})
        return table.replace_schema_metadata({"tacita": json.dumps(mark)})

    def read(self, text: str, /) -> Imputed:
        """Never: the rows of a release are not kept as text."""
        raise InvalidInput("rows made by imputation are not stored with a charge", field="answer")

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain data."""
        return {
            "recipe": self.recipe.as_dict(),
            "guarantee": "none",
            "event": self.event.as_dict(),
            "unit": str(self.unit),
            "neighbours": str(self.neighbours),
            "attributes": list(self.names),
        }

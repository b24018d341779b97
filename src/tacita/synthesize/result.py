"""Result of a synthesizer: a model, its cost, and any number of synthetic rows.

Privacy: the model was fitted to released tables only; rows are post-processing and cost nothing more, however many.
Neither can hold an exact count: everything stored here was read off noisy tables.
Claim: docs/claims/marginal-synthesis.md
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.domain import Decode, Domain
from tacita.domain.conditions import Condition
from tacita.engines.spark.target import SparkTarget
from tacita.engines.targets import is_address, row_target
from tacita.errors import InvalidInput
from tacita.models.blend import Blend
from tacita.models.mixture import Mixture
from tacita.models.network import BayesianNetwork
from tacita.models.pairs.adjusted import Adjusted
from tacita.models.pairs.matching import MatchedDraws, can_match
from tacita.models.spread import Spread
from tacita.models.synthetic import synthetic_rows
from tacita.synthesize.gan.generator import Generator
from tacita.synthesize.intervals.answer import Intervals, compute_intervals, masks_of
from tacita.synthesize.intervals.measured import MeasuredTables
from tacita.synthesize.keys import with_keys
from tacita.synthesize.kinds import Quantity
from tacita.synthesize.ruled import Ruled
from tacita.synthesize.rules import Always, Rules
from tacita.synthesize.writing import Progress, check_parts, write_parts
from tacita.tables.cells import Cells, Projectable
from tacita.tables.envelope import Envelope
from tacita.tables.tabular import Tabular

__all__ = ["NO_INTERVALS", "Model", "Synthesized"]

NO_INTERVALS = (
    "Intervals come from measured tables. Files of older versions, models under conditions, blends of holders' models "
    "and models whose tables disagree about the number of rows have none."
)
"""Which models have no intervals."""


class Model(Projectable, Protocol):
    """Fitted model: gives rows and tables of shares, and can be serialised."""

    def project(self, attributes: Iterable[str]) -> Cells:
        """The table of shares over these attributes."""

    def sample(self, rows: int, rng: np.random.Generator) -> Mapping[str, NDArray[Any]]:
        """Draw codes of synthetic rows."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data; its member `tacita` says what kind of model it is."""


_BATCH = 1 << 18
_READERS: dict[str, Callable[[Mapping[str, Any]], Model]] = {
    "network/1": BayesianNetwork.from_dict,
    "mixture/1": Mixture.from_dict,
    "blend/1": Blend.from_dict,
    "generator/1": Generator.from_dict,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Synthesized(Envelope, Tabular):
    """A released model of the data.

    Attributes:
        model: Gives rows and tables of shares.
        people: Noisy number of rows of the data, with its standard error; public under replace-one.
        notes: Decisions of the method, in words: structure, fallbacks.
        measured: Released tables that the model was fitted to, for intervals; None in files of older versions, of
            models without tables, and where tables disagree about the number of rows.
        numbers: How numbers are spread inside bins that were found privately; see `numbers`.
    """

    mark: ClassVar[str] = "synthesized/1"
    released: ClassVar[str] = "The model and all rows drawn from it are"

    model: Model = field(repr=False)
    people: float
    people_std: float
    notes: tuple[str, ...]
    measured: MeasuredTables | None = field(default=None, repr=False)
    numbers: tuple[Spread, ...] = field(default=(), repr=False)

    # -- Projectable ----------------------------------------------------------------------------------------------

    @property
    def domain(self) -> Domain:
        """Attributes of the model."""
        return self.model.domain

    def supports(self, attributes: Iterable[str]) -> bool:
        """Whether all these attributes are here."""
        return self.model.supports(attributes)

    def project(self, attributes: Iterable[str]) -> Cells:
        """The table of shares that the model has over these attributes, without the error of drawing rows."""
        return self.model.project(attributes)

    def intervals(
        self,
        attributes: Iterable[str],
        *,
        where: Sequence[str] = (),
        level: float = 0.95,
        together: bool = False,
        quantity: Quantity = "share",
        required: bool = True,
    ) -> Intervals:
        """The model's table with an interval of the true share or count of each cell; costs nothing.

        The truth is the table of the data that were protected. Intervals hold whatever the data are, and however well
        the model fits. Claim: docs/claims/model-intervals.md

        Args:
            attributes: Of the table.
            where: Conditions on the rows, such as `age >= 30`.
            level: Confidence of each interval.
            together: Whether it is the confidence that all intervals of the table hold.
            quantity: "share" of the rows that meet the conditions, or "count" of rows.
            required: Whether to refuse a model without intervals, instead of leaving the ends empty.
        """
        names = self.domain.check_countable(attributes)
        if not names:
            raise InvalidInput("must name at least one attribute", field="attributes")
        if self.measured is None and required:
            raise InvalidInput("keeps no measured tables, so it has no intervals", field="model", hint=NO_INTERVALS)
        given = self.given(where)
        kept = 1 - given.model.refused if where and isinstance(given.model, Ruled) else 1.0
        return compute_intervals(
            self.measured,
            given.project(names),
            self.domain,
            people=self.people,
            masks=masks_of(self.domain, where),
            given=kept,
            level=level,
            together=together,
            quantity=quantity,
            about=self.facts(),
        )

    # -- as people use it -----------------------------------------------------------------------------------------

    def to_arrow(self, rows: int | None = None, *, seed: int | None = None) -> pa.Table:
        """Draw synthetic rows; about as many as the data has, unless a number is given.

        Args:
            rows: Number of rows.
            seed: For the same rows again. It plays no part in the guarantee.
        """
        wanted = max(0, round(self.people)) if rows is None else rows
        return self.sample(wanted, np.random.default_rng(seed))

    def chart(self) -> str:
        """Draw the shares of the first attribute under the model, with their intervals where there are some."""
        return self.intervals(self.domain.names[:1], required=False).chart()

    # -- rows -----------------------------------------------------------------------------------------------------

    def sample(self, rows: int, rng: np.random.Generator, *, policy: Decode = "auto") -> pa.Table:
        """Draw synthetic rows, decoded; `policy` says how bins are decoded: numbers whose spread is known as numbers.

        Up to 131,072 rows of a mixture or a tree have the model's tables of two attributes nearly without the error of
        drawing, see `tacita.models.pairs.matching`.
        """
        model = MatchedDraws(self.model) if can_match(self.model) else self.model
        return synthetic_rows(
            self.domain,
            model,
            rows,
            rng,
            event=self.event,
            policy=policy,
            spreads=self.numbers,
            simulated=self.provenance.simulated,
        )

    def with_rules(self, rules: Rules) -> Synthesized:
        """The same, given that public rules hold for every row: post-processing, which costs nothing.

        Intervals stay those of the data, whether they keep the rules or not.
        """
        model = Ruled(model=self.model, rules=rules)
        return replace(self, model=model, notes=(*self.notes, model.note()))

    def given(self, where: Sequence[str]) -> Synthesized:
        """The same, given that conditions such as `age >= 30` hold for every row; without intervals.

        For those, ask the model itself: `intervals(..., where=...)`.
        """
        if not where:
            return self
        rules = Rules(rules=(Always(conditions=tuple(map(Condition.parse, where))),))
        return replace(self.with_rules(rules), measured=None)

    def batches(
        self, rows: int, rng: np.random.Generator, *, policy: Decode = "auto", key: str | None = None, first: int = 1
    ) -> Iterator[pa.Table]:
        """The rows in batches, drawn side by side; the same for the same generator, whatever the threads.

        With `key`, each has a first column of that name with new numbers, from `first` on.
        """
        for batch in self._side_by_side(rows, rng, policy):
            yield batch if key is None else with_keys(batch, key, rng=rng, first=first)
            first += batch.num_rows

    def _side_by_side(self, rows: int, rng: np.random.Generator, policy: Decode) -> Iterator[pa.Table]:
        sizes = [min(_BATCH, rows - start) for start in range(0, rows, _BATCH)] or [0]
        workers = max(1, min(len(sizes), os.cpu_count() or 1))
        with ThreadPoolExecutor(workers) as pool:
            ahead = []
            for size, child in zip(sizes, rng.spawn(len(sizes)), strict=True):
                ahead.append(pool.submit(self.sample, size, child, policy=policy))
                if len(ahead) > workers:  # so many are held at once, and no more
                    yield ahead.pop(0).result()
            for each in ahead:
                yield each.result()

    def write(
        self,
        path: str | Path,
        rows: int,
        rng: np.random.Generator,
        *,
        policy: Decode = "auto",
        key: str | None = None,
        parts: int | None = None,
        progress: Progress | None = None,
        into: str | None = None,
    ) -> None:
        """Write rows as .parquet or .csv, or into a database: the whole output appears, or none of it.

        Args:
            path: A file, or the address of a database; with `parts`, a folder of so many files, written in parallel;
                `spark:PATH` for a folder that the executors of a cluster write, each its own parts: the same rows for
                the same `rng` and parts, however many executors there are.
            rows: Number of rows.
            rng: For the draws.
            policy: How bins are decoded.
            key: The name of a column of new keys, if there should be one: numbers from 1 on, never from data.
            parts: Number of files; one, without a folder, if not given; for a cluster by the number of rows.
            progress: Called with the number of rows written; an exception from it stops the writing.
            into: The new table or collection of a database.
        """
        if type(rows) is not int or rows < 0:
            raise InvalidInput("must be a whole number of 0 or more", field="rows", value=rows)
        target = row_target(path, into) if parts is None or is_address(path) else None
        if isinstance(target, SparkTarget):
            parts = target.parts_of(rows) if parts is None else parts
        if target is not None and parts is None:
            target.write(self.batches(rows, rng, policy=policy, key=key), progress)
            return
        assert parts is not None
        check_parts(parts)
        sizes = [rows // parts + (place < rows % parts) for place in range(parts)]
        firsts = [1 + sum(sizes[:place]) for place in range(parts)]
        draws = [
            partial(self._drawn, size, child, policy, key, first)
            for size, child, first in zip(sizes, rng.spawn(parts), firsts, strict=True)
        ]
        if isinstance(target, SparkTarget):
            target.write_parts(draws)
            return
        write_parts(path, draws, progress)

    def _drawn(
        self, rows: int, rng: np.random.Generator, policy: Decode, key: str | None, first: int
    ) -> Iterator[pa.Table]:
        """The batches of one part, one after the other: the parts are what runs side by side."""
        for start in range(0, max(rows, 1), _BATCH):
            batch = self.sample(min(_BATCH, rows - start), rng, policy=policy)
            yield batch if key is None else with_keys(batch, key, rng=rng, first=first + start)

    # -- plain data -----------------------------------------------------------------------------------------------

    def parts(self) -> dict[str, Any]:
        """Own fields, as plain data."""
        plain = {
            "model": self.model.as_dict(),
            "people": self.people,
            "people_std": self.people_std,
            "notes": list(self.notes),
            "guarantee": self.guarantee,
        }
        if self.numbers:
            plain["numbers"] = [each.as_dict() for each in self.numbers]
        return plain if self.measured is None else plain | {"measured": self.measured.as_dict()}

    @staticmethod
    def parts_of(data: Mapping[str, Any]) -> dict[str, Any]:
        """The same as arguments again."""
        model, measured = _read_model(data["model"]), data.get("measured")
        return {
            "model": model,
            "people": data["people"],
            "people_std": data["people_std"],
            "notes": tuple(data["notes"]),
            "measured": None if measured is None else MeasuredTables.from_dict(measured, model.domain),
            "numbers": tuple(Spread.from_dict(each).check(model.domain) for each in data.get("numbers", ())),
        }


def _read_model(data: Mapping[str, Any]) -> Model:
    kind = data.get("tacita")
    if kind == "ruled/1":
        return Ruled.from_dict(data, _read_model)
    if kind == "adjusted/1":
        return Adjusted.from_dict(data, _read_plain)
    return _read_plain(data)


def _read_plain(data: Mapping[str, Any]) -> Model:
    """A model that holds no other; files cannot nest without end."""
    kind = data.get("tacita")
    if kind not in _READERS:
        known = ", ".join((*_READERS, "adjusted/1", "ruled/1"))
        raise InvalidInput(f"must be one of {known}", field="model.tacita", value=kind)
    return _READERS[kind](data)

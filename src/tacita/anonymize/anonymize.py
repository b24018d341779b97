"""Release k-anonymous rows: recipe, prepare, run.

    recipe = Anonymize(conditions=Conditions(k=10), quasi=("age", "zip"), sensitive=("illness",))
    result = recipe.prepare(domain).run(engine)          # `Anonymized`: rows, what holds for them, what was lost

A release has the quasi-identifiers, generalised, then the sensitive attributes and other requested ones, unchanged.
Nothing else is released: no other column, no identifier, no row order, no index. The rows to be released are counted
again from their values, and refused when they do not meet the conditions.

This is no differential privacy: a result says `guarantee: none`, and releases of the same people do not compose.
docs/claims/k-anonymity.md says what is promised and what is not.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.anonymize.criteria.conditions import Achieved, Conditions
from tacita.anonymize.criteria.criterion import Classes
from tacita.anonymize.distinct_counts import CountDistinct, CountWritten, DistinctCounts, distinct_of, recount_of
from tacita.anonymize.hierarchies.hierarchy import Hierarchy, TreeMaker
from tacita.anonymize.hierarchies.rules import Rule, rule_data
from tacita.anonymize.loss import Loss, loss_of
from tacita.anonymize.methods.bayardo import Search
from tacita.anonymize.methods.mondrian import Mondrian
from tacita.anonymize.population import add_population
from tacita.anonymize.quasi import DistinctRows, joined, read_distinct_rows
from tacita.anonymize.recount import classes_of, recount
from tacita.anonymize.rewriting import ReleaseRows
from tacita.common.progress import step
from tacita.domain import Categorical, Domain
from tacita.engines.base import Engine, Rewrites
from tacita.engines.spark.address import is_spark
from tacita.engines.spark.target import SparkTarget
from tacita.engines.targets import row_target
from tacita.errors import InternalError, InvalidInput
from tacita.tables.recoding import Recoding
from tacita.tables.recoding.axis import read_keys
from tacita.tables.recoding.render import render

__all__ = ["AnonymizationPlan", "Anonymize", "Anonymized", "AnonymizedFiles", "Method"]


class Method(Protocol):
    """Method that makes classes. It need not be trusted: its classes are counted again."""

    @property
    def by_appearance(self) -> bool:
        """Whether values without an order are numbered as they first appear, so that the order of rows matters."""

    def recode(self, distinct: DistinctRows, conditions: Conditions, *, budget: int = 0) -> Recoding:
        """Classes that hold the conditions, with at most `budget` rows suppressed."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""


@runtime_checkable
class Reports(Protocol):
    """A method that searches, and says how its search ended."""

    def recode_reporting(
        self, distinct: DistinctRows, conditions: Conditions, *, budget: int = 0
    ) -> tuple[Recoding, Search]:
        """Classes, and whether they were proved best."""


@dataclass(frozen=True, kw_only=True)
class Anonymize:
    """Recipe of a release and its conditions.

    Attributes:
        conditions: Conditions on every class.
        quasi: Quasi-identifiers, which an attacker could know; by default all attributes with that role.
        sensitive: Attributes that no one should learn; by default all with that role. They are released unchanged.
        keep: Other attributes to release, unchanged.
        hierarchies: Of some of these attributes.
        suppress: Most share of the rows that may be left out.
        part: A boolean attribute that says which rows may be released; the others are the rest of the population, which
            `conditions.presence` is about. Without it, presence needs a population table when it is run.
        method: Method that makes classes.
    """

    conditions: Conditions
    quasi: tuple[str, ...] | None = None
    sensitive: tuple[str, ...] | None = None
    keep: tuple[str, ...] = ()
    hierarchies: Mapping[str, TreeMaker] = field(default_factory=dict)
    suppress: float = 0.0
    part: str | None = None
    method: Method = field(default_factory=Mondrian)

    def __post_init__(self) -> None:
        if not 0 <= self.suppress < 1:
            raise InvalidInput("must lie between 0 and 1", field="suppress", value=self.suppress)
        if self.conditions.presence is None and self.part is not None:
            raise InvalidInput("presence and the part that leaves go together", field="part", value=self.part)
        if self.conditions.presence is not None and self.conditions.presence[0] > 0 and self.suppress:
            raise InvalidInput(
                "people whose values are suppressed are known not to be there: no least presence can hold for them",
                field="suppress",
                value=self.suppress,
                hint="Suppress nothing, or ask for a least presence of 0",
            )

    def prepare(self, domain: Domain) -> AnonymizationPlan:
        """Settle which columns play which role; reads no data."""
        quasi = _named(domain, self.quasi, "quasi-identifier")
        sensitive = _named(domain, self.sensitive, "sensitive")
        if self.sensitive is None:
            sensitive = tuple(name for name in sensitive if name not in (*quasi, *self.keep))
        if not quasi:
            raise InvalidInput(
                "must name at least one attribute", field="quasi", hint="Give it, or set roles in the schema"
            )
        for name in (*quasi, *sensitive, *self.keep):
            if domain[name].kind == "identifier" or domain[name].role == "identifier":
                raise InvalidInput("an identifier is never released, nor can it be generalised", field=name)
        listed = (*quasi, *sensitive, *self.keep)
        twice = next((name for name in listed if listed.count(name) > 1), None)
        if twice is not None:
            raise InvalidInput("has two roles, or is there twice", field=twice)
        unchanged = (*sensitive, *self.keep)
        known = next((name for name in unchanged if domain[name].role == "quasi-identifier"), None)
        if known is not None:
            raise InvalidInput("is a quasi-identifier and would be released unchanged", field=known)
        if self.conditions.about_values and not sensitive:
            names = ", ".join(each.name for each in self.conditions.asked if each.about == "values")
            raise InvalidInput(f"conditions on values need a sensitive attribute: {names}", field="sensitive")
        for name in self.hierarchies:
            if domain[name].name not in (*quasi, *sensitive):
                raise InvalidInput("has a hierarchy and no role", field=name)
        if self.part is not None and domain[self.part].name in listed:
            raise InvalidInput("has two roles", field=self.part)
        return AnonymizationPlan(recipe=self, domain=domain, quasi=quasi, sensitive=sensitive)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "anonymize": self.conditions.as_dict(),
            "quasi": None if self.quasi is None else list(self.quasi),
            "sensitive": None if self.sensitive is None else list(self.sensitive),
            "keep": list(self.keep),
            "hierarchies": sorted(self.hierarchies),
            "trees": {name: _named_tree(self.hierarchies[name]) for name in sorted(self.hierarchies)},
            "suppress": self.suppress,
            "part": self.part,
            "method": self.method.as_dict(),
        }


def _named_tree(maker: TreeMaker) -> dict[str, Any]:
    """Name of a hierarchy: the digest of its lines, or the rule that makes it."""
    if isinstance(maker, Hierarchy):
        return {"sha256": maker.digest, "levels": maker.levels}
    return rule_data(maker) if isinstance(maker, Rule) else {}


def _named(domain: Domain, given: Sequence[str] | None, role: str) -> tuple[str, ...]:
    if given is None:
        return tuple(attribute.name for attribute in domain.attributes if attribute.role == role)
    if isinstance(given, str):
        raise InvalidInput("must be a list of names", field=role, value=given)
    return tuple(domain[name].name for name in given)


@dataclass(frozen=True, kw_only=True)
class AnonymizationPlan:
    """A recipe for one domain: the columns to read and the columns to release."""

    recipe: Anonymize
    domain: Domain
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]

    @property
    def leaving(self) -> tuple[str, ...]:
        """The columns of the result."""
        return (*self.quasi, *self.sensitive, *self.recipe.keep)

    @property
    def reading(self) -> tuple[str, ...]:
        """The columns that are read."""
        more = [name for name in (self.recipe.part, self.domain.person) if name is not None]
        return tuple(dict.fromkeys((*self.leaving, *more)))

    def run(self, engine: Engine, *, population: pa.Table | None = None) -> Anonymized:
        """Read the rows, make classes, and let out what holds.

        Args:
            engine: The rows.
            population: For presence: the quasi-identifiers of everyone, those in the data among them; public.
        """
        self._check_engine(engine)
        return self.run_on(joined(engine.rows(self.reading), self.reading), population=population)

    def write(
        self, engine: Engine, target: str, *, before: Callable[[AnonymizedFiles], None] | None = None
    ) -> AnonymizedFiles:
        """Write a folder of Parquet files where the rows are, without holding them in one place: see `rewriting`.

        The classes are those of `run`. Nothing appears unless the written rows meet the conditions.

        Args:
            engine: The rows; the engine must be able to write.
            target: The folder, which must not exist, as `spark:PATH` or a path. All machines of the cluster must see
                it by this path.
            before: Called when the rows are written and accepted, before they appear.
        """
        self._check_engine(engine)
        recipe, asked = self.recipe, self.recipe.conditions
        if not isinstance(engine, Rewrites):
            raise InvalidInput("only Spark writes rows where they are", field="output", hint="Write a file")
        if asked.presence is not None:
            raise InvalidInput("is measured for rows in memory only", field="presence", hint="Write a file")
        if recipe.method.by_appearance:
            rule = "numbers values as they first appear, and rows in parts have no order"
            raise InvalidInput(rule, field="method", value=recipe.method.as_dict()["method"], hint="Write a file")
        step("finding distinct rows")
        unchanged = self.leaving[len(self.quasi) :]
        texts = tuple(name for name in unchanged if isinstance(self.domain[name], Categorical))
        counting = CountDistinct(self.domain, (*self.quasi, *self.sensitive), texts)
        counts = engine.fold(counting, counting.columns, None)
        distinct = distinct_of(self.domain, counts, self.quasi, self.sensitive, recipe.hierarchies)
        found = self._classes(distinct)
        step("recoding rows")
        release = ReleaseRows.of(
            self.domain,
            found.recoding,
            unchanged,
            types=engine.types(unchanged) if unchanged else pa.schema([]),
            as_text=counts.held_back,
            distinct=distinct,
        )
        folder, made = SparkTarget.parse(target).folder if is_spark(target) else target, []

        def accept(written: DistinctCounts, rows: int) -> None:
            achieved = recount_of(
                written, len(self.quasi), asked, sensitive=distinct.sensitive, attributes=distinct.attributes
            )
            wrong = [] if rows == int(written.times.sum()) == release.rows else ["rows are missing, or there twice"]
            self._accept(achieved, found, wrong)
            made.append(
                AnonymizedFiles(
                    path=folder,
                    count=rows,
                    names=self.leaving,
                    classes=release.classes,
                    asked=asked,
                    achieved=achieved,
                    loss=found.loss,
                    recipe=recipe.as_dict(),
                    recoding=found.recoding,
                    search=found.search,
                )
            )
            if before is not None:
                before(made[0])

        check = CountWritten(self.domain, self.quasi, self.sensitive)
        engine.rewrite(
            release, self.reading, folder, schema=release.schema, parts=release.layout.parts, check=check, accept=accept
        )
        return made[0]

    def _check_engine(self, engine: Engine) -> None:
        if engine.domain.fingerprint != self.domain.fingerprint:
            raise InvalidInput("the engine's schema is not the one of the plan", field="engine")

    def run_on(self, table: pa.Table, *, population: pa.Table | None = None) -> Anonymized:
        """The same over rows that are in memory."""
        recipe, asked = self.recipe, self.recipe.conditions
        inside: NDArray[np.bool_] | None = None
        if (asked.presence is None or recipe.part is not None) == (population is not None):
            raise InvalidInput(
                "presence needs the population: either `part`, or a table of all people, not both",
                field="presence",
                value=asked.presence,
            )
        if population is not None:
            table, inside = add_population(self.domain, table, population, self.quasi)
        step("finding distinct rows")
        distinct = read_distinct_rows(
            self.domain,
            table,
            self.quasi,
            sensitive=self.sensitive,
            hierarchies=recipe.hierarchies,
            part=recipe.part if inside is None else inside,
            by_appearance=recipe.method.by_appearance,
        )
        found = self._classes(distinct)
        recoding = found.recoding
        step("recoding rows")
        combinations = recoding.combinations(distinct.codes)[distinct.of_row]
        rows, origin = render(
            recoding, self.domain, combinations, table, self.leaving[len(self.quasi) :], distinct.part
        )
        step("counting classes again")
        achieved = self._recount(rows, origin, distinct, recoding, combinations)
        self._accept(achieved, found, [])
        return Anonymized(
            rows=rows,
            asked=asked,
            achieved=achieved,
            loss=found.loss,
            recipe=recipe.as_dict(),
            recoding=recoding,
            search=found.search,
        )

    def _classes(self, distinct: DistinctRows) -> _Classes:
        """Find classes, and what they lose."""
        recipe, asked = self.recipe, self.recipe.conditions
        if distinct.people < asked.k:
            raise InvalidInput(
                "there are fewer people than that",
                field="k",
                value=asked.k,
                hint=f"The largest k that these rows allow is {distinct.people}"
                if distinct.people
                else "There is no one",
            )
        most = recipe.suppress * int(distinct.leaving.sum())
        step("finding classes")
        budget, search = math.floor(most), None
        if isinstance(recipe.method, Reports):
            recoding, search = recipe.method.recode_reporting(distinct, asked, budget=budget)
        else:
            recoding = recipe.method.recode(distinct, asked, budget=budget)
        lost = loss_of(distinct, recoding, k=asked.k, written=getattr(recipe.method, "labels", "tight") == "level")
        return _Classes(recoding=recoding, search=search, loss=lost, most=most)

    def _accept(self, achieved: Achieved, found: _Classes, wrong: list[str]) -> None:
        """Refuse rows that do not meet the conditions."""
        wrong = [*achieved.failures(self.recipe.conditions), *wrong]
        if found.loss.suppressed > found.most:
            wrong.append(f"{found.loss.suppressed} rows are suppressed")
        if wrong:
            raise InternalError("the rows do not meet the conditions and are not released", field="; ".join(wrong))

    def _recount(
        self,
        rows: pa.Table,
        origin: NDArray[np.int64],
        distinct: DistinctRows,
        recoding: Recoding,
        combinations: NDArray[np.int64],
    ) -> Achieved:
        """Measure the criteria on the values that are about to be released."""
        asked, values = self.recipe.conditions, {}
        for axis in distinct.sensitive:
            values[axis.name] = axis.encode(
                *read_keys(self.domain[axis.name], rows.column(axis.name), self.domain.nulls)
            )
        found = recount(
            classes_of(rows, self.quasi),
            values,
            asked,
            attributes=distinct.attributes,
            persons=None if distinct.persons is None else distinct.persons[origin],
        )
        return (
            found if distinct.part is None else _with_population(found, asked, distinct, recoding.place(combinations))
        )


def _with_population(
    found: Achieved, asked: Conditions, distinct: DistinctRows, classes: NDArray[np.int64]
) -> Achieved:
    """Measure the criteria about the population too, on the class of every row of it."""
    assert distinct.part is not None
    size = int(classes.max(initial=-1)) + 1
    part = np.bincount(classes[distinct.part & (classes >= 0)], minlength=size)
    every = np.bincount(classes[classes >= 0], minlength=size)
    some = Classes(people=part[every > 0], rows=part[every > 0], population=every[every > 0])
    about = [criterion for criterion in asked.asked if criterion.about == "population" and len(some.rows)]
    figures = {criterion.name: criterion.worst(criterion.measure(some)) for criterion in about}
    presence = figures.pop("presence", (1.0, 0.0))
    return replace(found, presence=presence, more=found.more | figures)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Classes:
    """Classes before rows are recoded; `most` is the largest number of rows that may be suppressed."""

    recoding: Recoding
    search: Search | None
    loss: Loss
    most: float


@dataclass(frozen=True, kw_only=True, eq=False)
class _Release(ABC):
    """Statements that both forms of a release make."""

    asked: Conditions
    achieved: Achieved
    loss: Loss
    recipe: dict[str, Any]
    recoding: Recoding = field(repr=False)
    search: Search | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on sensitive attributes that no condition protects."""
        return self.asked.concerns(self.achieved.l, self.achieved)

    @property
    def guarantee(self) -> str:
        """In the sense of differential privacy: none."""
        return "none"

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of released rows."""

    @property
    @abstractmethod
    def columns(self) -> list[str]:
        """Released columns."""

    def as_dict(self) -> dict[str, Any]:
        """All but the rows and the recoding, as plain data."""
        return {
            "tacita": "anonymized/1",
            "guarantee": self.guarantee,
            "asked": self.asked.as_dict(),
            "achieved": self.achieved.as_dict(),
            "loss": self.loss.as_dict(),
            "rows": self.size,
            "columns": self.columns,
            "recipe": self.recipe,
            "warnings": list(self.warnings),
        } | ({} if self.search is None else {"search": self.search.as_dict()})


@dataclass(frozen=True, kw_only=True, eq=False)
class Anonymized(_Release):
    """Released rows, with their criteria and loss.

    Attributes:
        rows: Released rows, in an order that reveals nothing.
        asked: Requested conditions.
        achieved: Measured criteria, counted on `rows`.
        loss: Information loss.
        recipe: The recipe, as plain data.
        recoding: Map from values to labels: for the owner only, because it holds values.
        search: End of the method's search, where it searches for the best.
    """

    rows: pa.Table

    def write(self, place: str | Path, into: str | None = None) -> None:
        """Write the rows as .parquet or .csv, or into a new table `into` of a database, given by its address."""
        row_target(place, into).write(iter([self.rows]))

    @property
    def size(self) -> int:
        """Number of released rows."""
        return int(self.rows.num_rows)

    @property
    def columns(self) -> list[str]:
        """Released columns."""
        return list(self.rows.column_names)


@dataclass(frozen=True, kw_only=True, eq=False)
class AnonymizedFiles(_Release):
    """Released rows in a folder of files, with their criteria, counted on what was written, and loss.

    Attributes:
        path: The folder.
        count: Number of rows.
        names: The columns.
        classes: The classes of the release and the rows of each; as public as the rows.
    """

    path: str
    count: int
    names: tuple[str, ...]
    classes: pa.Table = field(repr=False)

    @property
    def size(self) -> int:
        """Number of released rows."""
        return self.count

    @property
    def columns(self) -> list[str]:
        """Released columns."""
        return list(self.names)

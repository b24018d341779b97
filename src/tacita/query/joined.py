"""Two private tables of the same people, joined along the person key, as one source of rows.

    SELECT sex, AVG(cost) FROM visits JOIN patients ON visits.who = patients.who GROUP BY sex

Privacy:  a person's joined rows come from that person's rows of both tables alone, so that adding or removing a person
          with all rows changes no row of others. Of each table at most m rows of a person are joined, and of the joined
          rows at most m count, each chosen by a rule that looks at that person's rows alone. So the unit of m rows is
          the unit of the answer, and one account pays for both tables.   Claim: docs/claims/sql.md
Cost:     both tables are read when a plan runs, not before, and their rows that count are held in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from tacita.domain import Domain, Identifier
from tacita.engines.base import BATCH_ROWS, Engine, SourceCheck
from tacita.engines.local import LocalEngine
from tacita.engines.local.bound import key_texts
from tacita.errors import InvalidInput
from tacita.privacy.unit import Unit
from tacita.query.counted import counted_rows
from tacita.tables.table import Table
from tacita.tables.workload import Tables, Workload

__all__ = ["Joined", "joined_domain"]


def joined_domain(one: Domain, two: Domain) -> Domain:
    """The domain of joined rows: the person key, then the attributes of both tables."""
    for domain in (one, two):
        if domain.person is None:
            hint = "Name the person key in both schemas: `person:`"
            raise InvalidInput("JOIN: needs a person key in both tables", field="sql", hint=hint)
    if one.person != two.person:
        raise InvalidInput(
            f"JOIN: the person key must have one name in both tables, not {one.person} and {two.person}", field="sql"
        )
    if one.nulls != two.nulls:
        raise InvalidInput("must be the same for both tables", field="nulls", value=list(two.nulls))
    both = sorted((set(one.names) & set(two.names)) - {one.person})
    if both:
        hint = "Rename one of them in its schema and file; capitals alone are not enough"
        raise InvalidInput("JOIN: attributes must be distinct in both tables", field="sql", value=both, hint=hint)
    person = one.person or ""
    rest = (attribute for domain in (one, two) for attribute in domain.attributes if attribute.name != person)
    return Domain(title=one.title, person=person, nulls=one.nulls, attributes=(Identifier(name=person), *rest))


@dataclass(frozen=True, kw_only=True, eq=False)
class Joined:
    """Engine over the joined rows of two others; it reads nothing until it is asked.

    Attributes:
        one, two: The tables, with the same person key.
        unit: Persons, and the most rows of each that count.
    """

    one: Engine
    two: Engine
    unit: Unit

    def __post_init__(self) -> None:
        if self.unit.person != self.domain.person:
            hint = f"The account must protect persons: unit person:{self.domain.person}:MAX_ROWS"
            raise InvalidInput("JOIN: joins along the person key protect persons", field="sql", hint=hint)

    @cached_property
    def domain(self) -> Domain:
        """Public description of the joined rows."""
        return joined_domain(self.one.domain, self.two.domain)

    @cached_property
    def _engine(self) -> LocalEngine:
        person = self.domain.person or ""
        whole = _bounded(self.one, self.unit).join(_bounded(self.two, self.unit), keys=person, join_type="inner")
        return LocalEngine(self.domain, whole.select(list(self.domain.names)))

    def tables(self, workload: Workload, unit: Unit) -> Tables:
        """Count the joined rows."""
        return self._engine.tables(workload, unit)

    def project(self, attributes: Iterable[str]) -> Table:
        """Count one exact table over all joined rows."""
        return self._engine.project(attributes)

    def supports(self, attributes: Iterable[str]) -> bool:
        """Return whether the domain has all of these as countable attributes."""
        return set(attributes) <= set(self.domain.countable)

    def rows(self, columns: Iterable[str], batch_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """Return columns of the joined rows."""
        return self._engine.rows(columns, batch_rows)

    def check(self) -> SourceCheck:
        """Check how well the joined rows fit the schema; for the owner."""
        return self._engine.check()


def _bounded(engine: Engine, unit: Unit) -> pa.Table:
    """Rows of a table, at most m for each person, the key as text."""
    domain = engine.domain
    person = domain.person or ""
    names = list(domain.names)
    batches = list(counted_rows(engine, names, unit))
    if not batches:
        return pa.table({name: pa.array([], pa.string()) for name in names})
    rows = pa.Table.from_batches(batches)
    keys = key_texts(rows[person], domain.nulls, person)
    texts = keys.dictionary.take(keys.indices)
    rows = rows.set_column(names.index(person), person, texts)
    return rows.filter(pc.is_valid(rows[person]))

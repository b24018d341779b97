"""Two tables of the same people: one row of a parent, and the rows of its children, linked by the parent's key.

    parents    key, attributes                          one row for each key; of several, the one with the least codes
    children   key of the parent, attributes            those of a key that no parent has are left out

Privacy: a person's data is the parent's row and all children's rows with its key. Which of them count, and the number
of children of a parent, depends on that person's rows alone, so that adding or removing a person changes nothing for
others.   Claim: docs/claims/relational.md
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacita import check
from tacita.domain import Domain, Identifier, Numeric
from tacita.engines.base import Engine
from tacita.engines.local import LocalEngine
from tacita.engines.local.bound import key_texts
from tacita.errors import InternalError, InvalidInput

__all__ = ["Linked", "child_names", "linked_domain", "parent_names"]

_MOST = 1000


def linked_domain(parents: Domain, children: Domain, *, most: int, count: str = "children") -> Domain:
    """Build the domain of joined rows: the key, the parent's attributes, the number of children, the child's own.

    Args:
        parents: Domain whose person is the parent's key.
        children: Domain whose person is the column that names the parent.
        most: Most children that count of one parent.
        count: Name of the attribute with the number of children.
    """
    check.whole(most, "most", least=1, most=_MOST)
    for field_name, domain in (("parents", parents), ("children", children)):
        if domain.person is None:
            raise InvalidInput("must state which column names the parent: `person`", field=field_name)
        if not domain.countable:
            raise InvalidInput("must have an attribute that can be counted", field=field_name)
    if parents.nulls != children.nulls:
        raise InvalidInput("must be the same for both tables", field="nulls", value=list(children.nulls))
    names = (parents.person or "", *parents.countable, count, *children.countable)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidInput("must be distinct in both tables", field="attributes", value=twice)
    return Domain(
        title=parents.title,
        person=parents.person,
        nulls=parents.nulls,
        attributes=(
            Identifier(name=parents.person or ""),
            *(parents[name] for name in parents.countable),
            Numeric(name=count, bounds=(0, most), integer=True),
            *(children[name] for name in children.countable),
        ),
    )


def parent_names(parents: Domain, count: str) -> tuple[str, ...]:
    """Return the attributes of a parent."""
    return (*parents.countable, count)


def child_names(children: Domain) -> tuple[str, ...]:
    """Return the attributes of a child."""
    return children.countable


@dataclass(frozen=True, kw_only=True, eq=False)
class Linked:
    """Two engines as one source, to be counted by parent or by child."""

    parents: Engine
    children: Engine
    most: int
    count: str = "children"

    def __post_init__(self) -> None:
        if self.domain.person is None:  # building the domain refuses two tables that do not fit
            raise InternalError("linked tables always have a key")

    @cached_property
    def domain(self) -> Domain:
        """Public description of the joined rows."""
        return linked_domain(self.parents.domain, self.children.domain, most=self.most, count=self.count)

    @property
    def by_parent(self) -> Engine:
        """One row for each parent, with the number of its children."""
        return self._engines.parents

    @property
    def by_child(self) -> Engine:
        """One row for each child, with the attributes of its parent."""
        return self._engines.children

    @cached_property
    def _engines(self) -> _Engines:
        mine, theirs = _read(self.parents), _read(self.children)
        kept = _one_each(mine, self.parents.domain)
        places = {mine.key(row): place for place, row in enumerate(kept)}
        # for each key that children name, the index of its parent
        known = np.array([places.get(text, -1) for text in theirs.keys.dictionary.to_pylist()] + [-1], np.int64)
        at = known[pc.fill_null(theirs.keys.indices, known.size - 1).to_numpy(zero_copy_only=False)]
        rows = np.flatnonzero(at >= 0)
        counts = np.minimum(np.bincount(at[rows], minlength=kept.size), self.most)
        by_parent = mine.rows.take(pa.array(kept)).append_column(self.count, pa.array(counts, pa.int64()))
        by_child = by_parent.take(pa.array(at[rows]))
        for name in child_names(self.children.domain):
            by_child = by_child.append_column(name, theirs.rows[name].take(pa.array(rows)))
        chosen = (self.domain.person or "", *parent_names(self.parents.domain, self.count))
        above = self.domain.model_copy(update={"attributes": tuple(self.domain[name] for name in chosen)})
        return _Engines(
            parents=LocalEngine(Domain.from_dict(above.as_dict()), by_parent),
            children=LocalEngine(self.domain, by_child),
        )


@dataclass(frozen=True, kw_only=True)
class _Engines:
    parents: LocalEngine
    children: LocalEngine


@dataclass(frozen=True, kw_only=True, eq=False)
class _Read:
    """All rows of a table, the key as text under its name."""

    rows: pa.Table
    keys: pa.DictionaryArray = field(repr=False)

    def key(self, row: int) -> str:
        return str(self.keys[row].as_py())


def _read(engine: Engine) -> _Read:
    domain = engine.domain
    person = domain.person or ""
    batches = list(engine.rows((person, *domain.countable)))
    rows = pa.Table.from_batches(batches).combine_chunks() if batches else _no_rows(domain)
    keys = key_texts(rows[person], domain.nulls, person)
    texts = keys.dictionary.take(keys.indices)
    return _Read(rows=rows.set_column(rows.column_names.index(person), person, texts), keys=keys)


def _no_rows(domain: Domain) -> pa.Table:
    names = (domain.person or "", *domain.countable)
    return pa.table({name: pa.array([], pa.string()) for name in names})


def _one_each(read: _Read, domain: Domain) -> NDArray[np.int64]:
    """Return for each key the row with the least codes; rows without a key are skipped."""
    codes = domain.encode(read.rows)
    place = pc.fill_null(read.keys.indices, -1).to_numpy(zero_copy_only=False)
    order: NDArray[Any] = np.lexsort((*(codes[name] for name in reversed(domain.countable)), place))
    order = order[place[order] >= 0]
    first = np.append(True, place[order][1:] != place[order][:-1])[: order.size]
    return np.asarray(np.sort(order[first]), np.int64)

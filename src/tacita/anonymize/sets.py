"""Release the sets of items that people have, k^m-anonymous: recipe, prepare, run.

    recipe = AnonymizeSets(item="product", k=10, m=2)
    result = recipe.prepare(domain).run(engine)        # rows: the number of a set, and an item of it

Each row of the data is one item of one person; a person's items are one set. Every combination of at most m items that
occurs in the release is shared by at least k people (`tacita.anonymize.methods.transactions`). Items are levels of the
schema, or nodes of a hierarchy over them. Items that the schema does not declare, and rows without a person, are left
out. Sets of which something is left are numbered in the order of their items, so numbers reveal nothing.
docs/claims/k-m-anonymity.md says what is promised.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from tacita.anonymize.hierarchies.hierarchy import Hierarchy
from tacita.anonymize.methods.transactions import AnonymizedSets, KmAnonymity
from tacita.anonymize.quasi import joined
from tacita.domain import Domain
from tacita.domain.encode import encode
from tacita.engines.base import Engine
from tacita.engines.local.bound import key_texts
from tacita.errors import InvalidInput

__all__ = ["AnonymizeSets", "ReleasedSets", "SetsPlan"]


@dataclass(frozen=True, kw_only=True)
class AnonymizeSets:
    """Recipe of a release of sets.

    Attributes:
        item: Attribute with the item of a row.
        k: Least people who share a combination.
        m: Most items that an attacker may know.
        hierarchy: Of the items; without it items can only be left out.
        suppress: Most share of item occurrences that may be left out; without a hierarchy all by default, with one
            none.
    """

    item: str
    k: int
    m: int = 2
    hierarchy: Hierarchy | None = None
    suppress: float | None = None

    def __post_init__(self) -> None:
        self.condition  # noqa: B018 - checks the numbers

    @property
    def condition(self) -> KmAnonymity:
        """Condition on the sets."""
        return KmAnonymity(k=self.k, m=self.m, hierarchy=self.hierarchy, suppress=self.suppress)

    def prepare(self, domain: Domain) -> SetsPlan:
        """Check the columns; reads no data."""
        if domain.person is None:
            raise InvalidInput("needs a person's key in the schema: a set is what a person has", field="person")
        if not domain[self.item].countable or domain[self.item].role == "identifier":
            raise InvalidInput("an identifier is never released", field=self.item)
        return SetsPlan(recipe=self, domain=domain)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"sets": self.condition.as_dict(), "item": self.item}


@dataclass(frozen=True, kw_only=True)
class SetsPlan:
    """A recipe for one domain: the columns to read."""

    recipe: AnonymizeSets
    domain: Domain

    @property
    def leaving(self) -> tuple[str, ...]:
        """The columns of the result."""
        return ("set", self.recipe.item)

    def run(self, engine: Engine) -> ReleasedSets:
        """Read the rows and release sets that meet the condition."""
        if engine.domain.fingerprint != self.domain.fingerprint:
            raise InvalidInput("the engine's schema is not the one of the plan", field="engine")
        person, item = self.domain.person, self.domain[self.recipe.item]
        assert person is not None
        rows = joined(engine.rows((item.name, person)), (item.name, person))
        persons = key_texts(rows.column(person), self.domain.nulls, person)
        codes = encode(item, rows.column(item.name), self.domain.nulls)
        good = np.asarray(persons.is_valid()) & (codes < len(item.labels))
        sets: dict[str, set[str]] = {}
        who = persons.filter(pa.array(good)).dictionary_decode().to_pylist()
        for key, code in zip(who, codes[good].tolist(), strict=True):
            sets.setdefault(key, set()).add(item.labels[code])
        made = self.recipe.condition.run(sets.values())
        left = [one for one in made.sets if one]
        numbers = np.repeat(np.arange(1, len(left) + 1), [len(one) for one in left])
        texts = [each for one in left for each in one]
        return ReleasedSets(
            rows=pa.table({"set": pa.array(numbers, pa.int64()), item.name: pa.array(texts, pa.string())}),
            made=made,
            undeclared=float((~good).mean()) if len(good) else 0.0,
            recipe=self.recipe.as_dict(),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedSets:
    """Released sets as rows.

    Attributes:
        rows: Number of a set, and one of its items; a set of which nothing is left has no row.
        made: The sets, with their support and loss.
        undeclared: Share of the rows that have no person, or an item that the schema does not declare.
        recipe: The recipe, as plain data.
    """

    rows: pa.Table
    made: AnonymizedSets = field(repr=False)
    undeclared: float
    recipe: dict[str, Any]

    @property
    def sets(self) -> int:
        """Number of released sets."""
        return sum(bool(one) for one in self.made.sets)

    @property
    def guarantee(self) -> str:
        """In the sense of differential privacy: none."""
        return "none"

    def as_dict(self) -> dict[str, Any]:
        """All but the rows, as plain data."""
        return {
            "tacita": "sets/1",
            "guarantee": self.guarantee,
            "rows": self.rows.num_rows,
            "columns": self.rows.column_names,
            "sets": self.sets,
            "support": self.made.support,
            "loss": self.made.loss,
            "suppressed": self.made.suppressed,
            "undeclared": self.undeclared,
            "recipe": self.recipe,
        }

"""Release policies: the columns of a dataset that may be released as rows, and the least privacy conditions.

A buyer may choose stricter conditions. Only the owner chooses the quasi-identifiers and the columns that are released
unchanged: a buyer who could choose them would download the table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import sqlalchemy as sa

from tacita.anonymize import Anonymize, Conditions, Hierarchy, Mondrian
from tacita.domain import Domain
from tacita.errors import Forbidden, InvalidInput, UnknownName
from tacita.store import Database, now
from tacita.store.events import LOCAL, append
from tacita.store.schema import policies

__all__ = ["Policies", "Policy"]


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A release policy.

    Attributes:
        quasi: Quasi-identifiers: attributes that an attacker could know. Released generalised.
        sensitive: Attributes that no one should learn of a person. Released unchanged.
        keep: Other attributes that are released unchanged.
        k, l, t: The least that every release must satisfy.
        suppress: Largest share of rows that may be suppressed.
        hierarchies: Rows of levels, leaf first, for some attributes.
        presence: Least and most share of a class's population that is in the released part.
        part: For presence: a boolean attribute; rows with true may be released, the others complete the population.
        several: Whether rows may be released in other classes than in an earlier release. A recipient of both could
            intersect them, so without this all releases have the classes of the first.
    """

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    k: int = 2
    l: float = 1.0  # noqa: E741
    t: float | None = None
    suppress: float = 0.0
    hierarchies: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    several: bool = False
    presence: tuple[float, float] | None = None
    part: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that may be released."""
        return (*self.quasi, *self.sensitive, *self.keep)

    def recipe(
        self,
        *,
        k: int,
        l: float | None = None,  # noqa: E741
        t: float | None = None,
        suppress: float | None = None,
    ) -> Anonymize:
        """Return the recipe for a release at least as strict as the policy, over all columns that may be released.

        Args:
            k: At least the policy's.
            l: At least the policy's; that by default.
            t: At most the policy's; that by default.
            suppress: At most the policy's; that by default.
        """
        l = self.l if l is None else l  # noqa: E741
        t = self.t if t is None else t
        suppress = self.suppress if suppress is None else suppress
        if k < self.k or l < self.l or (self.t is not None and (t is None or t > self.t)) or suppress > self.suppress:
            rule = f"must go at least as far as the owner asks: k {self.k}, l {self.l:g}, t {self.t}"
            raise Forbidden(rule, field="k", value=k)
        return Anonymize(
            conditions=Conditions(k=k, l=l, t=t, presence=self.presence),
            quasi=self.quasi,
            sensitive=self.sensitive,
            keep=self.keep,
            hierarchies={name: Hierarchy.from_rows(name, rows) for name, rows in self.hierarchies.items()},
            suppress=suppress,
            part=self.part,
            method=Mondrian(),
        )

    def chosen(self, columns: Sequence[str] | None) -> tuple[str, ...]:
        """The columns that a buyer wants, in the order in which they leave."""
        if columns is None:
            return self.columns
        if unknown := sorted(set(columns) - set(self.columns)):
            raise UnknownName(unknown[0], field="columns", available=self.columns)
        if not columns:
            raise InvalidInput("must name at least one", field="columns")
        return tuple(name for name in self.columns if name in columns)

    def check(self, domain: Domain) -> None:
        """Refuse what no release could be made by."""
        if (self.presence is None) != (self.part is None):
            raise InvalidInput("presence and the part that leaves go together", field="part", value=self.part)
        self.recipe(k=self.k).prepare(domain)
        if self.part is not None and domain[self.part].kind != "boolean":
            raise InvalidInput("must be a boolean attribute", field="part", value=self.part)
        for name, rows in self.hierarchies.items():
            leaves = {row[0] for row in rows if row}
            missing = [label for label in getattr(domain[name], "levels", ()) if label not in leaves]
            if missing:
                raise InvalidInput("its hierarchy must cover every level", field=name, value=missing[0])

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    @property
    def told(self) -> dict[str, Any]:
        """The policy as the audit log states it: with only the names of the hierarchies."""
        return self.as_dict() | {"hierarchies": sorted(self.hierarchies)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read a policy from plain data: the output of `as_dict`, or a request."""
        try:
            lists: dict[str, Any] = {name: tuple(data[name]) for name in ("quasi", "sensitive", "keep")}
            presence = data.get("presence")
            return cls(**dict(data) | lists | {"presence": None if presence is None else tuple(presence)})
        except (KeyError, TypeError):
            raise InvalidInput("was stored by another version; set it again", field="policy") from None


class Policies:
    """The policies of all datasets of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, dataset: str, policy: Policy, *, principal: str = LOCAL) -> Policy:
        """Set the policy of a dataset; it holds for releases from now on."""
        row = {"policy": json.dumps(policy.as_dict()), "changed": now()}
        with self._database.writing() as connection:
            changed = connection.execute(policies.update().where(policies.c.dataset == dataset).values(row))
            if changed.rowcount == 0:
                connection.execute(policies.insert().values(row | {"dataset": dataset}))
            append(connection, "policy-set", dataset, principal, **policy.told)
        return policy

    def get(self, dataset: str) -> Policy:
        """The policy of a dataset; without one nothing leaves as rows."""
        query = sa.select(policies.c.policy).where(policies.c.dataset == dataset)
        with self._database.reading() as connection:
            text = connection.execute(query).scalar_one_or_none()
        if text is None:
            hint = "A steward sets it with PUT /v1/datasets/{name}/policy"
            raise Forbidden("its owner lets no rows leave", field="dataset", value=dataset, hint=hint)
        return Policy.from_dict(json.loads(text))

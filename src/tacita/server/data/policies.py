"""Release policies: the columns of a dataset that may be released as rows, and the least privacy conditions.

A buyer may choose stricter conditions. Only the owner chooses the quasi-identifiers and the columns that are released
unchanged: a buyer who could choose them would download the table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

import sqlalchemy as sa

from tacita.anonymize.anonymize import Anonymize, Method
from tacita.anonymize.criteria.conditions import Conditions
from tacita.anonymize.criteria.registry import all_parameters
from tacita.anonymize.hierarchies.hierarchy import Hierarchy
from tacita.anonymize.methods.mondrian import Mondrian
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
        more: Parameters of other criteria, by name; those that are at their default are left out.
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
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def asked(self) -> dict[str, Any]:
        """Parameters of all criteria that the policy sets, by name."""
        return {"k": self.k, "l": self.l, "t": self.t, "presence": self.presence, **self.more}

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that may be released."""
        return (*self.quasi, *self.sensitive, *self.keep)

    def recipe(self, *, suppress: float | None = None, method: Method | None = None, **asked: Any) -> Anonymize:
        """Return the recipe for a release at least as strict as the policy, over all columns that may be released.

        Args:
            suppress: At most the policy's; that by default.
            method: Method that makes classes; Mondrian by default.
            asked: Parameters of criteria by name, at least as strict as the policy's; null for those of the policy.
        """
        chosen = self.asked | {name: value for name, value in asked.items() if value is not None}
        suppress = self.suppress if suppress is None else suppress
        least, wanted = Conditions.of(self.asked), Conditions.of(chosen)
        if not wanted.at_least_as_strict_as(least) or suppress > self.suppress:
            more = "".join(f", {name} {value}" for name, value in least.as_dict().items() if name in self.more)
            rule = f"must go at least as far as the owner asks: k {self.k}, l {self.l:g}, t {self.t}{more}"
            raise Forbidden(rule, field="k", value=chosen["k"])
        if wanted.presence is not None and self.part is None:
            raise InvalidInput("presence needs a policy with a part that is released", field="presence")
        if method is not None and method.by_appearance:
            rule = "numbers values as they first appear, which reveals the order of the rows"
            raise InvalidInput(rule, field="mode", hint="Use strict or relaxed")
        return Anonymize(
            conditions=wanted,
            quasi=self.quasi,
            sensitive=self.sensitive,
            keep=self.keep,
            hierarchies={name: Hierarchy.from_rows(name, rows) for name, rows in self.hierarchies.items()},
            suppress=suppress,
            part=self.part,
            method=Mondrian() if method is None else method,
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
            Hierarchy.from_rows(name, rows).check(domain[name])

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        plain = asdict(self)
        more: dict[str, Any] = plain.pop("more")
        return plain | more

    @property
    def audit_details(self) -> dict[str, Any]:
        """The policy as the audit log states it: with only the names of the hierarchies."""
        return self.as_dict() | {"hierarchies": sorted(self.hierarchies)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read a policy from plain data: the output of `as_dict`, or a request."""
        own = {each.name for each in fields(cls)}
        defaults = {each.name: each.default for each in all_parameters() if each.name not in own}
        try:
            lists: dict[str, Any] = {name: tuple(data[name]) for name in ("quasi", "sensitive", "keep")}
            presence = data.get("presence")
            lists["presence"] = None if presence is None else tuple(presence)
            lists["more"] = {name: data[name] for name in defaults if data.get(name, defaults[name]) != defaults[name]}
            return cls(**{name: value for name, value in data.items() if name not in defaults} | lists)
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
            append(connection, "policy-set", dataset, principal, **policy.audit_details)
        return policy

    def get(self, dataset: str) -> Policy:
        """The policy of a dataset; without one nothing leaves as rows."""
        query = sa.select(policies.c.policy).where(policies.c.dataset == dataset)
        with self._database.reading() as connection:
            text = connection.execute(query).scalar_one_or_none()
        if text is None:
            hint = "Ask the steward of the dataset to set a policy"
            raise Forbidden("its owner lets no rows leave", field="dataset", value=dataset, hint=hint)
        return Policy.from_dict(json.loads(text))

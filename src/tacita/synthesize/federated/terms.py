"""Terms that all parties of one run agree on before any holder answers: public, equal for all, bound to the run's name.

Privacy: terms say what a run costs each holder (see `schedule`), who is protected and against what change, and whether
one person may be at several holders. They hold nothing about data; the schema is compared by its fingerprint.
Claim: docs/claims/federated.md
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, get_args

from tacita import check
from tacita.domain import Domain
from tacita.errors import Conflict, InvalidInput
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.federated.kinds import Overlap, Sharing
from tacita.synthesize.plan import check_attributes

__all__ = ["MOST_PARENTS", "SHARING", "Overlap", "Sharing", "Terms"]

SHARING: tuple[Sharing, ...] = get_args(Sharing)

MOST_PARENTS = 3
_MOST_HOLDERS = 1000
_MOST_ATTRIBUTES = 500
_MOST_NUMBER = 1e12
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


@dataclass(frozen=True, kw_only=True)
class Terms:
    """The agreement of one run.

    Args:
        run: Its name. A holder binds the first terms that it sees to it, for good.
        schema: Fingerprint of the public schema that all holders share.
        attributes: Attributes to synthesise; the first is the root of the network.
        method: SL1 shares noisy tables, SL2 noisy votes and then tables, SL3 noisy models.
        budget: Highest cost of the run to each holder.
        unit, neighbours: Unit that is protected, and notion of neighbours.
        holders: Names of the holders.
        quorum: Number of them that must answer a step.
        overlap: Whether one person may be at several holders; then costs add up over holders.
        degree: Most parents of an attribute.
        split: Share of the budget for the structure; SL1 has none.
        theta: How far a mean cell must stand above the noise, in standard errors.
        people: The number of rows at all holders together, where that is public. If not given, SL2 spends a little on
            it; SL3 always does, since no one may know how many rows a holder has.
    """

    run: str
    schema: str
    attributes: tuple[str, ...]
    method: Sharing
    budget: Budget
    unit: Unit
    neighbours: Neighbours
    holders: tuple[str, ...]
    quorum: int
    overlap: Overlap = "none"
    degree: int = 1
    split: float = 0.3
    theta: float = 4.0
    people: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", _names("attributes", self.attributes, _MOST_ATTRIBUTES))
        object.__setattr__(self, "holders", _names("holders", self.holders, _MOST_HOLDERS))
        if not isinstance(self.run, str) or not _NAME.fullmatch(self.run):
            rule = "must be 1 to 80 letters, digits, dots, dashes and underscores"
            raise InvalidInput(rule, field="run", value=self.run)
        if not isinstance(self.schema, str) or not 1 <= len(self.schema) <= 64:
            raise InvalidInput("must be the fingerprint of a schema", field="schema", value=self.schema)
        check.one_of(self.method, "method", SHARING)
        if self.overlap not in get_args(Overlap):
            raise InvalidInput("must be none or possible", field="overlap", value=self.overlap)
        most = len(self.holders)
        check.whole(self.quorum, "quorum", least=1, most=most)
        check.whole(self.degree, "degree", least=1, most=MOST_PARENTS)
        if not _is_number(self.split) or not 0 < self.split < 1:
            raise InvalidInput("must lie between 0 and 1", field="split", value=self.split)
        if not _is_number(self.theta) or not self.theta > 0:
            raise InvalidInput("must be positive and finite", field="theta", value=self.theta)
        if self.people is not None and (type(self.people) is not int or not 1 <= self.people <= 1 << 50):
            raise InvalidInput("must be a whole number of at least 1", field="people", value=self.people)

    def check_domain(self, domain: Domain) -> Domain:
        """The domain, if it is the one that the terms mean and they fit it."""
        if domain.fingerprint != self.schema:
            raise Conflict(
                f"the terms are for another schema than {domain.fingerprint}",
                field="schema",
                value=self.schema,
                hint="All parties must use the same schema file; compare the fingerprints",
            )
        check_attributes(domain, self.attributes, self.unit)
        return domain

    # -- plain data -----------------------------------------------------------------------------------------------

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        plain = {each.name: getattr(self, each.name) for each in fields(self)}
        return plain | {
            "attributes": list(self.attributes),
            "holders": list(self.holders),
            "budget": self.budget.as_dict(),
            "unit": str(self.unit),
            "neighbours": str(self.neighbours),
        }

    @property
    def digest(self) -> str:
        """A digest by which parties compare terms."""
        return hashlib.sha256(json.dumps(self.as_dict(), sort_keys=True).encode()).hexdigest()[:16]

    @classmethod
    def from_dict(cls, data: object) -> Terms:
        """The terms that `as_dict` wrote; anything else is refused."""
        names = {each.name for each in fields(cls)}
        if not isinstance(data, Mapping) or set(data) != names:
            shown = sorted(map(str, data))[:20] if isinstance(data, Mapping) else type(data).__name__
            raise InvalidInput("must have just the members " + ", ".join(sorted(names)), field="terms", value=shown)
        if not isinstance(data["budget"], Mapping):
            raise InvalidInput("must be epsilon and delta, or rho", field="budget")
        if not isinstance(data["unit"], str):
            raise InvalidInput("must be `row` or `person:KEY:MAX_ROWS`", field="unit")
        if data["neighbours"] not in tuple(Neighbours):
            raise InvalidInput(f"must be one of {', '.join(Neighbours)}", field="neighbours", value=data["neighbours"])
        try:
            budget = Budget.from_dict(data["budget"])
        except (TypeError, OverflowError):
            raise InvalidInput("must be epsilon and delta, or rho", field="budget") from None
        parsed = {
            "budget": budget,
            "unit": Unit.parse(data["unit"]),
            "neighbours": Neighbours(data["neighbours"]),
        }
        return cls(**(dict(data) | parsed))


def _names(field: str, names: object, most: int) -> tuple[str, ...]:
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) and 0 < len(name) <= 200 for name in names):
        raise InvalidInput("must be a list of names", field=field)
    found: tuple[str, ...] = tuple(names)
    if not 1 <= len(found) <= most or len(set(found)) != len(found):
        raise InvalidInput(f"must be 1 to {most} names, each once", field=field, value=len(found))
    return found


def _is_number(value: object) -> bool:
    """Whether it is a number of a size that means something here; one too large for a float is none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MOST_NUMBER

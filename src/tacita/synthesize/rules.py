"""Public constraints on rows: structural zeros and simple rules about one row.

    never     [sex = m, pregnant = yes]            rows that meet all of these do not exist
    always    [age >= 18]                          all rows meet all of these
    if, then  age < 16 / married = no              rows that meet the first meet the second
    at_most   [hired, left]                        the first is not above the second, where both are there
    follows   grade, from: school, as: {some: 1}   the first is determined by the second

Privacy:  a rule is public knowledge and reads no data, so it costs nothing; a rule that someone read off the data is a
          leak that nothing here can detect. Rows are post-processing of the model.
Utility:  bins decide: a pair of bins that a rule allows in part stays. See `ruled` for a model under rules.
Claim: docs/claims/marginal-synthesis.md (post-processing)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacita.common.yaml_text import load_yaml
from tacita.domain import Date, Domain, Numeric, Ordinal, encode
from tacita.domain.conditions import Condition, bin_ends
from tacita.errors import InvalidInput
from tacita.tables.cells import Cells

__all__ = ["Always", "AtMost", "Codes", "Follows", "IfThen", "Never", "Rule", "Rules"]

Array = NDArray[Any]
Mask = NDArray[np.bool_]
Codes = Mapping[str, Array]
_MOST_TRIED = 1 << 20
"""Most combinations of values that are tried to find one that keeps all rules."""


class Rule(Protocol):
    """Constraint on one row."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """Attributes of the rule."""

    def check(self, domain: Domain) -> None:
        """Refuse what the domain does not have."""

    def broken(self, domain: Domain, codes: Codes) -> Mask:
        """For each row whether it breaks the rule."""

    def as_dict(self) -> dict[str, Any]:
        """As it is written."""


def _met(conditions: Iterable[Condition], domain: Domain, codes: Codes) -> Mask:
    masks = [each.on_codes(domain[each.attribute])[codes[each.attribute]] for each in conditions]
    return np.asarray(np.logical_and.reduce(masks), bool)


def _names(conditions: Iterable[Condition]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.attribute for each in conditions))


@dataclass(frozen=True, kw_only=True)
class Never:
    """Rows that meet all conditions do not exist: structural zeros."""

    conditions: tuple[Condition, ...]

    @property
    def attributes(self) -> tuple[str, ...]:
        """Attributes of the rule."""
        return _names(self.conditions)

    def check(self, domain: Domain) -> None:
        """Refuse what the domain does not have, and bins that a condition cuts."""
        for each in self.conditions:
            each.check(domain).on_codes(domain[each.attribute])

    def broken(self, domain: Domain, codes: Codes) -> Mask:
        """Whether all conditions are met."""
        return _met(self.conditions, domain, codes)

    def as_dict(self) -> dict[str, Any]:
        """As it is written."""
        return {"never": [str(each) for each in self.conditions]}


@dataclass(frozen=True, kw_only=True)
class Always:
    """All rows meet all conditions."""

    conditions: tuple[Condition, ...]

    @property
    def attributes(self) -> tuple[str, ...]:
        """Attributes of the rule."""
        return _names(self.conditions)

    def check(self, domain: Domain) -> None:
        """Refuse what the domain does not have, and bins that a condition cuts."""
        for each in self.conditions:
            each.check(domain).on_codes(domain[each.attribute])

    def broken(self, domain: Domain, codes: Codes) -> Mask:
        """Whether some condition is not met."""
        return ~_met(self.conditions, domain, codes)

    def as_dict(self) -> dict[str, Any]:
        """As it is written."""
        return {"always": [str(each) for each in self.conditions]}


@dataclass(frozen=True, kw_only=True)
class IfThen:
    """Rows that meet all of the first conditions meet all of the second."""

    given: tuple[Condition, ...]
    then: tuple[Condition, ...]

    @property
    def attributes(self) -> tuple[str, ...]:
        """Attributes of the rule."""
        return _names((*self.given, *self.then))

    def check(self, domain: Domain) -> None:
        """Refuse what the domain does not have, and bins that a condition cuts."""
        for each in (*self.given, *self.then):
            each.check(domain).on_codes(domain[each.attribute])

    def broken(self, domain: Domain, codes: Codes) -> Mask:
        """Whether the first are met and the second are not."""
        return np.asarray(_met(self.given, domain, codes) & ~_met(self.then, domain, codes))

    def as_dict(self) -> dict[str, Any]:
        """As it is written."""
        return {"if": [str(each) for each in self.given], "then": [str(each) for each in self.then]}


@dataclass(frozen=True, kw_only=True)
class AtMost:
    """One attribute is not above another, where both are there."""

    low: str
    high: str

    @property
    def attributes(self) -> tuple[str, ...]:
        """Attributes of the rule."""
        return (self.low, self.high)

    def check(self, domain: Domain) -> None:
        """Refuse attributes that cannot be compared."""
        low, high = (domain[name] for name in domain.check_countable(self.attributes))
        same = isinstance(low, Ordinal) and isinstance(high, Ordinal) and low.levels == high.levels
        if not same and not any(isinstance(low, kind) and isinstance(high, kind) for kind in (Numeric, Date)):
            raise InvalidInput(
                "must be two numbers, two dates, or two attributes with the same ordered levels",
                field="at_most",
                value=list(self.attributes),
            )

    def broken(self, domain: Domain, codes: Codes) -> Mask:
        """Whether even the least value of the first bin is above the largest of the second."""
        low, high = domain[self.low], domain[self.high]
        if isinstance(low, Numeric | Date) and isinstance(high, Numeric | Date):
            least, largest = bin_ends(low)[0], bin_ends(high)[1]
        else:
            least = largest = np.arange(len(low.labels), dtype=float)
        # a bucket is neither above nor below anything
        least = np.append(least, np.full(low.size - least.size, -np.inf))
        largest = np.append(largest, np.full(high.size - largest.size, np.inf))
        return np.asarray(least[codes[self.low]] > largest[codes[self.high]])

    def fits(self, rows: pa.Table) -> Mask:
        """For each decoded row whether its numbers keep the rule; labels of bins are no numbers."""
        low, high = rows[self.low], rows[self.high]
        if pa.types.is_string(low.type) or pa.types.is_string(high.type):
            return np.ones(rows.num_rows, bool)
        kept = pc.fill_null(pc.less_equal(low, high), True)
        return np.asarray(kept.to_numpy(zero_copy_only=False), bool)

    def as_dict(self) -> dict[str, Any]:
        """As it is written."""
        return {"at_most": [self.low, self.high]}


@dataclass(frozen=True, kw_only=True)
class Follows:
    """An attribute is determined by another; levels that are not listed leave it as it is drawn."""

    attribute: str
    source: str
    values: tuple[tuple[str, str], ...]

    @property
    def attributes(self) -> tuple[str, ...]:
        """Attributes of the rule."""
        return (self.source, self.attribute)

    def check(self, domain: Domain) -> None:
        """Refuse levels that are none."""
        domain.check_countable(self.attributes)
        self._map(domain)

    def _map(self, domain: Domain) -> Array:
        """For each code of the source the code that it makes, -1 where it makes none."""
        source, made = domain[self.source], np.full(domain[self.source].size, -1, np.int64)
        for level, value in self.values:
            if level not in source.all_labels:
                raise InvalidInput("is no level of this attribute", field=self.source, value=level)
            made[source.all_labels.index(level)] = self._code(domain, value)
        return made

    def _code(self, domain: Domain, value: str) -> int:
        target = domain[self.attribute]
        if value in target.all_labels:
            return target.all_labels.index(value)
        code = int(encode(target, pa.array([value]))[0])
        if code >= len(target.labels):
            raise InvalidInput("is no value of this attribute", field=self.attribute, value=value)
        return code

    def set(self, domain: Domain, codes: Codes) -> dict[str, Array]:
        """The rows with the attribute set."""
        made = self._map(domain)[codes[self.source]]
        column = codes[self.attribute]
        return {**codes, self.attribute: np.where(made >= 0, made, column).astype(column.dtype)}

    def broken(self, domain: Domain, codes: Codes) -> Mask:
        """Whether the attribute is another than the one that is made."""
        made = self._map(domain)[codes[self.source]]
        return np.asarray((made >= 0) & (made != codes[self.attribute]))

    def moved(self, domain: Domain, table: Cells) -> Cells:
        """A table of shares with all of it where the attribute is set."""
        axes = [table.attributes.index(self.source), table.attributes.index(self.attribute)]
        values = np.moveaxis(table.values.astype(float), axes, (0, 1)).copy()
        for code, made in enumerate(self._map(domain)):
            if made >= 0:
                total = values[code].sum(axis=0)
                values[code] = 0
                values[code, made] = total
        return Cells(table.domain, np.moveaxis(values, (0, 1), axes))

    def as_dict(self) -> dict[str, Any]:
        """As it is written."""
        return {"follows": self.attribute, "from": self.source, "as": dict(self.values)}


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Several rules; what follows is set first, in order, then the others are asked.

    >>> Rules.from_text("rules: [{if: age < 16, then: married = no}]").rules[0].as_dict()
    {'if': ['age < 16'], 'then': ['married = no']}
    """

    rules: tuple[Rule, ...]

    def __post_init__(self) -> None:
        if not self.rules:
            raise InvalidInput("must be at least one rule", field="rules")

    @classmethod
    def from_text(cls, text: str) -> Rules:
        """Rules from YAML or JSON text: a list under `rules`."""
        return cls.from_dict(load_yaml(text, field="rules"))

    @classmethod
    def from_dict(cls, data: Any) -> Rules:
        """Rules from plain data."""
        if not isinstance(data, Mapping) or set(data) != {"rules"} or not isinstance(data["rules"], list):
            raise InvalidInput("must be a list under `rules`", field="rules")
        return cls(rules=tuple(_rule(each) for each in data["rules"]))

    @classmethod
    def read(cls, path: str | Path) -> Rules:
        """Rules from a file."""
        try:
            return cls.from_text(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            raise InvalidInput("cannot be read as UTF-8 text", field="rules", value=path) from None

    def check(self, domain: Domain) -> Rules:
        """These rules, if the domain has all that they are about."""
        for rule in self.rules:
            rule.check(domain)
        if domain.project(self.attributes).size <= _MOST_TRIED and not self._allow_some(domain):
            raise InvalidInput("contradict each other: no row can keep them all", field="rules")
        return self

    def _allow_some(self, domain: Domain) -> bool:
        """Whether some combination of values keeps all rules; public, because it reads the schema alone."""
        over = domain.project(self.attributes)
        codes = dict(zip(over.names, np.indices(over.shape).reshape(len(over.names), -1), strict=True))
        return bool(self.hold(domain, self.set(domain, codes)).any())

    @property
    def attributes(self) -> tuple[str, ...]:
        """All that they are about."""
        return tuple(dict.fromkeys(name for rule in self.rules for name in rule.attributes))

    def set(self, domain: Domain, codes: Codes) -> Codes:
        """The rows with what follows set."""
        for rule in self.rules:
            if isinstance(rule, Follows):
                codes = rule.set(domain, codes)
        return codes

    def hold(self, domain: Domain, codes: Codes) -> Mask:
        """For each row whether it keeps all rules."""
        kept = np.ones(len(next(iter(codes.values()))), bool)
        for rule in self.rules:
            kept &= ~rule.broken(domain, codes)
        return kept

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"rules": [rule.as_dict() for rule in self.rules]}


def _rule(data: Any) -> Rule:
    if isinstance(data, Mapping):
        keys = set(data)
        if keys == {"never"}:
            return Never(conditions=_conditions(data["never"]))
        if keys == {"always"}:
            return Always(conditions=_conditions(data["always"]))
        if keys == {"if", "then"}:
            return IfThen(given=_conditions(data["if"]), then=_conditions(data["then"]))
        if keys == {"at_most"} and isinstance(data["at_most"], list) and len(data["at_most"]) == 2:
            return AtMost(low=str(data["at_most"][0]), high=str(data["at_most"][1]))
        if keys == {"follows", "from", "as"} and isinstance(data["as"], Mapping):
            pairs = tuple((str(level), str(value)) for level, value in data["as"].items())
            return Follows(attribute=str(data["follows"]), source=str(data["from"]), values=pairs)
    raise InvalidInput(
        "must be `never`, `always`, `if` with `then`, `at_most` with two attributes, or `follows` with `from` and `as`",
        field="rules",
        value=sorted(map(str, data)) if isinstance(data, Mapping) else data,
    )


def _conditions(data: Any) -> tuple[Condition, ...]:
    texts = data if isinstance(data, list) else [data]
    if not texts:
        raise InvalidInput("must be at least one condition", field="rules")
    return tuple(Condition.parse(text) for text in texts)

"""The domain: the public description of the attributes.

Everything here is public by declaration (privacy rule 4). Parts that `infer` read off private data are listed in an
attribute's `derived` until a person confirms them; until then `require_public` refuses the domain.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import yaml
from pydantic import Field, model_validator

from tacita.common.whole import write_text
from tacita.common.yaml_text import load_yaml
from tacita.domain.attributes import Attribute, Frozen
from tacita.domain.dialect import CsvDialect
from tacita.domain.encode import Codes, encode
from tacita.domain.faults import find_faults
from tacita.errors import InvalidInput, NotPublic, SchemaError, UnknownName

__all__ = ["Domain"]


class Domain(Frozen):
    """Ordered attributes with their levels, bins, buckets and roles, and the column that names a person.

    >>> from tacita.domain import Categorical, Numeric
    >>> domain = Domain(attributes=[
    ...     Categorical(name="smokes", levels=["never", "daily"]),
    ...     Numeric(name="age", bounds=(0, 99), edges=(0, 18, 65, 99), integer=True, missing=True),
    ... ])
    >>> domain.shape
    (2, 4)
    >>> domain["age"].all_labels
    ('0..17', '18..64', '65..99', '(missing)')
    """

    tacita: Literal[1] = Field(default=1, description="Version of this format.")
    title: str = ""
    person: str | None = Field(
        default=None, description="The column that names the person a row belongs to; an identifier."
    )
    nulls: tuple[str, ...] = Field(default=("",), description="Texts that mean a missing value.")
    csv: CsvDialect = Field(default=CsvDialect(), description="How text files of this data are written.")
    attributes: tuple[Attribute, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check(self) -> Domain:
        names = [attribute.name for attribute in self.attributes]
        twice = [name for name, times in Counter(names).items() if times > 1]
        if twice:
            raise ValueError(f"attribute names must be distinct, {min(twice)!r} is there twice")
        if self.person is not None:
            if self.person not in names:
                raise ValueError(f"person must name an attribute, {self.person!r} is none")
            if self[self.person].kind != "identifier":
                raise ValueError(f"person must be of kind identifier, {self.person!r} is {self[self.person].kind}")
        return self

    # -- names and sizes ------------------------------------------------------------------------------------------

    @cached_property
    def _by_name(self) -> dict[str, Attribute]:
        return {attribute.name: attribute for attribute in self.attributes}

    def __getitem__(self, name: str) -> Attribute:
        try:
            return self._by_name[name]
        except KeyError:
            raise UnknownName(name, field="attribute", available=self._by_name) from None

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[str]:  # type: ignore[override]
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self.attributes)

    @property
    def names(self) -> tuple[str, ...]:
        """All attribute names, in order."""
        return tuple(self._by_name)

    @cached_property
    def countable(self) -> tuple[str, ...]:
        """Names of the attributes that tables can be over: all but identifiers."""
        return tuple(attribute.name for attribute in self.attributes if attribute.countable)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of codes of every attribute."""
        return tuple(attribute.size for attribute in self.attributes)

    @cached_property
    def size(self) -> int:
        """Number of cells of the full table."""
        return math.prod(self.shape)

    # -- set algebra ----------------------------------------------------------------------------------------------

    def project(self, names: Iterable[str]) -> Domain:
        """The domain of some attributes, in the order given."""
        chosen = self.check_countable(names)
        return self.model_copy(update={"person": None, "attributes": tuple(self[name] for name in chosen)})._fresh()

    def _fresh(self) -> Domain:
        for cached in ("_by_name", "countable", "shape", "size", "fingerprint"):
            self.__dict__.pop(cached, None)
        return self

    def merge(self, other: Domain) -> Domain:
        """Add the attributes that only the other domain has; attributes they share must be the same."""
        for name in other:
            if name in self and self[name] != other[name]:
                raise InvalidInput("two domains describe it differently", field=name)
        new = tuple(attribute for attribute in other.attributes if attribute.name not in self)
        return self.model_copy(update={"attributes": self.attributes + new})._fresh()

    def check_countable(self, names: Iterable[str]) -> tuple[str, ...]:
        """The names as a tuple, after checking that a table over them exists."""
        if isinstance(names, str):
            raise InvalidInput("must be a list of names", field="attributes", value=names)
        chosen = tuple(names)
        for name in chosen:
            if not self[name].countable:
                raise InvalidInput("an identifier cannot be counted", field="attribute", value=name)
        if len(set(chosen)) != len(chosen):
            raise InvalidInput("must be distinct", field="attributes", value=list(chosen))
        return chosen

    # -- what is public -------------------------------------------------------------------------------------------

    @property
    def unconfirmed(self) -> dict[str, tuple[str, ...]]:
        """Parts that came from private data and are not confirmed yet, by attribute."""
        return {a.name: a.derived for a in self.attributes if a.derived}

    def confirm(self, names: Iterable[str] | None = None) -> Domain:
        """The domain after a person has confirmed these attributes (all, if none are named)."""
        chosen = set(self.names if names is None else names)
        for name in chosen:
            self[name]  # an unknown name is refused, not ignored
        kept = tuple(a.confirmed() if a.name in chosen else a for a in self.attributes)
        return self.model_copy(update={"attributes": kept})._fresh()

    def require_public(self) -> None:
        """Refuse to go on while a part of the domain was read off private data (privacy rule 4)."""
        for name, parts in self.unconfirmed.items():
            raise NotPublic(
                f"its {' and '.join(parts)} came from private data and no one has confirmed them as public",
                field=name,
                hint="Look at the schema, correct it, then run `tacita schema confirm`",
            )

    @cached_property
    def fingerprint(self) -> str:
        """A short digest that two parties compare to know that they use the same domain; files may differ."""
        described = {name: part for name, part in self.as_dict().items() if name != "csv"}
        canonical = json.dumps(described, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    # -- data -----------------------------------------------------------------------------------------------------

    def encode(self, batch: pa.RecordBatch | pa.Table, names: Sequence[str] | None = None) -> dict[str, Codes]:
        """Integer codes of the named columns of a batch (all countable ones, if none are named)."""
        chosen = self.countable if names is None else self.check_countable(names)
        return {name: encode(self[name], batch.column(name), self.nulls) for name in chosen}

    # -- reading and writing --------------------------------------------------------------------------------------

    def as_dict(self) -> dict[str, Any]:
        """Plain data, with what is at its default left out."""
        data = self.model_dump(mode="json", exclude_defaults=True)
        shown = [{"name": a.name, "kind": a.kind} | d for a, d in zip(self.attributes, data["attributes"], strict=True)]
        return {"tacita": 1} | data | {"attributes": shown}

    def to_json(self) -> str:
        """The domain as JSON text."""
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False) + "\n"

    def to_yaml(self) -> str:
        """The domain as YAML text."""
        return yaml.safe_dump(self.as_dict(), sort_keys=False, allow_unicode=True, default_flow_style=None, width=110)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Domain:
        """A domain from plain data."""
        if not isinstance(data, Mapping):
            raise SchemaError("must be a mapping with the key `attributes`", field="schema", value=type(data).__name__)
        try:
            return cls(**data)
        except SchemaError:
            faults = find_faults(data, cls.model_fields)
            if not faults:  # the parts are right, and do not fit together
                raise
            if len(faults) == 1:
                field, _, rule = faults[0].partition(": ")
                raise SchemaError(rule, field=field) from None
            more = "; ".join(faults)
            raise SchemaError(f"has {len(faults)} faults: {more}", field="schema") from None

    @classmethod
    def from_text(cls, text: str) -> Domain:
        """A domain from YAML or JSON text (JSON is YAML)."""
        return cls.from_dict(load_yaml(text, field="schema", error=SchemaError))

    @classmethod
    def read(cls, path: str | Path) -> Domain:
        """A domain from a YAML or JSON file."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise SchemaError("no such file", field="schema", value=path) from None
        except (OSError, UnicodeDecodeError) as error:
            raise SchemaError("cannot be read as UTF-8 text", field="schema", value=f"{path}: {error}") from None
        return cls.from_text(text)

    def write(self, path: str | Path) -> None:
        """Write a YAML file, or a JSON file when the name ends in .json."""
        text = self.to_json() if str(path).endswith(".json") else self.to_yaml()
        write_text(path, text)

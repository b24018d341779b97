"""Several tables at once: those that are needed (`Workload`) and their exact counts (`Tables`)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from tacita.domain import Domain
from tacita.errors import InvalidInput, UnknownName
from tacita.tables.table import SensitiveError, Table

__all__ = ["Tables", "Workload"]

Key = tuple[str, ...]


MOST_RATIO = 1e9
"""Largest ratio of two weights; beyond it a table would have no noise to speak of, or nothing but noise."""


@dataclass(frozen=True)
class Workload:
    """Tables that are needed, each with a weight.

    >>> Workload.of(["age"], ["age", "sex"]).keys
    (('age',), ('age', 'sex'))
    """

    keys: tuple[Key, ...]
    weights: tuple[float, ...] = field(default=())

    def __post_init__(self) -> None:
        keys = tuple(tuple(key) for key in self.keys)
        object.__setattr__(self, "keys", keys)
        object.__setattr__(self, "weights", tuple(self.weights) or (1.0,) * len(keys))
        if not keys:
            raise InvalidInput("must ask for at least one table", field="workload")
        if len({frozenset(key) for key in keys}) != len(keys):
            raise InvalidInput("asks for the same table twice", field="workload")
        if len(self.weights) != len(keys) or not all(0 < w < float("inf") for w in self.weights):
            raise InvalidInput("needs one positive weight for each table", field="weights", value=self.weights)
        if self.weights and max(self.weights) > MOST_RATIO * min(self.weights):
            rule = f"the largest must be at most {MOST_RATIO:g} times the smallest"
            raise InvalidInput(rule, field="weights", value=self.weights)

    @classmethod
    def of(cls, *keys: Iterable[str]) -> Workload:
        """A workload of the named tables, all weighing the same."""
        return cls(tuple(tuple(key) for key in keys))

    @classmethod
    def all(cls, domain: Domain, ways: int) -> Workload:
        """All tables over `ways` attributes."""
        if not 1 <= ways <= len(domain.countable):
            raise InvalidInput(f"must be 1 to {len(domain.countable)}", field="ways", value=ways)
        return cls(tuple(itertools.combinations(domain.countable, ways)))

    @classmethod
    def sample(cls, domain: Domain, ways: int, count: int, *, seed: int) -> Workload:
        """Some of the tables over `ways` attributes, drawn without looking at data."""
        every = cls.all(domain, ways).keys
        if count > len(every):
            raise InvalidInput(f"there are only {len(every)} tables of that kind", field="count", value=count)
        chosen = np.random.default_rng(seed).choice(len(every), size=count, replace=False)
        return cls(tuple(every[i] for i in sorted(chosen)))

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[Key]:
        return iter(self.keys)

    @property
    def attributes(self) -> Key:
        """All attributes that occur, in order of first use."""
        return tuple(dict.fromkeys(name for key in self.keys for name in key))

    def check(self, domain: Domain) -> Workload:
        """This workload, after checking that the domain has all of its tables."""
        for key in self.keys:
            domain.check_countable(key)
        return self


class Tables(Mapping[Key, Table]):
    """Exact tables of one workload; sensitive. `project` uses the smallest table that has the attributes."""

    __slots__ = ("_tables", "domain")

    def __init__(self, domain: Domain, tables: Mapping[Key, Table]) -> None:
        self.domain = domain
        self._tables = dict(tables)
        for key, table in self._tables.items():
            if table.attributes != key:
                raise InvalidInput("a table must be over its key", field=str(key), value=table.attributes)

    def __getitem__(self, key: Iterable[str]) -> Table:
        wanted = tuple(key)
        if wanted not in self._tables:
            raise UnknownName(
                " x ".join(wanted), field="table", available=[" x ".join(known) for known in self._tables]
            )
        return self._tables[wanted]

    def __contains__(self, key: object) -> bool:
        return key in self._tables

    def __iter__(self) -> Iterator[Key]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def _covering(self, attributes: Iterable[str]) -> Table | None:
        wanted = set(attributes)
        fitting = [table for table in self._tables.values() if table.supports(wanted)]
        return min(fitting, key=lambda table: table.domain.size, default=None)

    def supports(self, attributes: Iterable[str]) -> bool:
        """Whether some table holds all of these."""
        return self._covering(attributes) is not None

    def project(self, attributes: Iterable[str]) -> Table:
        """The table over these attributes."""
        wanted = tuple(attributes)
        table = self._covering(wanted)
        if table is None:
            available = [" x ".join(key) for key in self._tables]
            raise UnknownName(" x ".join(wanted), field="table", available=available)
        return table.project(wanted)

    def __repr__(self) -> str:
        return f"Tables({len(self)} over {', '.join(self.domain.names)})"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise SensitiveError("tables hold exact counts and cannot be serialised", field="tables")

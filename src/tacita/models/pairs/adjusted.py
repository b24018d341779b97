"""A model with some tables of two attributes set right: those that it fits worse than noise explains.

Rows are drawn from the model and moved to its tables, with the better ones in their place (`matching`). A table over
more attributes is the model's own, scaled to the better ones inside.

Privacy: none of its own; it is as private as the model and the tables are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Domain, code_dtype
from tacita.errors import InvalidInput
from tacita.models.pairs.matching import LEAST_ROWS, SWEEPS, match_rows
from tacita.models.pairs.pair_shares import coded, pair_shares, put_table
from tacita.tables.cells import Cells
from tacita.tables.consistency import rake

__all__ = ["Adjusted"]

Pair = tuple[str, str]
_DIGITS = 9
_ROUNDING = 1e-6


class _Model(Protocol):
    """A model that draws rows and gives tables."""

    @property
    def domain(self) -> Domain: ...

    def sample(self, rows: int, rng: np.random.Generator) -> Mapping[str, NDArray[Any]]: ...

    def supports(self, attributes: Iterable[str]) -> bool: ...

    def project(self, attributes: Iterable[str]) -> Cells: ...

    def as_dict(self) -> dict[str, Any]: ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Adjusted:
    """A model and better tables of two attributes.

    Args:
        model: The model.
        tables: Shares by pair of attributes, in the order of the domain. The margins are those of the model.
    """

    model: _Model = field(repr=False)
    tables: Mapping[Pair, Cells] = field(repr=False)

    def __post_init__(self) -> None:
        place = {name: at for at, name in enumerate(self.domain.names)}
        for pair, table in self.tables.items():
            if len(pair) != 2 or not set(pair) <= set(place) or place[pair[0]] >= place[pair[1]]:
                raise InvalidInput("must be two attributes in the order of the domain", field="tables", value=pair)
            if table.attributes != pair or table.shape != self.domain.project(pair).shape:
                raise InvalidInput("must be over its two attributes", field="tables", value=pair)
            if not ((table.values >= 0).all() and abs(float(table.values.sum()) - 1) <= _ROUNDING):
                raise InvalidInput("must be non-negative and sum to 1", field="tables", value=pair)
        object.__setattr__(self, "tables", MappingProxyType(dict(self.tables)))

    @property
    def domain(self) -> Domain:
        """Attributes of the model."""
        return self.model.domain

    @cached_property
    def _shares(self) -> NDArray[np.float64]:
        shares = pair_shares(self.model).copy()
        for pair, table in self.tables.items():
            put_table(shares, self.domain, pair, table.values)
        return shares

    def pair_shares(self) -> NDArray[np.float64]:
        """All tables of two attributes, see `pair_shares`."""
        return self._shares

    def sample(self, rows: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Draw the codes of synthetic rows, moved to the tables of two attributes."""
        drawn = self.model.sample(rows, rng)
        if rows < LEAST_ROWS:
            return dict(drawn)
        moved = match_rows(self.domain, coded(self.domain, drawn), self._shares, rng, sweeps=2 * SWEEPS)
        return {
            name: moved[:, place].astype(code_dtype(self.domain[name].size))
            for place, name in enumerate(self.domain.names)
        }

    def supports(self, attributes: Iterable[str]) -> bool:
        """Whether all these attributes are here."""
        return self.model.supports(attributes)

    def project(self, attributes: Iterable[str]) -> Cells:
        """The table of shares over these attributes."""
        names = tuple(attributes)
        table = self.model.project(names)
        pairs = list(combinations([name for name in self.domain.names if name in names], 2))
        if not any(pair in self.tables for pair in pairs):
            return table
        return rake(table, [self.tables.get(pair) or self.model.project(pair) for pair in pairs])

    def as_dict(self) -> dict[str, Any]:
        """Plain data, rounded to nine digits after the point."""
        tables = [
            {"attributes": list(pair), "shares": table.values.round(_DIGITS).reshape(-1).tolist()}
            for pair, table in self.tables.items()
        ]
        return {"tacita": "adjusted/1", "model": self.model.as_dict(), "tables": tables}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], read: Callable[[Mapping[str, Any]], _Model]) -> Adjusted:
        """Read the output of `as_dict`; `read` reads the model inside."""
        if data.get("tacita") != "adjusted/1":
            raise InvalidInput("must be `adjusted/1`", field="tacita", value=data.get("tacita"))
        model = read(data["model"])
        tables = {}
        for each in data["tables"]:
            over = model.domain.project(each["attributes"])
            shares = np.array(each["shares"], float)
            if shares.size != over.size:
                raise InvalidInput(f"must hold {over.size} numbers", field="shares", value=shares.size)
            tables[over.names[0], over.names[-1]] = Cells(over, shares.reshape(over.shape))
        return cls(model=model, tables=tables)

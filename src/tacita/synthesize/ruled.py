"""A model given that rules hold: rows that break one are drawn again, and what follows from another is set.

Privacy:  post-processing of the model; the rules are public and cost nothing.
Utility:  rejection is exact: rows come from the model given that the rules hold, and tables are those of the same
          distribution. Where numbers are drawn inside bins, rows whose numbers break `at_most` are drawn again as well.
Claim: docs/claims/marginal-synthesis.md (post-processing)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.synthesize.rules import AtMost, Codes, Follows, Rules
from tacita.tables.cells import MAX_DENSE, Cells

__all__ = ["RAREST", "Ruled"]

RAREST = 200
"""Rules that fewer than one row in so many keeps are refused."""
_MOST_DRAWN = 2 * RAREST
"""Rows that are drawn for each row that is asked for, before giving up; and so many more."""
_MORE_DRAWN = 1_000_000
_LOOK = 100_000
_EXACT = 1 << 20  # cells over which the share of refused rows is summed exactly


class _Drawn(Protocol):
    """A model under rules: draws rows and gives tables."""

    @property
    def domain(self) -> Domain: ...

    def sample(self, rows: int, rng: np.random.Generator) -> Codes: ...

    def supports(self, attributes: Iterable[str]) -> bool: ...

    def project(self, attributes: Iterable[str]) -> Cells: ...

    def as_dict(self) -> dict[str, Any]: ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Ruled:
    """A model given that rules hold. Stands wherever the model does."""

    model: _Drawn = field(repr=False)
    rules: Rules

    def __post_init__(self) -> None:
        self.rules.check(self.model.domain)

    @property
    def domain(self) -> Domain:
        """Attributes of the model."""
        return self.model.domain

    def sample(self, rows: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Draw codes of synthetic rows that satisfy the rules: a row that breaks one is drawn again."""
        kept: list[Codes] = []
        have, drawn, batch = 0, 0, rows
        while True:
            codes = self.rules.set(self.domain, self.model.sample(batch, rng))
            good = self.rules.hold(self.domain, codes)
            kept.append({name: column[good] for name, column in codes.items()})
            have, drawn = have + int(good.sum()), drawn + batch
            if have >= rows:
                break
            if drawn > _MOST_DRAWN * rows + _MORE_DRAWN:
                raise InvalidInput(
                    f"fewer than one row in {RAREST} keeps them",
                    field="rules",
                    value=f"{have} of {drawn}",
                    hint="A rule may be too strict, or the model is little but noise",
                )
            batch = min(int(1.2 * (rows - have) * drawn / max(have, 1)) + 16, 4 * rows + 1024)
        return {name: np.concatenate([part[name] for part in kept])[:rows] for name in self.domain.names}

    def fits(self, rows: pa.Table) -> NDArray[np.bool_]:
        """For each decoded row whether its numbers satisfy the rules, which bins alone cannot decide."""
        kept = np.ones(rows.num_rows, bool)
        for rule in self.rules.rules:
            if isinstance(rule, AtMost):
                kept &= rule.fits(rows)
        return kept

    @cached_property
    def refused(self) -> float:
        """The share of rows that is drawn again, under the model; from draws where the table would be too large."""
        over = self.domain.project(self.rules.attributes)
        if over.size <= _EXACT:
            return max(0.0, 1 - float(self._masked(over.names).sum()))
        codes = self.rules.set(self.domain, self.model.sample(_LOOK, np.random.default_rng(0)))
        return float(1 - self.rules.hold(self.domain, codes).mean())

    def note(self) -> str:
        """Effect of the rules, in words."""
        return (
            f"{len(self.rules.rules)} public rules hold for all rows; {self.refused:.2%} of the rows are drawn again."
        )

    def supports(self, attributes: Iterable[str]) -> bool:
        """Whether all these attributes are here."""
        return self.model.supports(attributes)

    def project(self, attributes: Iterable[str]) -> Cells:
        """The table of shares over these attributes, given that the rules hold."""
        wanted = tuple(attributes)
        masked = self._masked(tuple(dict.fromkeys((*wanted, *self.rules.attributes))))
        total = float(masked.sum())
        if total <= 0:
            raise InvalidInput("allow no row at all", field="rules")
        return Cells(masked.domain, masked.values / total).project(wanted)

    def _masked(self, names: tuple[str, ...]) -> Cells:
        """The model's table with what follows set and what cannot be at 0."""
        over = self.domain.project(names)
        if over.size > MAX_DENSE:
            hint = "Sample rows and count"
            raise InvalidInput(f"takes a table of more than {MAX_DENSE} cells", field="attributes", hint=hint)
        table = Cells(over, self.model.project(names).values)
        for rule in self.rules.rules:
            if isinstance(rule, Follows):
                table = rule.moved(self.domain, table)
        grid = np.indices(over.shape).reshape(len(names), -1)
        allowed = self.rules.hold(self.domain, dict(zip(names, grid, strict=True)))
        return Cells(over, table.values * allowed.reshape(over.shape))

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"tacita": "ruled/1", "model": self.model.as_dict(), **self.rules.as_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], read: Callable[[Mapping[str, Any]], _Drawn]) -> Ruled:
        """Read the output of `as_dict`; `read` reads the model inside."""
        if data.get("tacita") != "ruled/1":
            raise InvalidInput("must be `ruled/1`", field="tacita", value=data.get("tacita"))
        return cls(model=read(data["model"]), rules=Rules.from_dict({"rules": data["rules"]}))

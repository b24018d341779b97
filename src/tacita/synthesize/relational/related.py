"""Two synthetic tables that join: parents with new keys, and children that refer to them.

Privacy: both models were fitted to released tables; rows are post-processing, and keys are new.
Utility: children keep the dependence on their parent's attributes and on their number; two children of one parent are
alike only through these.   Claim: docs/claims/relational.md
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.domain import Decode, Domain
from tacita.errors import InvalidInput
from tacita.models.mixture import Mixture
from tacita.models.synthetic import synthetic_rows
from tacita.synthesize.conditional import draw_given
from tacita.synthesize.keys import KeyKind, new_keys
from tacita.synthesize.relational.folder import Form, write_folder
from tacita.synthesize.result import Synthesized
from tacita.tables.cells import Cells
from tacita.tables.envelope import Envelope

__all__ = ["Related"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Related(Envelope):
    """Models of parents and of their children.

    Attributes:
        parents: Of a parent's attributes and the number of its children.
        children: Of a child's attributes together with those of its parent, one row for each child.
        count: Name of the number of children; it is released as the number of rows.
        key, link: The columns of keys in the two tables.
        event: Cost of both together.
        unit, neighbours: A person is a parent with its children, of whom at most `unit.max_rows` count.
    """

    mark: ClassVar[str] = "related/1"
    released: ClassVar[str] = "Both models and all rows drawn from them are"

    parents: Synthesized
    children: Mixture = field(repr=False)
    count: str
    key: str
    link: str
    notes: tuple[str, ...]

    # -- Projectable ----------------------------------------------------------------------------------------------

    @property
    def domain(self) -> Domain:
        """Attributes of a child and its parent."""
        return self.children.domain

    def supports(self, attributes: Iterable[str]) -> bool:
        """Whether all these attributes are here."""
        return self.children.supports(attributes)

    def project(self, attributes: Iterable[str]) -> Cells:
        """The table of shares: of parents if only they have these attributes, of children otherwise."""
        names = tuple(attributes)
        return (self.parents if self.parents.supports(names) else self.children).project(names)

    def protected(self) -> str:
        """Unit that is protected, and against what change."""
        return f"a person, who is a parent with all of its children ({self.unit}), under {self.neighbours}"

    # -- rows -----------------------------------------------------------------------------------------------------

    def sample(
        self, parents: int, rng: np.random.Generator, *, policy: Decode = "label", keys: KeyKind = "sequence"
    ) -> tuple[pa.Table, pa.Table]:
        """Draw synthetic parents and their children; every child refers to one of the parents.

        Args:
            parents: Number of parents. The number of children is drawn.
            rng: For the draws.
            policy: How bins are decoded.
            keys: Kind of the new keys.
        """
        if type(parents) is not int or parents < 0:
            raise InvalidInput("must be a whole number of 0 or more", field="parents", value=parents)
        above = {name: np.asarray(codes) for name, codes in self.parents.model.sample(parents, rng).items()}
        number = above[self.count].astype(np.int64)
        of = np.repeat(np.arange(parents), number)
        below = [name for name in self.domain.names if name not in above]
        given = {name: codes[of].astype(np.int64) for name, codes in above.items()}
        drawn = draw_given(self.children, given, below, rng)
        named = new_keys(parents, keys, rng=rng)
        first = self._rows({name: codes for name, codes in above.items() if name != self.count}, parents, rng, policy)
        second = self._rows(drawn, of.size, rng, policy)
        return first.add_column(0, self.key, named), second.add_column(0, self.link, named.take(pa.array(of)))

    def _rows(self, codes: Mapping[str, NDArray[Any]], rows: int, rng: np.random.Generator, policy: Decode) -> pa.Table:
        simulated = self.provenance.simulated
        return synthetic_rows(
            self.domain, _Drawn(codes), rows, rng, event=self.event, policy=policy, simulated=simulated
        )

    def write(
        self,
        folder: str | Path,
        parents: int,
        rng: np.random.Generator,
        *,
        policy: Decode = "label",
        keys: KeyKind = "sequence",
        form: Form = "parquet",
    ) -> list[Path]:
        """Write `parents` and `children`, and `release.json` about them. The folder appears when it is whole."""
        first, second = self.sample(parents, rng, policy=policy, keys=keys)
        return write_folder(folder, {"parents": first, "children": second}, json.dumps(super().as_dict()), form)

    # -- plain data -----------------------------------------------------------------------------------------------

    def parts(self) -> dict[str, Any]:
        """Own fields except the models, as plain data."""
        return {
            "count": self.count,
            "key": self.key,
            "link": self.link,
            "notes": list(self.notes),
            "guarantee": self.guarantee,
        }

    @staticmethod
    def parts_of(data: Mapping[str, Any]) -> dict[str, Any]:
        """The same as arguments again, and the models."""
        return {
            "parents": Synthesized.from_json(json.dumps(data["parents"])),
            "children": Mixture.from_dict(data["children"]),
            "count": data["count"],
            "key": data["key"],
            "link": data["link"],
            "notes": tuple(data["notes"]),
        }

    def as_dict(self) -> dict[str, Any]:
        """Plain data, the models last."""
        return super().as_dict() | {"parents": self.parents.as_dict(), "children": self.children.as_dict()}


@dataclass(frozen=True)
class _Drawn:
    """Codes that are drawn already."""

    codes: Mapping[str, NDArray[Any]]

    def sample(self, rows: int, rng: np.random.Generator) -> Mapping[str, NDArray[Any]]:
        return self.codes

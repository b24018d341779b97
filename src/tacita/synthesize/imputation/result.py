"""Result of imputation: m releases of rows, with no guarantee.

Privacy: none. Rows of a partial release belong to real people, cell for cell; synthetic rows can repeat what a model
has memorised. So the event is `NonPrivate`, which every ledger refuses, and the statement says that the risk must be
assessed before release.   Claim: docs/claims/imputation.md
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.domain import Decode, Domain, decode
from tacita.errors import InvalidInput
from tacita.privacy.event import NonPrivate
from tacita.synthesize.kinds import ImputedKind
from tacita.synthesize.relational.folder import Form, write_folder
from tacita.tables.cells import MAX_DENSE, Cells
from tacita.tables.combining import Combined, combine_full, combine_partial
from tacita.tables.release import Provenance

__all__ = ["Imputed"]


_WHAT = {
    "partial": "Partially synthetic: every row belongs to a real person, and cells that were not replaced are true.",
    "frame": "Fully synthetic over a frame: rows have what the frame knows of people, and all other cells are drawn.",
    "all": "Fully synthetic: every cell of every row is drawn.",
}
_ASSESS = "Nothing bounds what they reveal about one person. Assess the risk of disclosure before you release them."


@dataclass(frozen=True, kw_only=True, eq=False)
class Imputed:
    """Several releases of rows.

    Attributes:
        releases: One table for each, rows in an order drawn at random.
        origins: For the assessment, never written: the row of the data that each row of each release stands for, -1 for
            none.
        domain: The attributes.
        kind: "partial", or fully synthetic over a "frame" or with "all" attributes drawn.
        replaced: Attributes that were drawn, in order.
        people: Rows of the data.
        notes: Decisions, in words.
    """

    releases: tuple[pa.Table, ...] = field(repr=False)
    origins: tuple[NDArray[np.int64], ...] = field(repr=False)
    domain: Domain = field(repr=False)
    kind: ImputedKind
    replaced: tuple[str, ...]
    people: int
    notes: tuple[str, ...]
    provenance: Provenance = field(repr=False)

    @property
    def event(self) -> NonPrivate:
        """That nothing is promised."""
        return NonPrivate(reason=f"multiple imputation, {self.kind}")

    @property
    def guarantee(self) -> str:
        """None."""
        return "none"

    def statement(self) -> str:
        """Guarantee in words."""
        return f"No guarantee: made by imputation. {_WHAT[self.kind]} {_ASSESS}"

    # -- Projectable ----------------------------------------------------------------------------------------------

    def supports(self, attributes: Iterable[str]) -> bool:
        """Whether all these attributes are here."""
        return set(attributes) <= set(self.domain.names)

    def project(self, attributes: Iterable[str]) -> Cells:
        """The table of shares over these attributes, averaged over releases."""
        over = self.domain.project(attributes)
        if over.size > MAX_DENSE:
            raise InvalidInput(
                f"takes a table of more than {MAX_DENSE} cells", field="attributes", value=list(over.names)
            )
        counts = np.zeros(over.size)
        for release in self.releases:
            codes = over.encode(release, over.names)
            inside = np.logical_and.reduce([codes[name] < over[name].size for name in over.names])
            flat = np.ravel_multi_index([codes[name][inside].astype(np.int64) for name in over.names], over.shape)
            counts += np.bincount(flat, minlength=over.size)
        return Cells(over, (counts / max(1.0, counts.sum())).reshape(over.shape))

    # -- rows -----------------------------------------------------------------------------------------------------

    def sample(self, rows: int, rng: np.random.Generator, *, policy: Decode | None = None) -> pa.Table:
        """Rows drawn with replacement from all releases; for statistics, take the releases and `estimate`.

        Args:
            rows: Number of rows.
            rng: For the draws.
            policy: How bins are decoded, as in other synthesizers; the numbers themselves if None.
        """
        if type(rows) is not int or rows < 0:
            raise InvalidInput("must be a whole number of 0 or more", field="rows", value=rows)
        whole = pa.concat_tables(self.releases)
        if rows and not whole.num_rows:
            raise InvalidInput("there are no rows to draw from", field="rows", value=rows)
        drawn = whole.take(pa.array(rng.integers(0, max(1, whole.num_rows), rows)))
        if policy is None:
            return drawn
        codes = self.domain.encode(drawn, self.domain.names)
        uniforms = {name: rng.random(rows) if policy == "uniform" else None for name in self.domain.names}
        columns = {name: decode(self.domain[name], codes[name], policy, uniforms[name]) for name in self.domain.names}
        return pa.table(columns).replace_schema_metadata(drawn.schema.metadata)

    def estimate(self, statistic: Callable[[pa.Table], tuple[float, float]]) -> Combined:
        """An estimate from all releases by the rule of their kind.

        Args:
            statistic: An estimate and its variance from one release, as if its rows had been observed.
        """
        found = [statistic(release) for release in self.releases]
        estimates, variances = [value for value, _ in found], [variance for _, variance in found]
        if self.kind == "partial":
            return combine_partial(estimates, variances)
        return combine_full(estimates, variances, rows=self.releases[0].num_rows, people=self.people)

    def write(self, folder: str | Path, *, form: Form = "parquet") -> list[Path]:
        """Write one file for each release, and `release.json` about them. The folder appears when it is whole."""
        tables = {f"release-{place}": release for place, release in enumerate(self.releases, start=1)}
        return write_folder(folder, tables, self.to_json(), form)

    # -- plain data -----------------------------------------------------------------------------------------------

    def as_dict(self) -> dict[str, Any]:
        """Plain data about the releases, without their rows."""
        return {
            "tacita": "imputed/1",
            "guarantee": self.guarantee,
            "statement": self.statement(),
            "event": self.event.as_dict(),
            "kind": self.kind,
            "replaced": list(self.replaced),
            "releases": len(self.releases),
            "rows": self.releases[0].num_rows,
            "people": self.people,
            "domain": self.domain.as_dict(),
            "notes": list(self.notes),
            "provenance": self.provenance.as_dict(),
        }

    def to_json(self) -> str:
        """All of it but the rows as JSON text."""
        return json.dumps(self.as_dict(), ensure_ascii=False, allow_nan=False)

"""Recoded rows, for engines that can return their rows: the same values, labels and order in all engines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa

from tacita.domain import Domain
from tacita.engines.checking import check_reading
from tacita.errors import InvalidInput
from tacita.tables.recoding import Recoding, recode
from tacita.tables.recoding.render import check_leaving

__all__ = ["apply_recoding"]


def apply_recoding(
    recoding: Recoding,
    domain: Domain,
    columns: Iterable[str],
    batch_rows: int,
    rows: Callable[[Sequence[str]], Iterator[pa.RecordBatch]],
) -> Iterator[pa.RecordBatch]:
    """Recode rows and return them in batches.

    Args:
        recoding: Made for exactly these rows.
        domain: The schema.
        columns: Columns that are returned unchanged, after the quasi-identifiers.
        batch_rows: Most rows of a batch.
        rows: Returns the raw rows of some columns. All are held in memory, because the result is sorted.
    """
    if isinstance(columns, str):
        raise InvalidInput("must be a list of names", field="columns", value=columns)
    others = list(columns)
    check_leaving(recoding, others)
    names = check_reading(domain, [*recoding.names, *others], batch_rows)
    return _batches(recoding, domain, names, batch_rows, rows)


def _batches(
    recoding: Recoding,
    domain: Domain,
    names: list[str],
    batch_rows: int,
    rows: Callable[[Sequence[str]], Iterator[pa.RecordBatch]],
) -> Iterator[pa.RecordBatch]:
    parts = list(rows(names))
    if parts:
        table = recode(recoding, domain, pa.Table.from_batches(parts), names[len(recoding.names) :])
        yield from table.combine_chunks().to_batches(max_chunksize=batch_rows)

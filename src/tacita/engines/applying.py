"""Rows under a recoding, for engines that can give their rows: the same values, labels and order in all of them."""

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
    """The recoded rows in batches.

    Args:
        recoding: Made for just these rows.
        domain: What is public about them.
        columns: What comes unchanged, after the quasi-identifiers.
        batch_rows: Most rows of a batch.
        rows: Gives the raw rows of some columns. They are held as a whole, because the result is sorted.
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

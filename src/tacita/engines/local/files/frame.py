"""Frames: Arrow tables, and anything that exports an Arrow stream (pandas, polars, DuckDB relations, readers)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from tacita.engines.local.files.base import READ_ROWS, distinct_names
from tacita.errors import DataError

__all__ = ["FrameSource", "as_table", "is_frame"]


def is_frame(source: Any) -> bool:
    """Whether something is a frame that `FrameSource` takes."""
    if isinstance(source, pa.RecordBatch) or hasattr(source, "__arrow_c_stream__"):
        return True
    return hasattr(source, "fetch_arrow_table") or hasattr(source, "to_arrow_table")  # relations of DuckDB


class FrameSource:
    """An Arrow table, or anything that exports an Arrow stream: a pandas or polars frame, a relation, a reader."""

    def __init__(self, frame: Any) -> None:
        # a reader can be read only once, so its rows have to be held
        self._frame = frame if _is_lasting(frame) else as_table(frame)
        schema = self._frame.schema if isinstance(self._frame, pa.Table) else _schema(self._frame)
        self.columns = distinct_names(schema.names)

    @property
    def rows(self) -> int | None:
        """Number of rows, if the frame states it."""
        return len(self._frame) if hasattr(self._frame, "__len__") else None

    @property
    def version(self) -> object:
        """None: a frame is assumed not to change."""
        return None

    def schemas(self, columns: Sequence[str]) -> Iterator[pa.Schema]:
        """Yield the types of these columns; some frames know them only after conversion to Arrow."""
        yield self._table(columns).schema

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows, with these columns."""
        table = self._table(columns)
        for start in range(0, table.num_rows, READ_ROWS):
            # columns may be chunked differently; slices of our own are the same for every choice of columns
            part = table.slice(start, READ_ROWS).combine_chunks()
            yield from part.to_batches()

    def _table(self, columns: Sequence[str]) -> pa.Table:
        wanted = list(columns)
        if isinstance(self._frame, pa.Table):
            return self._frame.select(wanted)
        return as_table(self._frame[wanted])


def _is_lasting(frame: Any) -> bool:
    """Whether a frame can be read again, column by column: tables, pandas, polars."""
    if isinstance(frame, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return isinstance(frame, pa.Table)
    relation = "duckdb" in type(frame).__module__  # one of its columns is a relation again
    columns = hasattr(frame, "__getitem__") and hasattr(frame, "columns")
    return bool(columns and hasattr(frame, "__arrow_c_stream__") and not relation)


def as_table(frame: Any) -> pa.Table:
    """Convert a frame to an Arrow table."""
    try:
        if isinstance(frame, pa.RecordBatch):
            return pa.Table.from_batches([frame])
        for name in ("to_arrow_table", "fetch_arrow_table"):
            if not hasattr(frame, "__arrow_c_stream__") and hasattr(frame, name):
                return getattr(frame, name)()
        return pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(
            "the frame has a column that Arrow cannot hold",
            field="source",
            hint="Give each column values of one type",
            private=type(error).__name__,
        ) from None


def _schema(frame: Any) -> pa.Schema:
    return pa.schema([(str(name), pa.null()) for name in frame.columns])

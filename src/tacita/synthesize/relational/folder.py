"""Several files that appear together, or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from tacita.common.whole import whole
from tacita.errors import InvalidInput

__all__ = ["Form", "write_folder"]

Form = Literal["csv", "parquet"]


def write_folder(folder: str | Path, tables: Mapping[str, pa.Table], about: str, form: Form) -> list[Path]:
    """Write one file for each table, and `release.json` about them, into a folder that must not exist yet.

    Args:
        folder: Where.
        tables: By the names of their files, without an ending.
        about: Content of `release.json`.
        form: Of the files.
    """
    target = Path(folder)
    if form not in ("csv", "parquet"):
        raise InvalidInput("must be csv or parquet", field="form", value=form)
    if target.exists():
        raise InvalidInput("exists already", field="folder", value=target)
    try:
        with whole(target) as unfinished:
            unfinished.mkdir()
            for name, table in tables.items():
                (pq.write_table if form == "parquet" else pa_csv.write_csv)(table, unfinished / f"{name}.{form}")
            (unfinished / "release.json").write_text(about + "\n", encoding="utf-8")
    except OSError as error:
        raise InvalidInput("cannot be written", field="folder", value=f"{target}: {error.strerror}") from None
    return [target / f"{name}.{form}" for name in tables]

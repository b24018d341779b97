"""Files that the service keeps: rows and models of releases, pages about them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tacita.common.whole import whole
from tacita.errors import Conflict
from tacita.server.services import Services

__all__ = ["model_of", "page_of", "rows_of", "write_rows"]

_ROWS = 65_536


def rows_of(services: Services, id: str) -> Path:
    """Path of the rows of a release."""
    return services.settings.home / "releases" / f"{id}.parquet"


def model_of(services: Services, id: str) -> Path:
    """Path of the model of a release, from which more rows can be drawn."""
    return rows_of(services, id).with_suffix(".json")


def page_of(services: Services, id: str) -> Path:
    """Path of the page of an assessment or a comparison."""
    return services.settings.home / "assessments" / f"{id}.html"


def write_rows(rows: pa.Table, path: Path, mark: str) -> None:
    """Write rows to a file with the mark of their kind, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with whole(path) as unfinished:
            pq.write_table(rows.replace_schema_metadata({"tacita": mark}), unfinished, row_group_size=_ROWS)
    except OSError as error:
        raise Conflict("cannot be written: the disk is full or cannot be reached", field="release") from error

"""The log of releases without differential privacy, for commands that make them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from tacita.cli.parts.options import database_of
from tacita.report.release_log import Released, StoredReleaseLog, concerns, digest_of, digest_rows

__all__ = ["DatasetName", "Recipient", "dataset_name", "log_release"]

DatasetName = Annotated[
    str | None,
    typer.Option(
        "--dataset",
        help="Name of these people in the log of releases; the source of the data if not given. Releases of the "
        "same people should have the same name.",
    ),
]
Recipient = Annotated[str, typer.Option(help="Recipient of the rows, for the log of releases.")]


def log_release(
    state: str | None,
    *,
    dataset: str,
    kind: str,
    recipe: Any,
    attributes: Sequence[str],
    classes: pa.Table,
    recipient: str,
) -> tuple[str, ...]:
    """Log a release before the rows are written, and warn about earlier ones that it could be joined with."""
    entry = Released(
        dataset=dataset[-200:],
        kind=kind,
        recipe=digest_of(recipe),
        attributes=tuple(attributes),
        classes=digest_rows(classes),
        recipient=recipient,
    )
    return concerns(entry, StoredReleaseLog(database_of(state)).record(entry))


def dataset_name(name: str | None, data: str, table: str | None) -> str:
    """Return the name of the data in the log: its name, or its address without credentials."""
    if name is not None:
        return name
    if "://" in data:
        address = data.partition("?")[0]
        scheme, _, rest = address.partition("://")
        return f"{scheme}://{rest.rpartition('@')[2]}/{table}"
    return str(Path(data).expanduser().resolve())

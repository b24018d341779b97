"""Released files that a model can be fitted to: synthetic models, tables with noise, rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.learn.bayes import Bayes
from tacita.learn.models import Fitted, recipe_of
from tacita.learn.on_release import Released, ReleasedRows, fit_on_release
from tacita.synthesize.result import Synthesized
from tacita.tables.release import Release, Releases

__all__ = ["fit_released", "read_released"]

_READERS: dict[str, Callable[[str], Released | Releases]] = {
    "synthesized/1": Synthesized.from_json,
    "release/1": Release.from_json,
    "releases/1": Releases.from_json,
}


def read_released(path: Path, domain: Domain | None = None) -> Released | Releases:
    """Read a released file.

    Args:
        path: A model of synthetic rows or tables with noise (`.json`), or rows (`.csv`, `.parquet`).
        domain: Description of the columns of rows; the other files have their own.
    """
    suffix = path.suffix.lower()
    try:
        if suffix == ".json":
            return _read_json(path.read_text(encoding="utf-8"))
        if domain is None:
            raise InvalidInput("is needed for rows", field="schema")
        if suffix == ".parquet":
            return ReleasedRows(domain=domain, rows=pq.read_table(path))
        if suffix in (".csv", ".tsv"):
            return ReleasedRows(domain=domain, rows=_read_text(path, "\t" if suffix == ".tsv" else ","))
    except (OSError, UnicodeDecodeError, pa.ArrowInvalid):
        raise InvalidInput("cannot be read", field="release", value=path) from None
    raise InvalidInput("must end in .json, .csv, .tsv or .parquet", field="release", value=path)


def _read_json(text: str) -> Released | Releases:
    try:
        mark = json.loads(text).get("tacita")
    except (ValueError, AttributeError):
        mark = None
    if mark not in _READERS:
        raise InvalidInput(
            "must be a model of synthetic rows, or tables with noise",
            field="release",
            value=mark,
            hint="A fitted model or a function is what is learned, and holds no rows to learn from",
        )
    return _READERS[mark](text)


def _read_text(path: Path, delimiter: str) -> pa.Table:
    """Rows as texts: labels such as 17..24 are read by the schema."""
    options = pa_csv.ParseOptions(delimiter=delimiter)
    with pa_csv.open_csv(path, parse_options=options) as reader:
        names = reader.schema.names
    texts = pa_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
    return pa_csv.read_csv(path, parse_options=options, convert_options=texts)


def fit_released(
    release: Released | Releases,
    kind: str,
    *,
    target: str,
    features: Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
    seed: int | None = None,
) -> Fitted:
    """Fit a kind of model to a release; costs nothing.

    Args:
        release: As `read_released` returns it.
        kind: linear, logistic, trees, bayes or network.
        target: Attribute to predict.
        features: Attributes to predict from; all others of the release by default.
        options: Other options of the recipe, by name.
        seed: Of the draws of synthetic rows and of training.
    """
    if isinstance(release, Releases) and len(release) == 1:
        (release,) = release.values()
    names = _names(release) if features is None else list(features)
    recipe: Any = recipe_of(kind, target=target, features=[name for name in names if name != target], options=options)
    if isinstance(release, Releases) and not isinstance(recipe, Bayes):
        raise InvalidInput(
            "must be one table with target and features together",
            field="release",
            value=[list(key) for key in release],
            hint="Several tables make a model of kind bayes",
        )
    return fit_on_release(recipe, release, np.random.default_rng(seed))


def _names(release: Released | Releases) -> list[str]:
    if isinstance(release, Releases):
        return sorted({name for key in release for name in key})
    if isinstance(release, ReleasedRows):
        return [name for name in release.domain.countable if name in release.rows.column_names]
    return list(release.domain.countable)

"""Public tables that are known before a collection: read from files or plain data, and matched to what is asked.

A prior must be public, or released already. What is published with it may show it (`weighing`).
"""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.tables.cells import Cells
from tacita.tables.release import Release, Releases

__all__ = ["Prior", "plain_table", "traced"]

_TRACE = 1e-6
"""Of the even table in each table of a prior, so that scaling can move every cell."""
_NUMBERS = ("count", "share", "estimate")
"""Columns of a file that hold the numbers of a table."""
_MOST_CELLS = 1_000_000
_MOST_COUNT = 1e15


@dataclass(frozen=True, kw_only=True, eq=False)
class Prior:
    """Public tables of shares about some attributes of a domain.

    Args:
        tables: Non-negative shares that sum to 1, each over some attributes.
        simulated: Whether one comes from a simulated release, which protects no one.
    """

    tables: tuple[Cells, ...] = field(repr=False)
    simulated: bool = False

    @classmethod
    def of(cls, domain: Domain, tables: Iterable[Cells | Release]) -> Self:
        """The parts of some public tables that are about the attributes of a domain.

        Args:
            domain: The attributes that are asked about.
            tables: Counts or shares; levels are matched by their labels.
        """
        given = list(tables)
        found = [_matched(domain, table) for table in given]
        held = tuple(table for table in found if table is not None)
        if not held:
            hint = "Give a table of at least one attribute that is asked about"
            raise InvalidInput("has no attribute of the collection", field="prior", hint=hint)
        simulated = any(isinstance(table, Release) and table.provenance.simulated for table in given)
        return cls(tables=held, simulated=simulated)

    @classmethod
    def from_list(cls, domain: Domain, data: Iterable[Mapping[str, Any]]) -> Self:
        """A prior from plain data, each item as `plain_table` makes it.

        Args:
            domain: The attributes that are asked about.
            data: Each with `csv`, the text of a table; or `releases`, releases of Tacita; or `attributes`, their
                `levels`, and `shares` in row-major order.
        """
        tables: list[Cells | Release] = []
        cells = 0
        for number, plain in enumerate(data):
            place = f"prior[{number}]"
            if plain.get("csv") is not None:
                table = _counted(domain, _rows_of(plain["csv"], place), place, most=_MOST_CELLS - cells)
                tables.append(table)
                cells += table.domain.size
            elif plain.get("releases") is not None:
                tables += _releases(plain["releases"], place)
            else:
                tables.append(_listed(domain, plain, place))
        return cls.of(domain, tables)

    @classmethod
    def read(cls, domain: Domain, *paths: str | Path) -> Self:
        """Read a prior from files: releases as JSON, or tables as CSV or Parquet (`plain_table`)."""
        return cls.from_list(domain, [plain_table(path) for path in paths])

    def __add__(self, other: Prior) -> Prior:
        """The tables of both."""
        return Prior(tables=self.tables + other.tables, simulated=self.simulated or other.simulated)

    @property
    def names(self) -> set[str]:
        """All attributes that some table holds."""
        return {name for table in self.tables for name in table.attributes}

    def margins_of(self, names: Iterable[str], *, largest: bool) -> list[Cells]:
        """The known margins within some attributes: the largest that tables hold, or single attributes."""
        wanted = set(names)
        held: list[Cells] = []
        for table in self.tables:
            shared = [name for name in table.attributes if name in wanted]
            sets = [shared] if largest else [[name] for name in shared]
            held += [traced(table.project(each)) for each in sets if each]
        held.sort(key=lambda table: -len(table.attributes))
        kept: list[Cells] = []
        for table in held:
            if not any(set(table.attributes) <= set(other.attributes) for other in kept):
                kept.append(table)
        return kept[::-1]

    def dependence(self) -> float | None:
        """Mean total variation distance of its pairs from the products of their margins; None without pairs."""
        found = []
        for table in self.tables:
            for pair in itertools.combinations(table.attributes, 2):
                values = table.project(pair).values
                found.append(0.5 * float(np.abs(values - np.outer(values.sum(axis=1), values.sum(axis=0))).sum()))
        return float(np.mean(found)) if found else None


def traced(table: Cells) -> Cells:
    """A table without cells that are 0."""
    return Cells(table.domain, (1 - _TRACE) * table.values + _TRACE / table.domain.size)


def plain_table(given: str | Path | Cells | Release | Releases) -> dict[str, Any]:
    """One item of a prior as plain data: a file, a table, or releases.

    A file of releases is JSON. A table in a CSV or Parquet file has a column for each of its attributes, with the
    labels of their levels or with values, and the column `count`, `share` or `estimate`. Without one of these, each
    line is a row of public data.
    """
    if isinstance(given, Release | Releases):
        return {"releases": given.as_dict()}
    if isinstance(given, Cells):
        return {
            "attributes": list(given.attributes),
            "levels": [list(given.domain[name].all_labels) for name in given.attributes],
            "shares": np.asarray(given.values, float).reshape(-1).tolist(),
        }
    path = Path(given)
    try:
        match path.suffix.lower():
            case ".json":
                read = json.loads(path.read_text(encoding="utf-8"))
                if isinstance(read, dict):
                    return {"releases": read}
                raise InvalidInput("must hold a release of Tacita", field="prior", value=str(given))
            case ".csv":
                return {"csv": path.read_text(encoding="utf-8")}
            case ".parquet":
                sink = io.BytesIO()
                pa_csv.write_csv(pq.read_table(path), sink)
                return {"csv": sink.getvalue().decode()}
    except UnicodeDecodeError as error:
        raise InvalidInput("must be a text file in UTF-8", field="prior", value=str(given)) from error
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInput("must be a readable file", field="prior", value=str(given)) from error
    raise InvalidInput("must be a .json, .csv or .parquet file", field="prior", value=str(given))


# -- matching --------------------------------------------------------------------------------------------------------


def _order(domain: Domain, name: str, labels: Sequence[str]) -> list[int]:
    """For each level of the collection its place among the labels of a table."""
    wanted = list(domain[name].all_labels)
    if sorted(labels) != sorted(wanted):
        strange = next((label for label in labels if label not in wanted), None)
        missing = next((label for label in wanted if label not in labels), None)
        raise InvalidInput(
            f"must have the levels that the collection asks for: {', '.join(wanted)}",
            field=f"prior.{name}",
            value=strange if strange is not None else f"no {missing!r}",
            hint="Merge or rename levels of the table first",
        )
    return [list(labels).index(label) for label in wanted]


def _matched(domain: Domain, table: Cells | Release) -> Cells | None:
    """The part of a table about the attributes of a domain, as shares in the domain's order of levels."""
    names = [name for name in table.attributes if name in domain.names]
    if not names:
        return None
    part = table.project(names)
    values = np.asarray(part.values, float)
    if isinstance(part, Release):  # what noise made negative is no share
        values = np.maximum(values, 0.0)
    orders = [_order(domain, name, part.domain[name].all_labels) for name in names]
    return _checked(Cells(domain.project(names), values[np.ix_(*orders)]))


def _checked(table: Cells) -> Cells:
    values = np.asarray(table.values, float)
    if not np.isfinite(values).all() or (values < 0).any() or not values.any():
        rule = "must be non-negative numbers that are not all 0"
        raise InvalidInput(rule, field="prior", value=" x ".join(table.attributes))
    return Cells(table.domain, values / values.sum())


def _releases(plain: Mapping[str, Any], place: str) -> list[Release]:
    try:
        if "releases" in plain:
            return list(Releases.from_dict(plain).values())
        return [Release.from_dict(plain)]
    except (InvalidInput, KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError) as error:
        hint = "Give the JSON file of a release, or a CSV file with counts"
        raise InvalidInput("must be a release of Tacita", field=place, hint=hint) from error


def _listed(domain: Domain, plain: Mapping[str, Any], place: str) -> Cells:
    """A table from its attributes, their levels, and its shares."""
    names, levels = list(plain["attributes"] or ()), [list(each) for each in plain["levels"] or ()]
    for name in names:
        if name not in domain.names:
            raise InvalidInput("is not an attribute of the collection", field=f"{place}.attributes", value=name)
    shares = np.asarray(plain["shares"] or (), float)
    shape = tuple(len(each) for each in levels)
    if not names or len(set(names)) < len(names) or len(levels) != len(names) or shares.size != int(np.prod(shape)):
        rule = "must have attributes, the levels of each, and a share for each cell"
        raise InvalidInput(rule, field=place, value=f"{len(names)} attributes, {shares.size} shares")
    orders = [_order(domain, name, each) for name, each in zip(names, levels, strict=True)]
    return _checked(Cells(domain.project(names), shares.reshape(shape)[np.ix_(*orders)]))


def _rows_of(text: str, place: str) -> pa.Table:
    try:
        return pa_csv.read_csv(pa.BufferReader(text.encode()))
    except pa.ArrowInvalid as error:
        raise InvalidInput("must be a table as CSV with a header", field=place) from error


def _counted(domain: Domain, rows: pa.Table, place: str, *, most: int) -> Cells:
    """Count a table of labels, weighted by its numbers."""
    held = rows.column_names
    twice = sorted({name for name in held if held.count(name) > 1})
    if twice:
        raise InvalidInput("must have different names", field=f"{place}.header", value=twice[0])
    names = [name for name in domain.names if name in held]
    if not names:
        hint = f"Separate columns by commas, and name them as the schema does: {', '.join(domain.names)}"
        raise InvalidInput("has no attribute of the schema", field=place, hint=hint)
    over = domain.project(names)
    if over.size > most:
        rule = f"all tables together must have at most {_MOST_CELLS:,} cells"
        raise InvalidInput(rule, field=place, value=f"{over.size:,}")
    if "table" in held and "table" not in domain.names:
        hint = "Save the releases as JSON, or one table in a file"
        raise InvalidInput("holds several tables", field=place, hint=hint)
    columns = [_codes(domain, name, rows) for name in names]
    weights = _weights(domain, rows, place)
    if weights is None:
        if 1 < rows.num_rows == len(set(zip(*(each.tolist() for each in columns), strict=True))) and len(held) > len(
            names
        ):
            hint = "Name the column of numbers count or share; without one, each line is a row of public data"
            raise InvalidInput("has each combination once, and no column of numbers", field=place, hint=hint)
        weights = np.ones(rows.num_rows)
    values = np.zeros(over.shape)
    np.add.at(values, tuple(columns), weights)
    return _checked(Cells(over, values))


def _weights(domain: Domain, rows: pa.Table, place: str) -> NDArray[np.float64] | None:
    """The numbers of a table; None if each line is a row."""
    found = [name for name in rows.column_names if name.strip().lower() in _NUMBERS and name not in domain.names]
    if not found:
        return None
    if len(found) > 1:
        raise InvalidInput("must have one column of numbers", field=place, value=", ".join(found))
    (name,) = found
    kind = rows[name].type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise InvalidInput("must hold numbers", field=f"{place}.{name}")
    weights = np.asarray(rows[name].to_numpy(), float)
    if name.strip().lower() == "estimate":  # what noise made negative is no share
        weights = np.maximum(weights, 0.0)
    if not np.isfinite(weights).all() or (weights < 0).any() or (weights > _MOST_COUNT).any():
        raise InvalidInput("must be non-negative numbers", field=f"{place}.{name}")
    return weights


def _codes(domain: Domain, name: str, rows: pa.Table) -> NDArray[np.int64]:
    """Codes of a column: by the labels of levels, or as values of the attribute."""
    labels = {label: code for code, label in enumerate(domain[name].all_labels)}
    seen = rows[name].to_pylist()
    if all(str(value) in labels for value in seen):
        return np.array([labels[str(value)] for value in seen], dtype=np.int64)
    codes = np.asarray(domain.project([name]).encode(rows.select([name]), [name])[name]).astype(np.int64)
    if (codes >= domain[name].size).any():
        strange = str(seen[int(np.flatnonzero(codes >= domain[name].size)[0])])
        rule = f"must be levels that the collection asks for: {', '.join(domain[name].all_labels)}"
        raise InvalidInput(rule, field=f"prior.{name}", value=strange)
    return codes

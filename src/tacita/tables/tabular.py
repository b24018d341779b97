"""Results as people use them: frames, files, figures, and a view in notebooks. All follow from one table.

    result.to_arrow()    one row for each cell, group, coefficient or attack, with its interval
    result.to_pandas(), result.to_polars()
    result.save("answer.xlsx")    .csv, .parquet, .json, .xlsx; the workbook has a sheet with the guarantee
    result.plot()                 a figure, which notebooks show and `plot().save("figure.svg")` writes

Privacy: shows what the result holds and reads no data.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from tacita.common.extras import needs_extra
from tacita.common.number_text import number
from tacita.common.whole import whole, write_text
from tacita.errors import InvalidInput
from tacita.figures.charts import Interval
from tacita.figures.picture import Picture
from tacita.tables.workbook import write_workbook

if TYPE_CHECKING:
    from tacita.tables.release import Release

__all__ = ["FORMATS", "Tabular", "finite", "intervals_of", "write_table"]

FORMATS = (".csv", ".parquet", ".json", ".xlsx")
_SHOWN = 20


class Tabular:
    """One table, and all forms that follow from it. A class adds `to_arrow`, `facts` and `chart`."""

    def to_arrow(self) -> pa.Table:
        """Return the table."""
        raise NotImplementedError

    def facts(self) -> Mapping[str, str]:
        """Return the guarantee and the origin, in words."""
        raise NotImplementedError

    def chart(self) -> str:
        """Draw it as SVG text."""
        raise NotImplementedError

    # -- what follows ---------------------------------------------------------------------------------------------

    def to_pandas(self) -> Any:
        """Return a pandas frame."""
        with needs_extra("frames", "a pandas frame"):
            return finite(self.to_arrow()).to_pandas()

    def to_polars(self) -> Any:
        """Return a polars frame."""
        with needs_extra("frames", "a polars frame"):
            import polars

            return polars.from_arrow(finite(self.to_arrow()))

    def save(self, path: str | Path) -> None:
        """Write a file, whole or not at all; the suffix names the format.

        A workbook has a second sheet with the guarantee, a Parquet file has it as metadata, and JSON holds everything.
        CSV has only the numbers: keep the statement beside it.
        """
        target = Path(path)
        if target.suffix.lower() == ".json":
            plain: Any = self
            write_text(target, plain.to_json() if hasattr(self, "to_json") else json.dumps(plain.as_dict()))
            return
        write_table(target, finite(self.to_arrow()), self.facts())

    def plot(self) -> Picture:
        """Draw it."""
        return Picture(self.chart())

    def _repr_html_(self) -> str:
        table = finite(self.to_arrow())
        head = "".join(f"<th>{html.escape(name)}</th>" for name in table.column_names)
        columns = [[_cell(value) for value in each.to_pylist()] for each in table.slice(0, _SHOWN).columns]
        rows = "".join(f"<tr>{''.join(f'<td>{each}</td>' for each in row)}</tr>" for row in zip(*columns, strict=True))
        left = table.num_rows - _SHOWN
        more = f"<p>… and {left:,} more rows</p>" if left > 0 else ""
        stated = [(html.escape(name), html.escape(text)) for name, text in _brief(self.facts())]
        facts = "".join(f"<p><b>{name}</b>: {text}</p>" for name, text in stated)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}{facts}"


def _brief(facts: Mapping[str, str]) -> Sequence[tuple[str, str]]:
    return [(name, text) for name, text in facts.items() if name in ("guarantee", "statement", "note")]


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return html.escape(number(value) if abs(value) >= 1000 else f"{value:.3g}")
    return "" if value is None else html.escape(str(value))


def finite(table: pa.Table) -> pa.Table:
    """Replace numbers that are infinite, or none, by nulls: where no error is claimed, a cell is empty."""
    for at, column in enumerate(table.columns):
        if pa.types.is_floating(column.type):
            known = pc.if_else(pc.is_finite(column), column, pa.scalar(None, column.type))
            table = table.set_column(at, table.field(at), known)
    return table


def intervals_of(release: Release, level: float = 0.95) -> list[Interval]:
    """Return the cells of a release with their intervals, as bars take them."""
    rows = release.to_arrow(level).to_pylist()
    return [
        Interval(
            label=" · ".join(str(row[name]) for name in release.attributes) or "all",
            value=row["estimate"],
            low=row["low"],
            high=row["high"],
        )
        for row in rows
    ]


def write_table(path: str | Path, table: pa.Table, facts: Mapping[str, str]) -> None:
    """Write a table as .csv, .parquet or .xlsx with facts about it, whole or not at all."""
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in FORMATS or suffix == ".json":
        raise InvalidInput(f"must end in {', '.join(FORMATS)}", field="path", value=target)
    try:
        with whole(target) as unfinished:
            if suffix == ".csv":
                pa_csv.write_csv(table, unfinished)
            elif suffix == ".parquet":
                stated = {"facts": json.dumps(dict(facts), ensure_ascii=False)}
                pq.write_table(table.replace_schema_metadata((table.schema.metadata or {}) | stated), unfinished)
            else:
                with unfinished.open("wb") as out:
                    write_workbook(out, table, facts)
    except OSError as error:
        raise InvalidInput("cannot be written", field="path", value=f"{target}: {error.strerror}") from None

"""`tacita model`: more rows and tables of shares from a released model, at no cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from tacita.cli.parts import show
from tacita.cli.parts.files import TABLES, Into, RowsOutput, check_files, rows_target
from tacita.cli.parts.options import Json
from tacita.common.number_text import number
from tacita.common.whole import write_text
from tacita.domain import Decode
from tacita.errors import InvalidInput
from tacita.synthesize.kinds import Quantity
from tacita.synthesize.questions import check_drawable, restrict
from tacita.synthesize.result import NO_INTERVALS, Synthesized
from tacita.synthesize.writing import write_file
from tacita.tables.tabular import finite

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)

ModelFile = Annotated[Path, typer.Argument(help="A model that `tacita synthesize --model` wrote, or REST gave.")]
Where = Annotated[
    list[str] | None, typer.Option("--where", help="A condition on the rows: 'age >= 30'. Several may be given.")
]
_ROWS = 40


@app.command()
def draw(
    model: ModelFile,
    rows: Annotated[int, typer.Option("--rows", "-n", help="Number of rows.")],
    output: RowsOutput,
    where: Where = None,
    decode: Annotated[
        Decode, typer.Option(help="Form of a bin in the output; auto: a number where numbers are fine.")
    ] = "auto",
    key_column: Annotated[str | None, typer.Option(help="Add a column of this name with new keys.")] = None,
    into: Into = None,
) -> None:
    """Draw more synthetic rows from a model; costs nothing.

    [dim]tacita model draw model.json -n 100000 -o more.parquet --where 'age >= 30' --where 'sex = f'[/]
    """
    place = rows_target(output, into)
    if rows < 0:
        raise InvalidInput("must be 0 or more", field="rows", value=rows)
    made = restrict(_read(model), where or ())
    check_drawable(made)
    if key_column is not None and key_column in made.domain.names:
        raise InvalidInput("must be a name that no column has", field="key_column", value=key_column)
    place.check((*([] if key_column is None else [key_column]), *made.domain.names))
    advance = show.progress("writing synthetic rows", rows)
    made.write(output, rows, np.random.default_rng(), policy=decode, key=key_column, progress=advance, into=into)
    show.say(f"{rows:,} synthetic rows are in {place.name}. {made.statement()}")


@app.command()
def ask(
    model: ModelFile,
    by: Annotated[list[str], typer.Option("--by", "-b", help="A table of shares: --by age,sex. Several may be given.")],
    where: Where = None,
    level: Annotated[float, typer.Option(help="Confidence of the intervals.")] = 0.95,
    together: Annotated[
        bool, typer.Option("--together", help="It is the confidence that all intervals of a table hold, not each.")
    ] = False,
    quantity: Annotated[
        Quantity, typer.Option(help="Shares of the rows that meet the conditions, or counts.")
    ] = "share",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the shares of one table: .csv, .parquet or .json.")
    ] = None,
    json: Json = False,
) -> None:
    """Ask a model for the shares of cells, given conditions, with intervals of the true shares; costs nothing.

    [dim]tacita model ask model.json --by smokes --where 'age >= 30'[/]
    """
    check_files(TABLES, output=output)
    if output is not None and len(by) != 1:
        raise InvalidInput("takes one table", field="output", hint="Ask for the tables one by one")
    made = _read(model)
    found = {
        text: made.intervals(
            [part.strip() for part in text.split(",")],
            where=where or (),
            level=level,
            together=together,
            quantity=quantity,
            required=False,
        )
        for text in by
    }
    tables = {text: finite(each.to_arrow()) for text, each in found.items()}
    plain = {text: table.to_pylist() for text, table in tables.items()}
    if output is not None:
        (table,) = tables.values()
        if output.suffix.lower() == ".json":
            write_text(output, _json_text(plain))
        else:
            write_file(output, iter([table]))
    if json:
        claims = {text: {"claim": each.claim(), "basis": each.basis} for text, each in found.items()}
        asked = {"where": where or [], "level": level, "together": together, "quantity": quantity}
        show.print_json(asked | {"tables": plain, "intervals": claims})
        return
    for text, each in found.items():
        columns = (quantity, "low", "high") if each.known else (quantity,)
        cells = [
            (
                *(str(row[name]) for name in each.attributes),
                *(number(row[column], share=quantity == "share") for column in columns),
            )
            for row in plain[text]
        ]
        given = f" given {' and '.join(where)}" if where else ""
        title = f"{'Shares' if quantity == 'share' else 'Counts'} of {text}{given}"
        show.grid(title, (*each.attributes, *(f">{column}" for column in columns)), cells[:_ROWS])
        if len(cells) > _ROWS:
            show.say(f"[dim]… and {len(cells) - _ROWS} more cells; --output writes all of them[/]")
        show.say(each.claim() if each.known else f"{each.claim()} {NO_INTERVALS}")
    show.say(made.statement())


@app.command("show")
def show_model(model: ModelFile, json: Json = False) -> None:
    """Show the guarantee of a model, and the decisions of the method that made it.

    [dim]tacita model show model.json[/]
    """
    made = _read(model)
    if json:
        large = ("model", "measured", "numbers")
        show.print_json({name: value for name, value in made.as_dict().items() if name not in large})
        return
    facts = [
        ("attributes", ", ".join(made.domain.names)),
        ("method", str(made.provenance.recipe.get("method", "not stated"))),
        ("rows of the data, about", f"{number(made.people)} ± {number(2 * made.people_std)}"),
        *([("kept as numbers", ", ".join(each.attribute for each in made.numbers))] if made.numbers else []),
        ("guarantee", made.guarantee),
        ("who is protected", f"{made.unit}, {made.neighbours}"),
    ]
    show.grid("Model", ("", ""), facts)
    for note in made.notes:
        show.say(note)
    show.say(made.statement())


def _json_text(data: object) -> str:
    import json as json_text

    return json_text.dumps(data, ensure_ascii=False)


def _read(path: Path) -> Synthesized:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InvalidInput("must be a file that can be read", field="model", value=path) from None
    try:
        return Synthesized.from_json(text)
    except (ValueError, KeyError, TypeError):  # not JSON, or members that are not those of a model
        raise InvalidInput("must be a model of synthetic rows", field="model", value=path) from None

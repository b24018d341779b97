"""`tacita network`: Bayesian networks of exact rows, their links side by side, and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tacita.cli.parts import show
from tacita.cli.parts.files import JSON, PAGE, ROWS, check_files
from tacita.cli.parts.options import Json, TableName, engine_of
from tacita.common.number_text import number
from tacita.common.whole import write_text
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.learn.structure.columns import StructureColumns, read_columns
from tacita.learn.structure.files import NetworkFile, read_network
from tacita.learn.structure.learned import LearnedNetwork, ScoreKind, learn_network
from tacita.learn.structure.series import pool, read_series
from tacita.models.draw import draw_comparison, draw_network
from tacita.models.links import LinkComparison, compare_links
from tacita.models.search import LinkRules, Search
from tacita.report import report as page_of

__all__ = ["app", "columns_of", "networks_of"]

app = typer.Typer(no_args_is_help=True)

RowsOrSeries = Annotated[
    str,
    typer.Argument(help="Rows: a file, folder or database, with a schema. Or series: a folder or zip of CSV files."),
]
Schema = Annotated[
    Path | None, typer.Option("--schema", "-s", help="The schema: YAML or JSON. Without one, the data is series.")
]
ColumnNames = Annotated[str | None, typer.Option("--columns", help="Columns, separated by commas; all by default.")]
NetworkFiles = Annotated[
    list[Path], typer.Argument(help="Files of networks: .json of `learn` or `release network`, or .bif.")
]
Picture = Annotated[Path, typer.Option("--output", "-o", help="The file for the picture: .svg.")]
SearchName = Literal["auto", "exact", "hill", "rsmax2"]
_SVG = (".svg",)


def columns_of(
    data: str, schema: Path | None, columns: str | None, table: str | None, *, binned: bool = False
) -> StructureColumns:
    """Read complete rows of data with a schema, or the rows of all series together."""
    names = None if columns is None else [part.strip() for part in columns.split(",") if part.strip()]
    if schema is None:
        if binned:
            raise InvalidInput("bins come from a schema", field="binned", hint="Pass --schema")
        if Path(data).suffix.lower() in ROWS or "://" in data:
            raise InvalidInput("rows need a schema", field="schema", hint="Pass --schema; series are a folder or a zip")
        return pool(read_series(Path(data), names))
    return read_columns(engine_of(data, Domain.read(schema), table), names, binned=binned)


def networks_of(paths: Sequence[Path]) -> dict[str, NetworkFile]:
    """Read files of networks, by the names of the files."""
    found: dict[str, NetworkFile] = {}
    for path in paths:
        network = read_network(path)
        if network.label in found:
            raise InvalidInput("must have different names", field="networks", value=network.label)
        found[network.label] = network
    return found


@app.command()
def learn(
    data: RowsOrSeries,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file for the network, as JSON.")],
    schema: Schema = None,
    columns: ColumnNames = None,
    score: Annotated[
        ScoreKind,
        typer.Option(help="bic; bge for numbers; bdeu for levels; clg for numbers and levels together."),
    ] = "bic",
    search: Annotated[
        SearchName, typer.Option(help="Structure search; auto is exact for up to 16 columns, hill for more.")
    ] = "auto",
    degree: Annotated[int | None, typer.Option(help="Largest number of parents of a column.")] = None,
    forbid: Annotated[
        list[str] | None, typer.Option(help="A link that is forbidden, PARENT:CHILD; * is any column. May be repeated.")
    ] = None,
    require: Annotated[
        list[str] | None, typer.Option(help="A link that is required, PARENT:CHILD. May be repeated.")
    ] = None,
    restarts: Annotated[int | None, typer.Option(help="Restarts of hill climbing; 10 by default.")] = None,
    tabu: Annotated[int | None, typer.Option(help="Length of the tabu list of hill climbing; 10 by default.")] = None,
    level: Annotated[float, typer.Option(help="Level of the tests of rsmax2.")] = 0.05,
    seed: Annotated[int, typer.Option(help="Seed of the restarts.")] = 0,
    binned: Annotated[bool, typer.Option("--binned", help="Use the bins of numbers instead of the numbers.")] = False,
    table: TableName = None,
    report: Annotated[Path | None, typer.Option(help="Write a page with the picture: .html.")] = None,
    json: Json = False,
) -> None:
    """Learn a network from exact rows. It has no privacy guarantee: `tacita release network` has one.

    [dim]tacita network learn people.csv -s people.yaml --score clg --forbid 'income:*' -o net.json[/]
    """
    check_files(JSON, output=output)
    check_files(PAGE, report=report)
    read = columns_of(data, schema, columns, table, binned=binned)
    settings: dict[str, Any] = {"degree": degree, "level": level, "seed": seed}
    settings["rules"] = LinkRules.of(read.names, forbid=forbid or (), require=require or ())
    chosen = Search.automatic(len(read.names)).kind if search == "auto" else search
    if chosen != "exact":
        settings |= {"restarts": 10 if restarts is None else restarts, "tabu": 10 if tabu is None else tabu}
    elif restarts is not None or tabu is not None:
        raise InvalidInput("only hill climbing has restarts and a tabu list", field="search", value=chosen)
    found = learn_network(read, Search(kind=chosen, **settings), score=score)
    write_text(output, found.to_json())
    if report is not None:
        _write_page(report, found)
    if json:
        show.print_json(found.as_dict())
        return
    show.grid("Network", ("", ""), _facts(found))
    show.grid("Parents", ("column", "parents"), _parents(found.parents))
    show.say(found.statement())


def _facts(found: LearnedNetwork) -> list[tuple[str, str]]:
    links = sum(map(len, found.parents.values()))
    return [
        ("columns", str(len(found.parents))),
        ("links", str(links)),
        ("score", f"{found.score} {found.value:,.2f}, higher is better"),
        ("search", str(found.search["kind"])),
        ("rows", f"{found.rows:,}" + (f"; {found.left_out:,} without all values" if found.left_out else "")),
        ("guarantee", found.guarantee),
    ]


def _parents(parents: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    return [(name, ", ".join(above) or "none") for name, above in parents.items()]


def _write_page(path: Path, found: LearnedNetwork) -> None:
    sections = [
        page_of.Section(
            title="Links",
            text="An arrow leads from a parent to a child.",
            picture=draw_network(found.parents, title="Network"),
            facts=_parents(found.parents),
        ),
        page_of.Section(title="How it was learned", facts=_facts(found)),
    ]
    page_of.write(path, "Network", found.statement(), sections)


@app.command()
def compare(
    networks: NetworkFiles,
    report: Annotated[Path | None, typer.Option(help="Write a page with the picture: .html.")] = None,
    json: Json = False,
) -> None:
    """Compare networks: links that they share, turn or lack, and structural Hamming distances.

    [dim]tacita network compare exact.json hill.json released.json --report links.html[/]
    """
    check_files(PAGE, report=report)
    read = networks_of(networks)
    structures = {label: each.parents for label, each in read.items()}
    found = compare_links(structures)
    if report is not None:
        sections = [
            page_of.Section(title="Links", picture=draw_comparison(structures), facts=_link_rows(found)),
            page_of.Section(
                title="Structural Hamming distance",
                text="Pairs of columns whose link differs; of classes, where links that can be turned count alike.",
                facts=[(name, f"{links} of links, {classes} of classes") for name, links, classes in _distances(found)],
            ),
            page_of.Section(title="Guarantees", facts=[(label, each.statement) for label, each in read.items()]),
        ]
        page_of.write(report, "Links of networks", ", ".join(read), sections)
    if json:
        show.print_json(found.as_dict())
        return
    rows = [(row.status, *_directions(row.directions)) for row in found.rows]
    show.grid("Links", ("status", "link", "networks"), rows)
    distances = _distances(found)
    show.grid("Structural Hamming distance", ("networks", ">of links", ">of classes"), distances)
    show.grid("Links of each", ("network", ">links"), [(label, str(size)) for label, size in found.sizes.items()])


def _directions(directions: Mapping[tuple[str, str], Sequence[str]]) -> tuple[str, str]:
    links = [f"{above} -> {below}" for above, below in directions]
    return " / ".join(links), " / ".join(", ".join(labels) for labels in directions.values())


def _link_rows(found: LinkComparison) -> list[tuple[str, str]]:
    texts = ((row.status, _directions(row.directions)) for row in found.rows)
    return [(links, f"{status}: {labels}") for status, (links, labels) in texts]


def _distances(found: LinkComparison) -> list[tuple[str, str, str]]:
    return [
        (f"{one}, {other}", number(value), number(found.class_shd[one, other]))
        for (one, other), value in found.shd.items()
    ]


@app.command()
def draw(networks: NetworkFiles, output: Picture) -> None:
    """Draw a network, or the links of several with their status, as an SVG picture.

    [dim]tacita network draw exact.json hill.json -o links.svg[/]
    """
    check_files(_SVG, output=output)
    structures = {label: each.parents for label, each in networks_of(networks).items()}
    if len(structures) == 1:
        ((label, parents),) = structures.items()
        picture = draw_network(parents, title=label)
    else:
        picture = draw_comparison(structures)
    write_text(output, picture.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))
    show.say(f"The picture is in {output}.")

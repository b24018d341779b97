"""`tacita hierarchy`: build generalisation hierarchies, and see what each level loses."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from tacita.anonymize.hierarchies.building import HierarchyKind, HierarchySpec, build_hierarchy
from tacita.anonymize.hierarchies.hierarchy import Hierarchy, TreeMaker
from tacita.anonymize.hierarchies.preview import Preview, preview_hierarchy, preview_rows
from tacita.anonymize.hierarchies.reading import CodeList, read_hierarchy
from tacita.anonymize.hierarchies.rules import rule_data
from tacita.anonymize.quasi import joined
from tacita.cli.parts import show
from tacita.cli.parts.files import check_files
from tacita.cli.parts.options import Json, SchemaFile, TableName, engine_of
from tacita.common.number_text import number
from tacita.common.whole import write_text
from tacita.domain import Domain
from tacita.errors import InvalidInput

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)

_FILES = (".csv", ".yaml", ".yml", ".json")
_RULES = (".yaml", ".yml", ".json")
_OWNER = (
    "Exact figures of your rows, for you only: do not pass them on. A release combines attributes, so its classes are "
    "smaller."
)

K = Annotated[int, typer.Option("--k", min=1, help="Least people in a class that a release will need.")]
OwnData = Annotated[str | None, typer.Option("--data", help="Your rows: adds exact figures about them, for you only.")]


@app.command("build")
def build(
    schema: SchemaFile,
    attribute: Annotated[str, typer.Option(help="The attribute.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file: .csv has a line for each value, .yaml only the rule.")
    ],
    data: Annotated[
        str | None,
        typer.Argument(help="Your rows, only for exact figures of each level. The file comes from the schema."),
    ] = None,
    kind: Annotated[
        HierarchyKind, typer.Option(help="Way to group values; auto goes by the kind of the attribute.")
    ] = "auto",
    widths: Annotated[
        str | None, typer.Option(help="Widths of intervals: 5,10,20. Round numbers are proposed if not given.")
    ] = None,
    origin: Annotated[float | None, typer.Option(help="Start of an interval; 0 by default.")] = None,
    by: Annotated[str | None, typer.Option(help="Periods of dates: month,quarter,year,decade; or week.")] = None,
    mask: Annotated[
        str | None,
        typer.Option(help="Characters that each level hides, from the right: 1,2,3. One more each by default."),
    ] = None,
    keep: Annotated[str | None, typer.Option(help="Characters that each level shows, from the left: 3,2,1.")] = None,
    merge: Annotated[
        int | None, typer.Option(help="Neighbours of an order that become one on each level; 2 by default.")
    ] = None,
    codes: Annotated[
        Path | None, typer.Option(help="A code list: CSV with code,parent or code,level1,level2 or code,label.")
    ] = None,
    labels: Annotated[bool, typer.Option("--labels", help="Call groups of a code list `code label`.")] = False,
    k: K = 10,
    table: TableName = None,
    json: Json = False,
) -> None:
    """Build the hierarchy of an attribute from the schema, and show what each level loses.

    [dim]tacita hierarchy build people.csv -s people.yaml --attribute zip --kind digits -o zip.csv[/]
    """
    check_files(_FILES, output=output)
    domain = Domain.read(schema)
    spec = HierarchySpec(
        attribute=attribute,
        kind=kind,
        widths=_numbers(widths, "widths"),
        origin=origin,
        by=None if by is None else tuple(part.strip() for part in by.split(",")),  # type: ignore[misc]
        mask=_wholes(mask, "mask"),
        keep=_wholes(keep, "keep"),
        merge=merge,
        codes=None if codes is None else CodeList.read(codes),
        labels=labels,
    )
    rule = spec.rule(domain)
    made: TreeMaker
    if output.suffix.lower() in _RULES:
        if rule is None:
            raise InvalidInput("a code list has no rule", field="output", value=output.name, hint="Use a .csv file")
        made = rule
        write_text(output, _yaml(rule_data(rule)))
    else:
        made = build_hierarchy(domain, spec)
        made.write(output)
    _preview(domain, attribute, made, data, table, k, json, output=output)


@app.command("show")
def show_hierarchy(
    hierarchy: Annotated[Path, typer.Argument(help="The hierarchy: .csv or .yaml.")],
    schema: Annotated[
        Path | None, typer.Option("--schema", "-s", help="The schema: checks that each of its levels has a leaf.")
    ] = None,
    attribute: Annotated[str | None, typer.Option(help="The attribute; the name of the file if not given.")] = None,
    data: OwnData = None,
    k: K = 10,
    table: TableName = None,
    json: Json = False,
) -> None:
    """Check a hierarchy and show what each level loses; with your rows, also how small its groups are.

    [dim]tacita hierarchy show zip.csv -s people.yaml --data people.csv --k 5[/]
    """
    made = read_hierarchy(hierarchy)
    name = attribute or hierarchy.stem
    if schema is None:
        if data is not None:
            raise InvalidInput("rows need their schema", field="schema", hint="-s people.yaml")
        if not isinstance(made, Hierarchy):
            raise InvalidInput("a rule needs the schema of its attribute", field="schema", hint="-s people.yaml")
        _show(preview_hierarchy(made, name), json)
        return
    domain = Domain.read(schema)
    if isinstance(made, Hierarchy):
        made.check(domain[name])
    _preview(domain, name, made, data, table, k, json)


def _preview(
    domain: Domain,
    name: str,
    made: TreeMaker,
    data: str | None,
    table: str | None,
    k: int,
    json: bool,
    output: Path | None = None,
) -> None:
    """Show the exact figures of rows where there are any, else the public ones, else nothing."""
    if data is not None:
        columns = (name,) if domain.person is None else (name, domain.person)
        rows = joined(engine_of(data, domain, table).rows(columns), columns)
        found: Preview | None = preview_rows(domain, rows, name, made, k=k)
    else:
        found = _public(domain, name, made)
    if found is not None:
        _show(found, json, output)
    elif json:
        show.print_json({"output": str(output)})
    if output is not None and not json:
        show.say(f"Wrote {output.name}. Use it: tacita anonymize ... --hierarchy {name}={output.name}")


def _public(domain: Domain, name: str, made: TreeMaker) -> Preview | None:
    from tacita.anonymize.hierarchies.declared import declared_axis

    if isinstance(made, Hierarchy):
        return preview_hierarchy(made, name)
    try:
        return preview_hierarchy(made.hierarchy(declared_axis(domain[name])), name)
    except InvalidInput:  # it declares no list of values: only rows have some
        show.note(f"{name} declares no list of values, so what levels lose is only known of rows: --data")
        return None


def _show(found: Preview, json: bool, output: Path | None = None) -> None:
    if json:
        show.print_json(found.as_dict() | ({} if output is None else {"output": str(output)}))
        return
    exact = found.k is not None
    heads = ("level", "example", ">labels", ">loss", ">entropy")
    more = (">occur", ">smallest", f">rows below {found.k}") if exact else ()
    lines = [
        (
            str(each.level),
            each.example,
            f"{each.labels:,}",
            number(each.loss, share=True, digits=2),
            number(each.entropy, share=True, digits=2),
            *(
                (f"{each.occurring:,}", f"{each.smallest:,}", number(each.below or 0.0, share=True, digits=2))
                if exact
                else ()
            ),
        )
        for each in found
    ]
    show.grid(f"Levels of {found.attribute}", (*heads, *more), lines)
    if exact:
        show.say(_OWNER)


def _yaml(data: dict[str, object]) -> str:
    return json_text.dumps(data, ensure_ascii=False) + "\n"  # JSON is YAML


def _numbers(text: str | None, field: str) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InvalidInput("must be numbers with commas between", field=field, value=text) from None


def _wholes(text: str | None, field: str) -> tuple[int, ...] | None:
    found = _numbers(text, field)
    if found is None:
        return None
    if not all(each.is_integer() for each in found):
        raise InvalidInput("must be whole numbers with commas between", field=field, value=text)
    return tuple(int(each) for each in found)

"""`tacita disclosure`: disclosure risk of microdata, for the owner."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacita.cli.parts import show
from tacita.cli.parts.files import PAGE, ROWS, check_files
from tacita.cli.parts.options import Data, Json, SchemaFile, TableName, engine_of
from tacita.domain import Domain

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["disclosure"]


def disclosure(
    data: Data,
    schema: SchemaFile,
    qi: Annotated[
        str | None, typer.Option(help="Quasi-identifiers: age,zip. From the roles of the schema if not given.")
    ] = None,
    weight: Annotated[str | None, typer.Option(help="Attribute with sample weights.")] = None,
    household: Annotated[str | None, typer.Option(help="Attribute with the key of a household.")] = None,
    population: Annotated[
        str | None, typer.Option(help="A file with the quasi-identifiers of everyone, these people included.")
    ] = None,
    people: Annotated[float | None, typer.Option(help="Size of the population, if there are no weights.")] = None,
    threshold: Annotated[float, typer.Option(help="Risk above which a record counts as at risk.")] = 0.2,
    size: Annotated[int, typer.Option(help="Most attributes of a minimal sample unique.")] = 3,
    fraction: Annotated[float, typer.Option(help="Sampling fraction for DIS scores, where it is not known.")] = 0.01,
    measures: Annotated[
        str | None, typer.Option(help="Measures to compute, by name; all that apply if not given.")
    ] = None,
    records: Annotated[
        Path | None, typer.Option("--records", help="Write the risks of each record, in the order of the file.")
    ] = None,
    table: TableName = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write an HTML page.")] = None,
    json: Json = False,
) -> None:
    """Measure how well records are found by their quasi-identifiers. For the owner: figures come from exact rows.

    [dim]tacita disclosure survey.csv -s survey.yaml --qi age,sex,zip --weight w --household home --report risk.html[/]
    """
    from tacita.assess.risk.measure import RiskOptions
    from tacita.assess.risk.microdata import microdata_risk
    from tacita.assess.risk.page import figure_text, write_risk
    from tacita.assess.risk.sample import read_sample
    from tacita.synthesize.writing import write_file

    check_files(PAGE, report=report)
    check_files(ROWS, records=records)
    domain = Domain.read(schema)
    options = RiskOptions(threshold=threshold, size=size, fraction=fraction, measures=_names(measures) or ())
    quasi = _names(qi) or tuple(each.name for each in domain.attributes if each.role == "quasi-identifier")
    more = [name for name in (weight, household) if name is not None]
    sample = read_sample(
        domain,
        _rows(data, domain, table, (*quasi, *more)),
        quasi=quasi,
        weight=weight,
        household=household,
        population=None if population is None else _rows(population, domain.project(quasi), None, quasi),
        people=people,
    )
    found = microdata_risk(sample, options)
    if records is not None:
        write_file(records, iter([found.records()]))
    if report is not None:
        write_risk(report, found, f"{found.rows:,} records of {Path(data).name}")
    if json:
        show.print_json(found.as_dict())
        return
    for measure, result in found.measured:
        show.grid(measure.title, ("", ">"), [(each.title, figure_text(each)) for each in result.figures])
        for note in result.notes:
            show.say(f"[dim]{note}[/]\n")
    if found.skipped:
        show.grid("Measures that do not apply", ("", ""), found.skipped)
    show.say("Figures of exact rows, for the owner of the data. No guarantee, and not to be published.")


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def _rows(address: str, domain: Domain, table: str | None, columns: tuple[str, ...]) -> pa.Table:
    from tacita.anonymize.quasi import joined

    wanted = tuple(dict.fromkeys(columns))
    for name in wanted:
        domain[name]  # an unknown name is refused with those that there are
    return joined(engine_of(address, domain, table).rows(wanted), wanted)

"""`tacita mobility`: tap records: simulate, prepare, find communities, release synthetic ones."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import typer

from tacita import check
from tacita.cli.parts import show
from tacita.cli.parts.files import JSON, PAGE, ROWS, Into, RowsOutput, check_files, paid_already, rows_target
from tacita.cli.parts.options import (
    Again,
    Data,
    Delta,
    Epsilon,
    Json,
    Rho,
    SchemaFile,
    State,
    TableName,
    budget_of,
    engine_of,
    ledger_of,
    session_of,
)
from tacita.cli.parts.taps import Columns, PlacesFile, given_columns, read_places, read_taps
from tacita.common.number_text import number
from tacita.common.progress import step
from tacita.common.whole import write_text
from tacita.domain import Domain
from tacita.engines.targets import RowTarget
from tacita.errors import InvalidInput
from tacita.report.signing import SigningKey
from tacita.report.statement import state as state_of
from tacita.settings import Settings
from tacita.synthesize.writing import write_file

if TYPE_CHECKING:
    from tacita.synthesize.mobility.result import SyntheticMobility

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)
Seed = Annotated[int, typer.Option(help="The same seed gives the same figures.", min=0)]
Topics = Annotated[int, typer.Option("--topics", "-k", help="Number of communities.", min=2)]


@app.command()
def simulate(
    folder: Annotated[Path, typer.Option("--folder", "-f", help="The folder to write to.")] = Path("city"),
    cards: Annotated[int, typer.Option(help="Commuters of the city.", min=1)] = 5000,
    days: Annotated[int, typer.Option(help="Days, from a Monday on.", min=2)] = 7,
    held: Annotated[int, typer.Option(help="Commuters who are held back, for assessments.", min=0)] = 5000,
    seed: Seed = 0,
) -> None:
    """Write tap records of a simulated city, their schema, and its places.

    [dim]tacita mobility simulate --folder city --cards 5000[/]
    """
    from tacita.demo.city import build_city, simulate_taps

    folder.mkdir(parents=True, exist_ok=True)
    city = build_city(days=days, seed=seed)
    city.schema.domain.write(folder / "schema.yaml")
    city.places.write(folder / "places.csv")
    taps = simulate_taps(city, cards, seed + 1)
    write_file(folder / "taps.csv", iter([taps]))
    rows = [("taps.csv", f"{taps.num_rows:,} tap records of {cards:,} commuters")]
    if held:
        others = simulate_taps(city, held, seed + 2)
        write_file(folder / "held.csv", iter([others]))
        rows.append(("held.csv", f"{others.num_rows:,} tap records of {held:,} others"))
    rows += [("schema.yaml", "public schema"), ("places.csv", f"{len(city.places)} places with zones and coordinates")]
    show.grid(f"A simulated city in {folder}: no row is about a real person", ("file", "content"), rows)


@app.command()
def prepare(
    data: Annotated[Path, typer.Argument(help="Raw tap records: CSV or Parquet.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file for the records: .csv or .parquet.")],
    schema: Annotated[Path, typer.Option("--schema", "-s", help="The file for a draft of the schema.")],
    places: PlacesFile = None,
    columns: Columns = None,
) -> None:
    """Bring raw tap records into the form of the schema, and draft the schema.

    The columns of EZ-link records are found by themselves. The draft marks everything that was read off the records:
    correct it, then run `tacita schema confirm`.

    [dim]tacita mobility prepare raw.csv -o taps.parquet -s schema.yaml --columns origin=from,destination=to[/]
    """
    from tacita.cli.assessing.assess import read_table
    from tacita.synthesize.mobility.loading import draft_domain, load_taps

    check_files(ROWS, output=output)
    public = read_places(places)
    named = {role: name for role, name in given_columns(columns).items() if name is not None}
    taps = load_taps(read_table(str(data)), columns=named, places=public)
    domain = draft_domain(taps, public)
    write_file(output, iter([taps]))
    domain.write(schema)
    lost = {name: taps[name].null_count for name in ("card", "entry_date", "entry_time", "origin", "destination")}
    rows = [(name, f"{count:,} of {taps.num_rows:,} are missing or cannot be read") for name, count in lost.items()]
    show.grid(f"{taps.num_rows:,} records in {output.name}", ("column", ""), rows)
    if domain.unconfirmed:
        show.say(f"{schema.name} is a draft: look at it, then run `tacita schema confirm`.")


@app.command()
def communities(
    data: Data,
    schema: SchemaFile,
    kind: Annotated[
        Literal["slda", "tlda", "stlda"], typer.Option(help="Topics of places, of times, or of both.")
    ] = "stlda",
    topics: Topics = 8,
    sweeps: Annotated[int, typer.Option(help="Passes of the sampler over all visits.", min=80)] = 500,
    chains: Annotated[int, typer.Option(help="Independent runs of the sampler.", min=1)] = 4,
    fold: Annotated[
        Literal["hour-of-day", "hour-of-week"], typer.Option(help="Time segments of visits.")
    ] = "hour-of-day",
    only: Annotated[Literal["all", "weekdays", "weekends"], typer.Option(help="Days whose trips are read.")] = "all",
    tau: Annotated[
        float | None,
        typer.Option(help="Members have at least this share of a topic; by the largest share if not given."),
    ] = None,
    top: Annotated[int, typer.Option(help="Places to name.", min=1)] = 5,
    louvain: Annotated[
        bool, typer.Option("--louvain", help="Compare with Louvain's communities of the commuter graph.")
    ] = False,
    places: PlacesFile = None,
    columns: Columns = None,
    table: TableName = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write an HTML page.")] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Find communities of cards by topic models. No guarantee: for the owner of the data.

    [dim]tacita mobility communities taps.csv -s schema.yaml --places places.csv -k 6 --report page.html[/]
    """
    from tacita.cli.parts.taps import community_page, compare_louvain
    from tacita.synthesize.mobility.topic_models.communities import describe
    from tacita.synthesize.mobility.topic_models.topics import Topics as Recipe

    check_files(PAGE, report=report)
    recipe = Recipe(kind=kind, topics=topics, sweeps=sweeps, chains=chains)
    trips = read_taps(data, schema, places, columns, table)
    if only != "all":
        trips = trips.take(trips.weekend == (only == "weekends"))
    visits = trips.visits(fold)
    model = recipe.fit(visits, np.random.default_rng(seed), progress=lambda share: step("sweeping", share))
    found = describe(model, visits, trips.schema.places.labels, fold=fold, tau=tau, top=top)
    beside = compare_louvain(model, visits, np.random.default_rng(seed), tau) if louvain else None
    if report is not None:
        community_page(report, trips, model, found, fold, tau)
    if json:
        plain = {"guarantee": "none", "model": recipe.as_dict(), "rhat": model.rhat, "cards": trips.cards}
        plain |= {"communities": [each.as_dict() for each in found]}
        show.print_json(plain | ({} if beside is None else {"louvain": beside}))
        return
    rows = [
        (str(each.number), f"{each.cards:,}", ", ".join(name for name, _ in each.places), ", ".join(each.peaks))
        for each in found
    ]
    show.grid(f"Communities of {trips.cards:,} cards", ("", ">cards", "places", "times"), rows)
    agree = "the chains agree" if model.converged else "the chains found different solutions, the best is shown"
    show.say(f"R-hat of the log-likelihood: {model.rhat:.2f}; {agree}.")
    if beside is not None:
        show.say(
            f"Louvain finds {beside['communities']} communities; the mean Jaccard index of matched ones is "
            f"{beside['jaccard']:.2f}."
        )
    show.say("No guarantee: these figures come from exact records and are for their owner.")


@app.command()
def generate(
    data: Data,
    schema: SchemaFile,
    output: RowsOutput,
    account: Annotated[
        str | None, typer.Option("--account", "-a", help="The account that pays; its unit is person:CARD:MOST_TRIPS.")
    ] = None,
    epsilon: Epsilon = None,
    delta: Delta = 0.0,
    rho: Rho = None,
    cards: Annotated[
        int | None, typer.Option("--cards", "-n", help="Synthetic cards; about as many as the data has if not given.")
    ] = None,
    method: Annotated[
        Literal["tours", "od"],
        typer.Option(help="tours: homes, main places, days as chains of trips. od: one noisy table, the baseline."),
    ] = "tours",
    unprotected: Annotated[
        bool, typer.Option("--unprotected", help="Random walks on the graphs of communities: no guarantee, no account.")
    ] = False,
    people: Annotated[
        int | None, typer.Option(help="Approximate number of cards of the data, if that is public.")
    ] = None,
    topics: Topics = 8,
    least: Annotated[int, typer.Option(help="With --unprotected: distinct cards that an edge needs.", min=1)] = 5,
    places: PlacesFile = None,
    columns: Columns = None,
    into: Into = None,
    table: TableName = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show tables, errors and cost; reads no data.")
    ] = False,
    key: Annotated[str | None, typer.Option(help="Name this request; the same key again costs nothing.")] = None,
    model: Annotated[Path | None, typer.Option("--model", help="Write the model as JSON.")] = None,
    statement: Annotated[
        Path | None, typer.Option(help="Write a signed statement of the guarantee; `tacita verify` checks it.")
    ] = None,
    again: Again = None,
    state: State = None,
    json: Json = False,
) -> None:
    """Release synthetic tap records, paid from an account.

    [dim]tacita mobility generate taps.csv -s schema.yaml --places places.csv -a city --epsilon 1 -o out.parquet[/]
    """
    target = rows_target(output, into)
    check_files(JSON, model=model, statement=statement)
    target.check()
    check.whole(cards, "cards", least=0, optional=True)
    if unprotected:
        if account is not None or epsilon is not None or rho is not None or statement is not None:
            rule = "has no guarantee and no cost: leave out --account, --epsilon, --rho and --statement"
            raise InvalidInput(rule, field="unprotected")
        made = _walk(data, schema, places, columns, table, topics, least)
        wanted = round(made.people) if cards is None else cards
        _write(made, target, wanted, model)
        _show(made, wanted, target, json, {})
        return
    if account is None:
        raise InvalidInput("must be given: the account that pays", field="account", hint="Or use --unprotected")
    from tacita.synthesize.mobility.request import MobilityOptions

    ledger, domain, budget = ledger_of(state), Domain.read(schema), budget_of(epsilon, delta, rho)
    paying = ledger.account(account)
    options = MobilityOptions(
        method=method, places=read_places(places), columns=given_columns(columns), cards=people, wanted=cards
    )
    plan = options.recipe().calibrate(domain, budget, unit=paying.unit, neighbours=paying.neighbours)
    if dry_run:
        facts = [
            (
                each.spec.name,
                f"{each.spec.cells:,} cells, standard error {each.std:.3g}"
                + ("" if each.total_variation is None else f", noise adds at most about {each.total_variation:.2f}"),
            )
            for each in plan.tables
        ]
        show.plan_facts(plan, ledger.quote(paying.name, plan.event), facts, as_json=json)
        return
    session = session_of(ledger, account=paying.name, data=data, domain=domain, table=table, again=again)
    key = key or f"mobility-{uuid.uuid4().hex[:16]}"
    made = session.ask(plan, purpose="mobility", key=key)
    with paid_already(f"It is paid for: the same command with --key {key} costs nothing more"):
        wanted = options.rows(made)
        _write(made, target, wanted, model)
        if statement is not None:
            state_of(
                event=made.event,
                unit=made.unit,
                neighbours=made.neighbours,
                provenance=made.provenance,
                delta=delta,
                guarantee="central differential privacy",
                public=options.public,
                files=None if target.path is None else {target.name: target.path},
                key=SigningKey.of(Settings.load().home),
            ).write(statement)
    _show(made, wanted, target, json, {"key": key, "balance": session.balance().as_dict()})
    if not json:
        show.balance(session.balance())


def _walk(
    data: str,
    schema: Path,
    places: Path | None,
    columns: str | None,
    table: str | None,
    topics: int,
    least: int,
) -> SyntheticMobility:
    from tacita.synthesize.mobility.topic_models.topics import Topics as Recipe
    from tacita.synthesize.mobility.walk import GraphWalk

    trips = read_taps(data, schema, places, columns, table)
    return GraphWalk(topics=Recipe(topics=topics), least=least).fit(trips, np.random.default_rng())


def _write(made: SyntheticMobility, target: RowTarget, wanted: int, model: Path | None) -> None:
    if model is not None:
        write_text(model, made.to_json())
    advance = show.progress("writing records", round(wanted * 10))
    target.write(made.batches(wanted, np.random.default_rng()), advance)


def _show(made: SyntheticMobility, wanted: int, target: RowTarget, json: bool, more: dict[str, object]) -> None:
    if json:
        plain = {name: value for name, value in made.as_dict().items() if name not in ("model", "schema")}
        show.print_json(plain | {"cards": wanted} | more)
        return
    facts = [
        ("cards written", f"{wanted:,}"),
        ("cards of the data, about", f"{number(made.people)} ± {number(2 * made.people_std)}"),
        ("method", str(made.provenance.recipe["method"])),
        ("guarantee", made.guarantee),
        ("who is protected", "no one" if made.guarantee == "none" else made.protected()),
    ]
    show.grid(f"Synthetic tap records in {target.name}", ("", ""), facts)
    for note in made.notes:
        show.say(note)
    show.say(made.statement())


@app.command()
def draw(
    model: Annotated[Path, typer.Argument(help="A model that `tacita mobility generate --model` wrote.")],
    output: RowsOutput,
    cards: Annotated[int, typer.Option("--cards", "-n", help="Synthetic cards.", min=0)],
    into: Into = None,
) -> None:
    """Draw more synthetic cards from a released model; costs nothing."""
    from tacita.synthesize.mobility.result import SyntheticMobility

    target = rows_target(output, into)
    try:
        made = SyntheticMobility.from_json(model.read_text(encoding="utf-8"))
    except InvalidInput:
        raise
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        raise InvalidInput("cannot be read as a model of tap records", field="model", value=model) from None
    _write(made, target, cards, None)
    _show(made, cards, target, False, {})


@app.command()
def assess(
    released: Annotated[str, typer.Argument(help="Released tap records: CSV or Parquet.")],
    schema: SchemaFile,
    real: Annotated[str, typer.Option(help="The records that they were made from.")],
    control: Annotated[
        str | None, typer.Option(help="Records of cards that were not used. Without, leaks look like guesses.")
    ] = None,
    attempts: Annotated[int, typer.Option(help="Trials of each attack.", min=50)] = 500,
    topics: Annotated[int | None, typer.Option("--topics", "-k", help="Also compare this many communities.")] = None,
    places: PlacesFile = None,
    columns: Columns = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write an HTML page.")] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Attack released tap records and measure their utility. For the owner: figures come from exact records.

    [dim]tacita mobility assess out.parquet --real taps.csv --control held.csv -s schema.yaml --places places.csv[/]
    """
    from tacita.assess.mobility import assess_taps
    from tacita.cli.parts.taps import assessment_page, schema_of

    check_files(PAGE, report=report)
    taps = schema_of(Domain.read(schema), places, columns)
    sides = [None if each is None else engine_of(each, taps.domain) for each in (real, released, control)]
    assert sides[0] is not None
    assert sides[1] is not None
    found = assess_taps(
        taps,
        sides[0],
        sides[1],
        np.random.default_rng(seed),
        control=sides[2],
        attempts=attempts,
        topics=topics,
        progress=show.shares("assessing"),
    )
    sections = assessment_page(report, found)
    if json:
        show.print_json(found.as_dict())
        return
    for section in sections:
        show.grid(section.title, ("", ""), section.facts)
    for what, why in found.skipped:
        show.say(f"{what}: {why}")

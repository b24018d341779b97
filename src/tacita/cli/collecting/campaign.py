"""`tacita collect create|open|wave|status|close|export|merge`: campaigns in the state database."""

from __future__ import annotations

import datetime as dt
import json as jsonlib
from pathlib import Path
from typing import Annotated, Any

import typer

from tacita.cli.collecting.collect import (
    Answers,
    By,
    Channel,
    Dependence,
    Epsilon,
    FirstShare,
    Mode,
    Pairs,
    PenaltyName,
    PhasesOption,
    PriorFiles,
    Respondents,
    Turns,
    Waves,
    app,
    dependence_of,
    prior_of,
    show_design,
    workload_of,
)
from tacita.cli.parts import show
from tacita.cli.parts.files import JSON, check_files
from tacita.cli.parts.options import Json, SchemaFile, State, database_of
from tacita.collect.campaigns import Campaign, Campaigns, Rounds, Terms
from tacita.collect.planning.phases import FIRST
from tacita.collect.planning.plan import DEPENDENCE, plan_collection
from tacita.collect.planning.stopping import StopRule
from tacita.common.whole import write_text
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.server.respond.standalone import build

__all__ = ["CampaignId", "campaigns_of"]

CampaignId = Annotated[str, typer.Argument(metavar="ID", help="The campaign.")]


def campaigns_of(state: str | None) -> Campaigns:
    """Return the campaigns in the state that the option or the settings name."""
    return Campaigns(database_of(state))


def _show(campaign: Campaign) -> None:
    closed = f", {campaign.reason}" if campaign.reason else ""
    show.say(f"[bold]{campaign.title}[/]  {campaign.id}")
    show.say(
        f"{campaign.state}{closed}; {campaign.reports:,} reports; answering costs at most "
        f"{campaign.design.epsilon_upper:g}; publishes a table from {campaign.terms.minimum:,} answers on"
    )
    rows = [
        (
            q["id"],
            " x ".join(q["attributes"]),
            q["channel"],
            f"{q['cells']:,}",
            f"{q['received']:,}",
            f"{q['one_report']:.2g}",
        )
        for q in campaign.as_dict()["questions"]
        if q["block"] == campaign.block
    ]
    if (rule := campaign.terms.stop) is not None and rule.planned is not None:
        show.say(
            f"Closes when every share of the workload's tables is known to within {rule.half_width:g}: planned for "
            f"{rule.planned:,} respondents, {campaign.respondents:,} so far; the next look is at "
            f"{rule.size_of(max(rule.due(campaign.respondents), campaign.looks) + 1):,}"
        )
    if campaign.design.first is not None:
        following = f"the second begins after {campaign.design.first_respondents:,} respondents"
        show.say(f"Phase {campaign.block} of 2" + (f"; {following}" if campaign.block == 1 else ""))
    if (series := campaign.form.series) is not None:
        show.say(
            f"Wave {series.wave} of {series.waves} of the series {series.id}: each respondent answers in "
            f"{series.turns}, chosen at random, and loses at most {series.epsilon:g} in all waves together."
        )
    show.say(campaign.as_dict()["influence"])
    show.say(f"Fingerprint {campaign.fingerprint}: publish it, so that respondents can compare what their page shows.")
    one = campaign.terms.rounds is None and campaign.design.first is None
    title = "Questions" if one else f"Questions of block {campaign.block}"
    show.grid(title, ("id", "asks", "channel", ">cells", ">reports", ">one_report"), rows)


def _wave(campaign: Campaign) -> str:
    series = campaign.form.series
    return "" if series is None else f"{series.wave} of {series.waves}"


def _out(campaign: Campaign, json: bool) -> None:
    show.print_json(campaign.as_dict()) if json else _show(campaign)


def _moment(text: str | None) -> dt.datetime | None:
    if text is None:
        return None
    try:
        found = dt.datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput("must be a time such as 2030-01-31T18:00+01:00", field="closes", value=text) from None
    return found if found.tzinfo else found.astimezone()


def _shard(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    place, _, parts = text.partition("/")
    if not (place.isdigit() and parts.isdigit()):
        raise InvalidInput("must be such as 0/2", field="shard", value=text)
    return int(place), int(parts)


def _read_json(path: Path, field: str) -> dict[str, Any]:
    try:
        found = jsonlib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict):
        raise InvalidInput("must be a readable file of JSON", field=field, value=str(path))
    return found


@app.command()
def create(
    schema: SchemaFile,
    title: Annotated[str, typer.Option(help="The title that respondents see.")],
    respondents: Respondents,
    epsilon: Epsilon,
    by: By = None,
    pairs: Pairs = False,
    mode: Mode = "auto",
    answers: Answers = "one",
    channel: Channel = "auto",
    dependence: Dependence = DEPENDENCE,
    prior: PriorFiles = None,
    penalty: PenaltyName = "distance",
    phases: PhasesOption = "one",
    first: FirstShare = FIRST,
    waves: Waves = 1,
    turns: Turns = 1,
    minimum: Annotated[int, typer.Option(help="Least number of answers to a table before it is published.")] = 100,
    closes: Annotated[str | None, typer.Option(help="Time at which it closes by itself.")] = None,
    block: Annotated[
        int | None, typer.Option(help="Run in blocks of this many reports; needs --channel rr, matrix or optimal.")
    ] = None,
    floor: Annotated[
        float,
        typer.Option(help="Weight of the uniform among fakes in blocks, or of randomized response in a matrix."),
    ] = 0.5,
    block_seconds: Annotated[
        float | None, typer.Option(help="With --block: seconds after which a block closes.")
    ] = None,
    half_width: Annotated[float | None, typer.Option(help="Close when every share is known to within this.")] = None,
    level: Annotated[float, typer.Option(help="With --half-width: with this probability.")] = 0.95,
    keep_reports: Annotated[bool, typer.Option(help="Keep reports after they were counted.")] = False,
    shard: Annotated[str | None, typer.Option(help="i/m: this is the i-th, from 0, of m aggregators.")] = None,
    aggregator: Annotated[
        list[str] | None,
        typer.Option(help="With --shard, once for each aggregator in order: its origin, such as https://a.example."),
    ] = None,
    raised_limits: Annotated[
        bool, typer.Option(help="Respondents have raised the limits of their devices: allows an epsilon above 2.")
    ] = False,
    invited: Annotated[
        bool, typer.Option(help="Respondents need one-time codes: `tacita collect invite` makes them.")
    ] = False,
    draft: Annotated[bool, typer.Option(help="Save it as a draft; `tacita collect open` opens it.")] = False,
    id: Annotated[
        str | None, typer.Option(help="A readable id, or that of the same campaign at another aggregator.")
    ] = None,
    state: State = None,
    json: Json = False,
) -> None:
    """Plan a campaign and open it."""
    domain = Domain.read(schema)
    design = plan_collection(
        domain,
        workload_of(domain, by, pairs),
        respondents=respondents,
        epsilon=epsilon,
        mode=mode,
        answers=answers,
        channel=channel,
        dependence=dependence_of(prior_of(domain, prior), dependence),
        penalty=penalty,
        floor=floor,
        phases=phases,
        first=first,
        waves=waves,
        turns=turns,
    )
    terms = Terms(
        minimum=minimum,
        closes=_moment(closes),
        rounds=None if block is None else Rounds(size=block, floor=floor, seconds=block_seconds),
        stop=None if half_width is None else StopRule(half_width=half_width, level=level),
        keep_reports=keep_reports,
        shard=_shard(shard),
        aggregators=tuple(aggregator) if aggregator else None,
        invited=invited,
        raised_limits=raised_limits,
    )
    campaigns = campaigns_of(state)
    campaign = campaigns.create(design, title=title, terms=terms, id=id)
    campaign = campaign if draft else campaigns.open(campaign.id)
    if json:
        show.print_json(campaign.as_dict())
        return
    show_design(design)
    _show(campaign)
    if not draft:
        show.say(f"Devices fetch their questions from /v1/campaigns/{campaign.id}/questions of `tacita serve`.")


@app.command("open")
def open_campaign(id: CampaignId, state: State = None, json: Json = False) -> None:
    """Let people answer a draft."""
    _out(campaigns_of(state).open(id), json)


@app.command()
def status(
    id: Annotated[str | None, typer.Argument(metavar="[ID]", help="The campaign; all, if none is named.")] = None,
    state: State = None,
    json: Json = False,
) -> None:
    """Show a campaign, or list them all."""
    campaigns = campaigns_of(state)
    if id is not None:
        _out(campaigns.advance(id), json)
        return
    found = campaigns.list()
    if json:
        show.print_json([campaign.as_dict() for campaign in found])
        return
    rows = [(c.id, c.title, _wave(c), c.state, f"{c.reports:,}", f"{c.created:%Y-%m-%d}") for c in found]
    show.grid("Campaigns", ("id", "title", "wave", "state", ">reports", "created"), rows)


@app.command()
def wave(
    id: Annotated[str, typer.Argument(metavar="ID", help="The series, or any wave of it.")],
    wave: Annotated[int, typer.Argument(metavar="WAVE", help="Its number. A wave that is open already stays so.")],
    closes: Annotated[str | None, typer.Option(help="Time at which the new wave closes by itself.")] = None,
    state: State = None,
    json: Json = False,
) -> None:
    """Open the next wave of a series, with the same questions; the wave before it is closed."""
    campaign = campaigns_of(state).open_wave(id, wave, closes=_moment(closes))
    _out(campaign, json)
    if not json:
        show.say(f"Devices fetch their questions from /v1/campaigns/{campaign.id}/questions of `tacita serve`.")


@app.command()
def close(id: CampaignId, state: State = None, json: Json = False) -> None:
    """Accept no more reports; it cannot be opened again."""
    _out(campaigns_of(state).close(id), json)


@app.command()
def export(
    id: CampaignId, out: Annotated[Path, typer.Option("--out", "-o", help="Output file.")], state: State = None
) -> None:
    """Write the tally, for another aggregator of the same campaign, as JSON."""
    check_files(JSON, out=out)
    write_text(out, jsonlib.dumps(campaigns_of(state).export(id)))
    show.say(f"Wrote {out}.")


@app.command()
def invite(
    id: CampaignId,
    count: Annotated[int, typer.Argument(help="Number of codes.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A file for them, one in a line; shown, if not given.")
    ] = None,
    state: State = None,
) -> None:
    """Make one-time codes for an invited campaign. They are shown once."""
    codes = "\n".join(campaigns_of(state).invite(id, count))
    if out is None:
        print(codes)
        return
    out.touch(mode=0o600)
    write_text(out, codes + "\n")
    show.say(f"Wrote {out}: give each respondent one, as the address of the page with #CODE behind it.")


@app.command()
def page(
    aggregator: Annotated[str, typer.Option(help="The origin that takes the reports, such as https://survey.example.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="A new folder.")],
) -> None:
    """Write the respondent's page as static files, to be hosted by someone whom respondents trust."""
    files = build(aggregator, out)
    show.say(f"Wrote {len(files)} files to {out}. Respondents open index.html?survey=ID there.")


@app.command()
def block(
    id: CampaignId, out: Annotated[Path, typer.Option("--out", "-o", help="Output file.")], state: State = None
) -> None:
    """Write the questions of the open block, for aggregators that share the campaign with this one, as JSON."""
    check_files(JSON, out=out)
    write_text(out, jsonlib.dumps(campaigns_of(state).block(id)))
    show.say(f"Wrote {out}.")


@app.command()
def adopt(
    id: CampaignId,
    block: Annotated[Path, typer.Argument(help="The file that the first aggregator has written with `collect block`.")],
    state: State = None,
    json: Json = False,
) -> None:
    """Open the block that the first aggregator of the campaign has opened."""
    _out(campaigns_of(state).adopt(id, _read_json(block, "block")), json)


@app.command()
def merge(
    id: CampaignId,
    tally: Annotated[Path, typer.Argument(help="The tally that another aggregator has exported.")],
    state: State = None,
    json: Json = False,
) -> None:
    """Add the tally of another aggregator; refused if a report was sent to both."""
    _out(campaigns_of(state).merge(id, _read_json(tally, "tally")), json)

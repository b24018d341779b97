"""`tacita collect`: plan a collection, and simulate it on data. `campaign` and `findings` add the other commands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal

import typer

from tacita.cli.parts import show
from tacita.cli.parts.options import Data, Json, SchemaFile, TableName, engine_of
from tacita.collect.analysis import findings
from tacita.collect.channels.wiring import MAKERS
from tacita.collect.device.channels import ChannelName, Penalty
from tacita.collect.estimating.means import CollectedMean, collected_means
from tacita.collect.estimating.prior import Prior
from tacita.collect.estimating.tally import simulate as simulate_collection
from tacita.collect.planning.design import CollectionDesign
from tacita.collect.planning.phases import FIRST, simulate_phases
from tacita.collect.planning.plan import DEPENDENCE, Phases, plan_collection
from tacita.collect.planning.sizing import half_widths, respondents_planned
from tacita.collect.planning.stopping import StopRule
from tacita.common.number_text import number
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.tables.workload import Workload

__all__ = [
    "Answers",
    "By",
    "Channel",
    "Dependence",
    "Epsilon",
    "FirstShare",
    "Mode",
    "Pairs",
    "PenaltyName",
    "PhasesOption",
    "PriorFiles",
    "Respondents",
    "Turns",
    "Waves",
    "app",
    "dependence_of",
    "prior_of",
    "show_design",
    "show_means",
    "workload_of",
]

app = typer.Typer(no_args_is_help=True)

By = Annotated[
    list[str] | None,
    typer.Option("--by", "-b", help="A table of the workload: --by age,sex. Several may be given."),
]
Pairs = Annotated[bool, typer.Option("--pairs", help="The workload is all pairs of attributes.")]
Respondents = Annotated[int, typer.Option(help="Expected number of respondents.")]
Epsilon = Annotated[
    float,
    typer.Option(help="Epsilon, a bound on the privacy loss of each respondent. Below 1 is strong, above 5 is weak."),
]
Mode = Annotated[
    Literal["auto", "singles", "tables", "views"],
    typer.Option(help="Questions: single attributes, tables, or views that hold several tables."),
]
Answers = Annotated[
    Literal["one", "view"],
    typer.Option(help="One question for each respondent, or several that share epsilon."),
]
Channel = Annotated[
    ChannelName,
    typer.Option(
        help="Channel of all questions. auto: the best for each. mixed: means of numbers and tables of all else. "
        + " ".join(f"{name}: {each.title}." for name, each in MAKERS.items())
    ),
]
PenaltyName = Annotated[
    Penalty,
    typer.Option(
        "--penalty",
        help="With --channel optimal: cost of reporting one cell for another. distance: places apart on ordered "
        "attributes. squared: their square. exact: 1 for every wrong cell.",
    ),
]
PhasesOption = Annotated[
    Phases,
    typer.Option(
        "--phases",
        help="two: after a first share of the respondents, ask the others what the first reports show to be worth "
        "asking. auto: two where the expected error is smaller.",
    ),
]
FirstShare = Annotated[float, typer.Option("--first", help="With two phases: share of the respondents in the first.")]
Waves = Annotated[
    int,
    typer.Option(
        "--waves",
        help="Ask the same in so many waves of a series. Epsilon bounds the loss of each respondent in all of them, "
        "and the respondents are those of the whole panel.",
    ),
]
Turns = Annotated[
    int,
    typer.Option("--turns", help="With --waves: number of waves in which each respondent answers, chosen at random."),
]
Dependence = Annotated[
    float,
    typer.Option(
        help="Expected distance of tables from independence (total variation). Your own guess; that of --prior, if it "
        "has pairs."
    ),
]


PriorFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--prior",
        help="A public table or a release of some attributes: CSV or Parquet with a column for each attribute and "
        "`count` or `share`, or a release as JSON. Several may be given. Never a private table: results may show it.",
    ),
]


def prior_of(domain: Domain, files: list[str] | None) -> Prior | None:
    """Read the public tables that the options name."""
    return Prior.read(domain, *files) if files else None


def dependence_of(prior: Prior | None, dependence: float) -> float:
    """The dependence to plan for: that of the pairs of a prior, where it has some."""
    found = None if prior is None else prior.dependence()
    return dependence if found is None else min(found, 1.0)


def workload_of(domain: Domain, by: list[str] | None, pairs: bool) -> Workload:
    """Return the tables that the options name."""
    if pairs:
        return Workload.all(domain, 2)
    if not by:
        raise InvalidInput("state the tables of the workload: --by age,sex, or --pairs", field="by")
    return Workload.of(*(tuple(part.strip() for part in text.split(",")) for text in by))


def show_design(design: CollectionDesign) -> None:
    """Show a plan: the questions, their numbers of respondents, and the expected error of each table alone."""
    rows = [
        (
            ("mean of " if predicted.mean else "") + " x ".join(question.attributes),
            type(question.channel).__name__,
            str(question.channel.levels),
            f"{design.expected(question):,}",
            number(predicted.published, share=True),
        )
        for question, predicted in zip(design.questions, design.predict(), strict=True)
    ]
    most = max(len(view) for view in design.views)
    asked = "one question" if most == 1 else f"up to {most} questions"
    title = f"Plan: ask for {design.mode}; each respondent answers {asked} and loses at most {design.epsilon_upper:g}"
    show.grid(title, ("question", "channel", ">cells", ">answers", ">error of the table alone"), rows)
    if any(predicted.mean for predicted in design.predict()):
        show.say("The error of a mean is its standard error, as a share of the range of the number.")
    show.say(design.why + ".")
    if design.first is not None:
        show.say(
            f"Two phases: these questions for the first {design.first_respondents:,} respondents. Numbers of answers "
            "and errors are those of one phase."
        )
    if design.waves > 1:
        show.say(
            f"A series of {design.waves} waves: each respondent answers in {design.turns}, chosen at random, and "
            f"loses at most {design.epsilon_series:g} in all. Answers and errors are those of one wave."
        )
    if design.rehearsed is not None:
        show.say(f"Expected distance of a published table from the truth: {number(design.rehearsed, share=True)}.")


def show_means(means: Sequence[CollectedMean]) -> None:
    """Show means with their intervals."""
    if not means:
        return
    rows = [
        (
            mean.attribute,
            mean.channel,
            f"{mean.respondents:,}",
            number(mean.mean),
            number(mean.std),
            f"{number(mean.low)} to {number(mean.high)}",
        )
        for mean in means
    ]
    columns = ("number", "channel", ">reports", ">mean", ">std", f">{means[0].level:.0%} interval")
    show.grid("Means of the middles of the bins, unbiased", columns, rows)


def _show_simulated_means(design: CollectionDesign, means: Sequence[CollectedMean], json: bool) -> None:
    if json:
        show.print_json(design.as_dict() | {"simulated": True, "means": [mean.as_dict() for mean in means]})
        return
    show_design(design)
    show_means(means)
    show.say("Simulated: anyone who knows the seed could repeat these numbers.")


@app.command()
def plan(
    schema: SchemaFile,
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
    half_width: Annotated[
        float | None, typer.Option(help="Compute the respondents needed to know every share to within this.")
    ] = None,
    json: Json = False,
) -> None:
    """Plan the questions, and predict the error of each table, before anyone is asked."""
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
        phases=phases,
        first=first,
        waves=waves,
        turns=turns,
    )
    found = None if half_width is None else _needed(design, half_width)
    if json:
        show.print_json(design.as_dict() | (found or {}))
        return
    show_design(design)
    if found is not None:
        show.say(
            f"To know every share of these tables to within {half_width:g}, all together with 95 %: about "
            f"{found['needed']:,} respondents. A campaign with --half-width {half_width:g} plans its looks around that "
            f"number. Each share by itself takes {found['needed_each']:,}."
        )


def _needed(design: CollectionDesign, half_width: float) -> dict[str, int]:
    """Compute the respondents needed for this precision: by a stop rule, and for each share by itself."""
    widest = max(half_widths(design, 1).values())
    each = math.ceil((widest / half_width) ** 2)
    return {"needed": respondents_planned(design, StopRule(half_width=half_width)), "needed_each": each}


@app.command()
def simulate(
    data: Data,
    schema: SchemaFile,
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
    seed: Annotated[int, typer.Option(help="The same seed gives the same collection.")] = 0,
    table: TableName = None,
    json: Json = False,
) -> None:
    """Simulate a plan on data, every row a respondent. The result is simulated: not private, not for release."""
    domain = Domain.read(schema)
    workload, known = workload_of(domain, by, pairs), prior_of(domain, prior)
    design = plan_collection(
        domain,
        workload,
        respondents=respondents,
        epsilon=epsilon,
        mode=mode,
        answers=answers,
        channel=channel,
        dependence=dependence_of(known, dependence),
        penalty=penalty,
        phases=phases,
        first=first,
    )
    run = simulate_collection if design.first is None else simulate_phases
    tally = run(design, engine_of(data, domain, table), SeededSource(seed))
    means = collected_means(tally)
    if all(question.asks_mean for question in design.questions):
        _show_simulated_means(design, means, json)
        return
    published = findings.published(tally, prior=known)
    asked = {question.attributes for question in design.questions if question.asks_mean}
    tables = [key for key in workload if key not in asked]
    wanted = [published.project(k) if published.supports(k) else findings.table(tally, k, prior=known) for k in tables]
    if json:
        values = {" x ".join(release.attributes): release.values.tolist() for release in wanted}
        way = next(iter(published.values())).provenance.recipe["published"]
        listed = {"means": [mean.as_dict() for mean in means]} if means else {}
        show.print_json(design.as_dict() | {"published": way, "simulated": True, "tables": values} | listed)
        return
    show_design(design)
    for line in findings.explain(published):
        show.say(line)
    for release in wanted:
        show.release(release)
    show_means(means)
    show.say("Simulated: anyone who knows the seed could repeat these numbers.")

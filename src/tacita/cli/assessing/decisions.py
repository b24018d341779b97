"""`tacita decide test|flip|stability|plan`: whether noise turned a decision on released tables; costs nothing."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from tacita.assess.decisions.asked import Mode, Source, ask_flip, ask_stability, ask_test, read_tables
from tacita.assess.decisions.links import LinkStability, planned_links
from tacita.assess.decisions.page import write_stability
from tacita.assess.decisions.private_test import Way
from tacita.assess.decisions.relearn import Search
from tacita.assess.decisions.rule import Statistic
from tacita.cli.collecting.campaign import campaigns_of
from tacita.cli.parts import show
from tacita.cli.parts.files import PAGE, check_files
from tacita.cli.parts.options import Delta, Epsilon, Json, Rho, State, budget_of
from tacita.errors import InvalidInput
from tacita.models import read_bif
from tacita.plans import NoisyTables
from tacita.privacy.unit import Neighbours, Unit
from tacita.tables.workload import Workload

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)

Tables = Annotated[
    str, typer.Argument(metavar="TABLES", help="Released tables as JSON, or the id of a campaign in the state.")
]
By = Annotated[str, typer.Option("--by", "-b", help="Attributes that may depend on each other: --by smokes,sex.")]
Given = Annotated[str, typer.Option(help="Within each combination of these attributes.")]
Alpha = Annotated[float, typer.Option(help="Level of the decision.")]
People = Annotated[int | None, typer.Option(help="Number of rows behind noisy counts, if it is public.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same figures.")]


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _source(tables: str, state: str | None) -> Source:
    path = Path(tables)
    if path.suffix.lower() != ".json":
        return campaigns_of(state).tally(tables)
    try:
        data: Any = jsonlib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InvalidInput("must be a readable file of JSON", field="tables", value=tables) from None
    return read_tables(data)


@app.command("test")
def independence(
    tables: Tables,
    by: By,
    given: Given = "",
    alpha: Alpha = 0.05,
    people: People = None,
    way: Annotated[
        Way,
        typer.Option(help="noise-aware: each cell weighed by its variance. paper: as published, with its rule of 5."),
    ] = "noise-aware",
    simulations: Annotated[int, typer.Option(help="Simulated releases for the threshold.")] = 999,
    seed: Seed = 0,
    state: State = None,
    json: Json = False,
) -> None:
    """Test whether attributes are independent, through the mechanism that made the tables, and show the test's power.

    [dim]tacita decide test tables.json --by smokes,sex --given age[/]
    """
    found = ask_test(
        _source(tables, state),
        by=_names(by),
        given=_names(given),
        alpha=alpha,
        people=people,
        way=way,
        simulations=simulations,
        seed=seed,
    )
    if json:
        show.print_json(found)
        return
    show.say(found["words"])
    show.say(f"{found['method']}: statistic {found['statistic']:.4g}, df {found['df']}, p = {found['p_value']:.3g}")
    if found["caution"]:
        show.say(f"Caution: {found['caution']}")
    if found["power"]:
        rows = [
            (f"{each['effect']:.2g}", f"{each['power']:.0%}", f"{each['low']:.0%} to {each['high']:.0%}")
            for each in found["power"]
        ]
        show.grid("Power of this test", (">effect (Cohen's w)", ">found in", "of simulated releases"), rows)


@app.command()
def flip(
    tables: Tables,
    by: By,
    given: Given = "",
    statistic: Annotated[Statistic, typer.Option(help="Statistic of the decision.")] = "g2",
    alpha: Alpha = 0.05,
    df: Annotated[int | None, typer.Option(help="Degrees of freedom; those of the hypothesis by default.")] = None,
    decide: Annotated[
        Mode,
        typer.Option(
            help="Decision on the release. same: as if it were exact. private: by the test that knows the noise. "
            "paper: the published integral, beside the right probability."
        ),
    ] = "same",
    people: People = None,
    draws: Annotated[int, typer.Option(help="Draws of the true table.")] = 10_000,
    seed: Seed = 0,
    state: State = None,
    json: Json = False,
) -> None:
    """Compute the probability that the true table would be decided otherwise than the released one.

    [dim]tacita decide flip tables.json --by smokes,sex[/]
    """
    found = ask_flip(
        _source(tables, state),
        by=_names(by),
        given=_names(given),
        statistic=statistic,
        alpha=alpha,
        df=df,
        decide=decide,
        people=people,
        draws=draws,
        seed=seed,
    )
    if json:
        show.print_json(found)
        return
    right = found.get("correct", found)
    show.say(f"{right['hypothesis']}: {right['words']}.")
    rule = right["rule"]
    show.say(
        f"{rule['statistic']} of the release {right['statistic']:.4g}, critical value {rule['critical']:.4g} with "
        f"df {rule['df']}; {right['draws']:,} draws. {right['method']}."
    )
    if right["approximation"]:
        show.say(f"Approximation: {right['approximation']}.")
    if "wrong" in found:
        show.say(f"The published integral gives {found['value']:.4g}. It is not valid:")
        for line in found["wrong"]:
            show.say(f"- {line}")


@app.command()
def stability(
    tables: Tables,
    search: Annotated[Search, typer.Option(help="Structure search; exact is for few attributes.")] = "auto",
    degree: Annotated[int | None, typer.Option(help="Most parents of an attribute.", min=1)] = None,
    draws: Annotated[int, typer.Option(help="Draws of the true tables.", min=1)] = 200,
    report: Annotated[Path | None, typer.Option("--report", help="Write an HTML page with the picture.")] = None,
    seed: Seed = 0,
    state: State = None,
    json: Json = False,
) -> None:
    """Show how often each link of a network occurs in networks of tables that may be the true ones.

    [dim]tacita decide stability tables.json --report links.html[/]
    """
    check_files(PAGE, report=report)
    found = ask_stability(_source(tables, state), search=search, degree=degree, draws=draws, seed=seed)
    _links(found, "Links in {:,} draws of the true tables", report, json)


@app.command()
def plan(
    network: Annotated[Path, typer.Argument(help="An assumed or public network, as BIF: people are drawn from it.")],
    people: Annotated[int, typer.Option(help="Number of people.", min=2)],
    epsilon: Epsilon = None,
    delta: Delta = 0.0,
    rho: Rho = None,
    by: Annotated[
        list[str] | None, typer.Option("--by", "-b", help="A table of the plan: --by age,sex. All pairs by default.")
    ] = None,
    search: Annotated[Search, typer.Option(help="Structure search; exact is for few attributes.")] = "auto",
    degree: Annotated[int | None, typer.Option(help="Most parents of an attribute.", min=1)] = None,
    draws: Annotated[int, typer.Option(help="Simulated releases.", min=1)] = 100,
    report: Annotated[Path | None, typer.Option("--report", help="Write an HTML page with the picture.")] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Show how often each link would be found in releases of a plan, before anything is released.

    [dim]tacita decide plan survey.bif --people 5000 --epsilon 1[/]
    """
    check_files(PAGE, report=report)
    try:
        model = read_bif(network.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        raise InvalidInput("must be a file that can be read", field="network", value=network) from None
    workload = Workload.of(*(_names(text) for text in by)) if by else Workload.all(model.domain, 2)
    calibrated = NoisyTables(workload).calibrate(
        model.domain, budget_of(epsilon, delta, rho), unit=Unit.row(), neighbours=Neighbours.REPLACE_ONE
    )
    rng = np.random.default_rng(seed)
    found = planned_links(model, calibrated, people=people, search=search, degree=degree, draws=draws, rng=rng)
    _links(found, "Links in {:,} simulated releases", report, json)


def _links(found: LinkStability, title: str, report: Path | None, json: bool) -> None:
    if report is not None:
        write_stability(report, found)
    if json:
        show.print_json(found.as_dict())
        return
    rows = [
        (
            f"{link.parent} → {link.child}",
            "yes" if link.learnt else "no",
            f"{link.linked:.0%}",
            f"{link.low:.0%} to {link.high:.0%}",
            f"{link.arrow:.0%}",
            f"{link.compelled:.0%}",
        )
        for link in found.links
    ]
    columns = ("link", "in the network", ">linked", "interval", ">this way", ">compelled")
    show.grid(f"{title.format(found.draws)} ({found.search})", columns, rows)
    show.say(f"Exactly the links of the network in {found.same:.0%} of them. {found.method}.")
    for line in found.notes:
        show.say(f"{line[:1].upper()}{line[1:]}.")
    if report is not None:
        show.say(f"The page is in {report}.")

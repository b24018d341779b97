"""`tacita risk`: the confidence that a loss stays below epsilon, and the price of a larger loss."""

from __future__ import annotations

from typing import Annotated

import typer

from tacita.cli.parts import show
from tacita.cli.parts.options import Json
from tacita.common.number_text import number
from tacita.errors import InvalidInput
from tacita.privacy.risk.at_risk import Calculus, Noise, Risk, Sides, at_risk
from tacita.privacy.risk.cost import CostModel

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)

Level = Annotated[
    float | None,
    typer.Option(
        "--noise", help="The noise level: sensitivity / scale of Laplace noise, sensitivity / sigma of Gaussian."
    ),
]


@app.command("at-risk")
def at_risk_command(
    epsilon: Annotated[float | None, typer.Option(help="Bound on the privacy loss.")] = None,
    confidence: Annotated[float | None, typer.Option(help="Confidence of that bound: 0 to 1.")] = None,
    noise: Level = None,
    kind: Annotated[Noise, typer.Option(help="Distribution of the noise.")] = "laplace",
    sides: Annotated[Sides, typer.Option(help="Whether evidence for a person's absence counts as well.")] = "two",
    calculus: Annotated[
        Calculus, typer.Option(help="Exact, or the published heuristic, which is no guarantee.")
    ] = "exact",
    dimensions: Annotated[int, typer.Option(help="Number of released values; for the heuristic.")] = 1,
    json: Json = False,
) -> None:
    """Compute one of epsilon, confidence and noise level from the other two.

    [dim]tacita risk at-risk --epsilon 0.4 --noise 1[/]
    """
    found = at_risk(
        epsilon=epsilon,
        confidence=confidence,
        noise=noise,
        kind=kind,
        sides=sides,
        calculus=calculus,
        dimensions=dimensions,
    )
    if json:
        show.print_json(found.as_dict())
        return
    show.grid("Privacy at risk", ("", ">"), _facts(found))
    for note in found.notes:
        show.say(note)


def _facts(risk: Risk) -> list[tuple[str, str]]:
    side = "loss" if risk.sides == "one" else "|loss|"
    return [
        ("noise level", f"{risk.noise:.6g}"),
        ("epsilon", f"{risk.epsilon:.6g}"),
        (f"P({side} <= epsilon), {risk.calculus}", f"{risk.confidence:.6g}"),
        (f"P({side} <= epsilon), exact", f"{risk.exact:.6g}"),
        ("delta at this epsilon", f"{risk.delta:.6g}"),
    ]


@app.command()
def price(
    compensation: Annotated[float, typer.Option(help="Compensation of one person, with no guarantee at all.")],
    people: Annotated[int, typer.Option(help="Number of people who would be compensated.")],
    noise: Annotated[float | None, typer.Option(help="The noise level of one release.")] = None,
    error: Annotated[float | None, typer.Option(help="The mean absolute error that users accept, instead.")] = None,
    sensitivity: Annotated[float, typer.Option(help="Sensitivity of the answer; goes with --error.")] = 1.0,
    releases: Annotated[int, typer.Option(help="Number of releases about the same people.")] = 1,
    steepness: Annotated[float, typer.Option(help="Growth of the compensation with epsilon.")] = 1.0,
    least: Annotated[float, typer.Option(help="Compensation under a perfect guarantee.")] = 0.0,
    money: Annotated[
        float | None, typer.Option(help="Available money; shows the epsilons that it suffices for.")
    ] = None,
    json: Json = False,
) -> None:
    """Compute the cost of a loss, plainly and at the best epsilon of each calculus.

    [dim]tacita risk price --compensation 5500 --people 100 --error 2[/]
    """
    if (noise is None) == (error is None):
        raise InvalidInput("give the noise level or the error, one of them", field="noise")
    if error is not None and error <= 0:
        raise InvalidInput("must be positive", field="error", value=error)
    level = noise if noise is not None else sensitivity / (error or 1.0)
    model = CostModel(compensation=compensation, people=people, steepness=steepness, least=least)
    found = model.price(level, releases=releases)
    within = None
    if money is not None:
        accepted = error if error is not None else sensitivity / level
        within = model.feasible(level, money=money, error=accepted, sensitivity=sensitivity, releases=releases)
    hangs_on = model.sensitivity_to_inputs(level)
    if json:
        limits = None if within is None else {"low": within.epsilon_low, "high": within.epsilon_high}
        show.print_json(found.as_dict() | {"within_money": limits, "ten_percent": hangs_on})
        return
    facts = [("noise level", f"{level:.6g}", ""), (f"{releases} release(s), plainly", number(found.plain), "")]
    for best in found.optima:
        text = f"epsilon {best.epsilon:.4g} at confidence {best.confidence:.4g}, saves {number(best.saving)}"
        facts.append((f"best by {best.calculus}", number(best.budget), f"{text}. {best.note}"))
    if within is not None:
        span = f"{within.epsilon_low:.4g} to {within.epsilon_high:.4g}" if within.feasible else "none"
        facts.append(("epsilons within the money", span, ""))
    show.grid("Price", ("", ">", ""), facts)
    rows = [(name, number(low), number(high)) for name, (low, high) in hangs_on.items()]
    show.grid("If an input is 10 % lower or higher (exact, one release)", ("", ">lower", ">higher"), rows)

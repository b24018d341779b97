"""How likely noise is to turn a decision on a table: people, epsilon or statistic that it takes."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np
from pydantic import Field

from tacita.assess.decisions.flip import Flip, design_flip
from tacita.assess.decisions.mechanisms import AdditiveMechanism, ChannelMechanism, Mechanism, plain_domain
from tacita.assess.decisions.posterior import ReportsPosterior, draw_true_counts
from tacita.assess.decisions.rule import Rule
from tacita.assess.decisions.sizing import Needed, effect_table, epsilon_needed, people_needed, statistic_needed
from tacita.calculators.kind import Calculator, Grid, Result
from tacita.collect.channels.protocol import EnumerableChannel, traits_of
from tacita.privacy.budget import Budget
from tacita.tables.uncertainty import AdditiveNoise
from tacita.wire.base import RequestModel

__all__ = ["FLIP", "FlipRequest"]

_MOST_REPORTS = 200_000
_STABILITIES = (0.8, 0.95, 0.99)


class FlipRequest(RequestModel):
    """A table of two attributes whose dependence is to be decided on, and how it would be released."""

    mechanism: Literal["laplace", "gaussian", "rr", "unary", "hash", "hadamard", "subset"] = Field(
        default="laplace",
        description="Noise of a curator (laplace, gaussian), or the channel that respondents answer through.",
    )
    epsilon: float = Field(gt=0, le=10, description="Epsilon of the table, or of each answer.")
    delta: float = Field(default=1e-6, gt=0, lt=1, description="Delta, for Gaussian noise.")
    people: int = Field(ge=10, le=100_000_000, description="Number of people in the table.")
    effect: float = Field(default=0.1, ge=0, le=5, description="Dependence that matters (Cohen's w): .1 is small.")
    rows: int = Field(default=2, ge=2, le=20, description="Levels of the first attribute.")
    columns: int = Field(default=2, ge=2, le=20, description="Levels of the second attribute.")
    strata: int = Field(default=1, ge=1, le=20, description="Combinations of attributes that are given.")
    alpha: float = Field(default=0.05, gt=0, lt=1, description="Level of the decision.")
    target: float = Field(default=0.05, gt=0, lt=1, description="Largest flip probability wanted.")
    draws: int = Field(default=2000, ge=100, le=20_000, description="Simulated releases for each figure.")
    seed: int = Field(default=0, ge=0, description="Seed of the simulation.")


def _mechanism(request: FlipRequest, shape: tuple[int, ...], epsilon: float) -> Mechanism:
    if request.mechanism == "laplace":
        return AdditiveMechanism.for_budget(shape, Budget.pure(epsilon), family="laplace")
    if request.mechanism == "gaussian":
        return AdditiveMechanism.for_budget(shape, Budget.approx(epsilon, request.delta), family="gaussian")
    return ChannelMechanism.for_epsilon(shape, request.mechanism, epsilon, most_reports=_MOST_REPORTS)


def _compute(request: FlipRequest) -> Result:
    shares, shape = effect_table(request.rows, request.columns, request.effect, strata=request.strata)
    rule, rng = Rule(alpha=request.alpha), np.random.default_rng(request.seed)
    make = partial(_mechanism, request, shape)
    mechanism = make(request.epsilon)
    simulate = partial(design_flip, shares, shape, mechanism, people=request.people, rule=rule, draws=request.draws)
    naive, tested = simulate(rng=rng), simulate(rng=rng, decide="private")
    people = people_needed(shares, shape, mechanism, target=request.target, rule=rule, draws=request.draws, rng=rng)
    epsilon = epsilon_needed(
        shares,
        shape,
        make,
        people=request.people,
        target=request.target,
        least=0.01,
        rule=rule,
        draws=request.draws,
        rng=rng,
    )
    needed = _statistics(request, shape, mechanism, rule, rng)
    values: dict[str, Any] = {
        "flip": tested.as_dict(),
        "flip_if_taken_for_exact": naive.as_dict(),
        "people_needed": None if people.value is None else round(people.value),
        "epsilon_needed": epsilon.value,
        "critical": rule.critical(shape),
        "df": rule.freedom(shape),
        "statistic_needed": {f"{target:g}": value for target, value in needed.items()},
        "mechanism": mechanism.words,
    }
    tables = [_curve("Flip probability by number of people", "people", people)]
    tables.append(_curve("Flip probability by epsilon", "epsilon", epsilon))
    if needed:
        tables.append(
            Grid(
                f"G2 of a released table of {request.people:,} people from which on dependence is stable",
                {
                    "stability": [f"{target:.0%}" for target in needed],
                    "G2 needed": ["not reached" if value is None else value for value in needed.values()],
                },
            )
        )
    return Result(
        values=values,
        facts=[
            ("mechanism", mechanism.words),
            ("flip probability with a test that knows the noise", _chance(tested)),
            ("flip probability if the release is taken for exact", _chance(naive)),
            (f"people needed for at most {request.target:.0%}", _needed(people, "{:,.0f}")),
            (f"epsilon needed for at most {request.target:.0%}", _needed(epsilon, "{:.3g}")),
        ],
        tables=tables,
        notes=[
            "The decision on the exact table is the textbook test; a flip is any difference, in either direction.",
            "A release that is taken for exact looks dependent under much noise: a rare flip is then no good sign.",
            *([tested.approximation[:1].upper() + tested.approximation[1:] + "."] if tested.approximation else []),
        ],
    )


def _chance(found: Flip) -> str:
    return f"{found.probability:.1%} ({found.low:.1%} to {found.high:.1%})"


def _needed(found: Needed, form: str) -> str:
    return "more than the range that was searched" if found.value is None else form.format(found.value)


def _curve(title: str, name: str, found: Needed) -> Grid:
    values, chances, lows, highs = zip(*found.curve, strict=True)
    columns = {name: values, "flip probability": chances, "low": lows, "high": highs}
    return Grid(title, {key: list(column) for key, column in columns.items()}, curve=True)


def _statistics(
    request: FlipRequest, shape: tuple[int, ...], mechanism: Mechanism, rule: Rule, rng: np.random.Generator
) -> dict[float, float | None]:
    """Statistic of a released table that is stable, where the posterior of the true one is exact; without strata."""

    def called(true: Any) -> float:
        return float(rule.dependent(true, shape).mean())

    def additive(table: Any) -> float:
        assert isinstance(mechanism, AdditiveMechanism)
        return called(draw_true_counts(np.round(table), AdditiveNoise(law=mechanism.law), request.draws, rng))

    def reported(table: Any) -> float:
        assert isinstance(mechanism, ChannelMechanism)
        assert isinstance(mechanism.channel, EnumerableChannel)
        seen = np.round(table @ mechanism.channel.matrix()).astype(np.int64)
        posterior = ReportsPosterior(domain=plain_domain(shape), channels=[mechanism.channel], counts=[seen])
        return called(posterior.draw(request.draws, rng))

    if request.strata > 1:
        return {}
    if isinstance(mechanism, AdditiveMechanism):
        stable = additive
    elif isinstance(mechanism, ChannelMechanism) and traits_of(mechanism.channel).counts_reports:
        stable = reported
    else:
        return {}
    return {
        target: statistic_needed(stable, request.rows, request.columns, people=request.people, target=target, rule=rule)
        for target in _STABILITIES
    }


def _seconds(request: FlipRequest) -> float:
    cells = request.rows * request.columns * request.strata
    slow = {"laplace": 0.5, "gaussian": 12.0, "rr": 1.0}  # calibrating Gaussian noise for a delta takes half a second
    return slow.get(request.mechanism, 5.0) + 8e-5 * request.draws * cells


FLIP = Calculator(
    name="flip",
    title="Decisions under noise",
    summary="Compute how likely noise is to turn a decision about dependence, and the people or epsilon that it takes",
    example="--people 5000 --epsilon 0.1 --effect 0.1",
    request=FlipRequest,
    compute=_compute,
    seconds=_seconds,
)

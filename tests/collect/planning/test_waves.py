"""Plans of a series: one wave's share of the panel and of epsilon, and numbers that make no series."""

import math

import pytest

from tacita.collect.planning.plan import plan_collection
from tacita.collect.planning.waves import check_waves, in_one_wave
from tacita.domain import Boolean, Domain, Numeric
from tacita.errors import InvalidInput
from tacita.tables.workload import Workload

DOMAIN = Domain(attributes=[Boolean(name=f"x{i}") for i in range(3)])
PAIRS = Workload.all(DOMAIN, 2)


def plan(**options):
    return plan_collection(DOMAIN, PAIRS, respondents=12_000, **({"epsilon": 2.0, "mode": "tables"} | options))


@pytest.mark.parametrize(("waves", "turns"), [(12, 1), (4, 2), (3, 3)])
def test_a_series_is_planned_as_one_of_its_waves(waves, turns):
    series = plan(waves=waves, turns=turns)
    alone = plan_collection(DOMAIN, PAIRS, respondents=12_000 * turns // waves, epsilon=2.0 / turns, mode="tables")
    assert series.questions == alone.questions
    assert (series.waves, series.turns, series.respondents) == (waves, turns, alone.respondents)
    assert series.epsilon_upper <= 2.0 / turns
    assert turns * series.epsilon_upper <= series.epsilon_series <= 2.0 * (1 + 1e-9)
    assert series.as_dict()["epsilon_series"] == series.epsilon_series


def test_views_of_several_questions_keep_the_promise():
    series = plan(waves=3, turns=2, answers="view")
    assert 2 * max(series.loss(view) for view in series.views) <= series.epsilon_series * (1 + 1e-12)
    assert math.isclose(series.epsilon_series, 2.0)


@pytest.mark.parametrize("channel", ["fourier", "mixed", "rr"])
def test_every_way_of_planning_knows_the_waves(channel):
    found = plan(waves=4, turns=2, channel=channel)
    assert (found.waves, found.turns, found.respondents) == (4, 2, 6000)


def test_means_are_asked_in_waves_too():
    domain = Domain(attributes=[Numeric(name="age", bounds=(0, 100), bins=10)])
    found = plan_collection(domain, Workload.of(("age",)), respondents=900, epsilon=1.0, channel="mixed", waves=3)
    assert (found.waves, found.respondents) == (3, 300)


@pytest.mark.parametrize(
    ("waves", "turns", "field"),
    [(0, 1, "waves"), (1001, 1, "waves"), (3, 0, "turns"), (3, 4, "turns"), (2.0, 1, "waves")],
)
def test_numbers_that_make_no_series(waves, turns, field):
    with pytest.raises(InvalidInput) as caught:
        plan(waves=waves, turns=turns)
    assert caught.value.field == field


def test_two_phases_are_no_wave():
    for phases in ("two", "auto"):
        with pytest.raises(InvalidInput, match="phases"):
            plan(waves=2, phases=phases)
    check_waves(1, 1, "two")


def test_a_small_panel_has_someone_in_each_wave():
    assert in_one_wave(3, 1.0, waves=12, turns=1) == (1, 1.0)

import datetime as dt

import pytest

from tacita.console.parts.spending import chart_of, cost_of, forecast, forecast_words, spent_over_time
from tacita.privacy.budget import Budget
from tacita.privacy.event import DiscreteGaussianNoise, DiscreteLaplaceNoise, NonPrivate
from tacita.privacy.unit import Neighbours

START = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)


def charges(event, count):
    return [
        {"event": event.as_dict(), "created": (START + dt.timedelta(hours=place)).isoformat()} for place in range(count)
    ]


def test_pure_spending_adds_up():
    found = spent_over_time(
        charges(DiscreteLaplaceNoise(scale="2", sensitivity=1), 4), Budget.pure(3.0), Neighbours.ADD_REMOVE
    )
    assert [spent for _, spent in found] == pytest.approx([0.5, 1.0, 1.5, 2.0])
    assert found[0][0] == START


def test_of_many_charges_some_are_shown_and_always_the_last():
    found = spent_over_time(
        charges(DiscreteLaplaceNoise(scale="100", sensitivity=1), 101), Budget.pure(3.0), Neighbours.ADD_REMOVE
    )
    assert len(found) <= 41
    assert found[-1][1] == pytest.approx(1.01)


def test_composition_at_a_delta_is_less_than_a_sum():
    event = DiscreteGaussianNoise(sigma2="400", sensitivity=1)
    found = spent_over_time(charges(event, 9), Budget.approx(3.0, 1e-6), Neighbours.ADD_REMOVE)
    assert found[-1][1] < 9 * found[0][1] / 2


def test_a_charge_costs_what_it_costs_by_itself():
    [charge] = charges(DiscreteLaplaceNoise(scale="4", sensitivity=1), 1)
    assert cost_of(charge, Budget.pure(3.0), Neighbours.ADD_REMOVE) == pytest.approx(0.25)
    [charge] = charges(NonPrivate(reason="a test"), 1)
    assert cost_of(charge, Budget.pure(3.0), Neighbours.ADD_REMOVE) == float("inf")


def days(*spent):
    return [(START + dt.timedelta(days=place), each) for place, each in enumerate(spent)]


def test_a_forecast_is_what_is_left_over_the_pace_since_the_first_charge():
    found = days(0.5, 1.0, 1.5)  # 0.5 a day after the first
    now = START + dt.timedelta(days=2)
    assert forecast(found, 4.0, now=now) == now + dt.timedelta(days=5)
    later = START + dt.timedelta(days=4)  # nothing more was spent: half the pace
    assert forecast(found, 4.0, now=later) == later + dt.timedelta(days=10)
    assert forecast_words(found, 4.0, now=now) == "At this pace it lasts until 2026-05-08."


@pytest.mark.parametrize(
    ("spent", "after", "words"),
    [
        ([], 3.0, "A forecast needs two charges."),
        ([0.5], 3.0, "A forecast needs two charges."),
        ([0.5, 1.0], 0.5, "A forecast needs a day since the first charge."),
        ([0.5, 0.5], 3.0, "At this pace it lasts for decades."),
        ([0.5, 0.5001], 3.0, "At this pace it lasts for decades."),
        ([0.5, float("inf")], 3.0, "The budget is used up."),
        ([1.0, 4.0], 3.0, "The budget is used up."),
    ],
)
def test_without_a_pace_there_is_no_forecast(spent, after, words):
    found, now = days(*spent), START + dt.timedelta(days=after)
    assert forecast_words(found, 4.0, now=now) == words
    if "used up" not in words:
        assert forecast(found, 4.0, now=now) is None


def test_the_first_charge_of_many_is_kept_for_the_pace():
    found = spent_over_time(
        charges(DiscreteLaplaceNoise(scale="100", sensitivity=1), 200), Budget.pure(3.0), Neighbours.ADD_REMOVE
    )
    assert found[0] == (START, pytest.approx(0.01))


def test_the_chart_has_the_budget_as_a_limit_and_the_forecast_as_a_second_line():
    now = START + dt.timedelta(days=2)
    drawn = chart_of(days(0.5, 1.0, 1.5), Budget.pure(4.0), now=now)
    assert [each["name"] for each in drawn.options["series"]] == ["spent", "at this pace"]
    assert drawn.options["series"][0]["markLine"]["data"] == [{"yAxis": 4.0, "name": "budget"}]
    ahead = [row for row in drawn.rows if row[0] == "at this pace"]
    assert ahead[0][2] == 1.5
    assert ahead[-1][1:] == ("2026-05-08 00:00", 4.0)
    alone = chart_of([], Budget.pure(3.0), now=now)
    assert alone.columns == ("time", "epsilon")
    assert alone.rows[-1] == ("2026-05-03 00:00", 0.0)

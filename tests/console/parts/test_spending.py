import datetime as dt

import pytest

from tacita.console.parts.spending import picture_of, spent_over_time
from tacita.privacy.budget import Budget
from tacita.privacy.event import DiscreteGaussianNoise, DiscreteLaplaceNoise
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


def test_the_picture_has_the_budget_as_a_line():
    until = START + dt.timedelta(days=1)
    assert "budget at 3" in picture_of([(START, 1.0)], Budget.pure(3.0), until=until)
    assert "2026-05-02" in picture_of([], Budget.pure(3.0), until=until)

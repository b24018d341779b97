"""The plain baseline: exact tables, and independent trips that follow them."""

import numpy as np
import pytest

from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.mobility.features import Features
from tacita.synthesize.mobility.od import PlainOd, exact_counts
from tacita.synthesize.mobility.od_model import OdModel
from tacita.synthesize.mobility.reading import bounded_trips

UNIT = Unit.of_person("card", max_rows=20)


@pytest.fixture(scope="module")
def plan(city):
    return PlainOd(places=city.places, cards=1500).calibrate(
        city.schema.domain, Budget.pure(500.0), unit=UNIT, neighbours=Neighbours.ADD_REMOVE
    )


def test_tables_are_counts_of_trips(city, engine, plan):
    trips = bounded_trips(engine, city.schema, UNIT).complete()
    tables = {table.spec.name: table for table in plan.tables}
    found = exact_counts(Features(trips, 20), tables)
    pairs = np.zeros((len(city.places),) * 2, int)
    for origin, destination in zip(trips.origin, trips.destination, strict=True):
        pairs[origin, destination] += 1
    assert np.array_equal(found["pairs"].reshape(pairs.shape), pairs)
    assert found["times"].sum() == found["dates"].sum() == len(trips)
    assert found["activity"].sum() == found["payment"].sum() == trips.cards
    assert found["travel"].sum() == (trips.minutes >= 0).sum()


def test_draws_follow_the_table(city, engine, plan, trips):
    made = plan.run(engine, SeededSource(1))
    assert isinstance(made.model, OdModel)
    drawn = made.model.draw(8000, np.random.default_rng(0))
    real, size = trips.complete(), len(city.places)
    for one, other in (
        (drawn.origin * size + drawn.destination, real.origin * size + real.destination),
        (drawn.entry // 60, real.entry // 60),
        (drawn.day, real.day),
    ):
        most = max(one.max(), other.max()) + 1
        gap = np.bincount(one, minlength=most) / len(one) - np.bincount(other, minlength=most) / len(other)
        assert np.abs(gap).sum() / 2 < 0.12
    again = OdModel.from_dict(city.schema, made.model.as_dict())
    assert np.array_equal(
        again.draw(9, np.random.default_rng(1)).origin, made.model.draw(9, np.random.default_rng(1)).origin
    )
    assert made.people == pytest.approx(real.cards, abs=5)

"""Tours: what the model draws, that it is what was measured, and that it beats the plain table."""

import numpy as np
import pytest

from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.mobility.features import STEPS, Features
from tacita.synthesize.mobility.od import PlainOd
from tacita.synthesize.mobility.places import Places
from tacita.synthesize.mobility.reading import read_trips
from tacita.synthesize.mobility.tours import Tours
from tacita.synthesize.mobility.tours_kernel import LONGEST
from tacita.synthesize.mobility.tours_model import ToursModel

UNIT = Unit.of_person("card", max_rows=20)


def released(recipe, city, engine, epsilon, seed=1):
    plan = recipe.calibrate(city.schema.domain, Budget.pure(epsilon), unit=UNIT, neighbours=Neighbours.ADD_REMOVE)
    return plan.run(engine, SeededSource(seed))


@pytest.fixture(scope="module")
def made(city, engine):
    return released(Tours(places=city.places, cards=1500), city, engine, 200.0)


@pytest.fixture(scope="module")
def drawn(made, city):
    return read_trips(made.sample(6000, np.random.default_rng(2)), city.schema)


@pytest.fixture(scope="module")
def real(trips):
    return trips.complete()


def variation(one, other):
    size = max(one.max(), other.max()) + 1
    shares = [np.bincount(each, minlength=size) / len(each) for each in (one, other)]
    return 0.5 * np.abs(shares[0] - shares[1]).sum()


def test_with_next_to_no_noise_the_trips_are_like_the_real_ones(drawn, real):
    assert variation(np.diff(drawn.starts), np.diff(real.starts)) < 0.15
    assert len(drawn) / drawn.cards == pytest.approx(len(real) / real.cards, rel=0.05)
    for name in ("day", "mode", "category", "payment"):
        assert variation(getattr(drawn, name), getattr(real, name)) < 0.06, name
    hours = [trips.weekend * 24 + trips.entry // 60 for trips in (drawn, real)]
    assert variation(*hours) < 0.08
    assert variation(*(trips.minutes // 10 for trips in (drawn, real))) < 0.12
    zones = real.schema.places.zone_codes
    pairs = [zones[trips.origin] * 100 + zones[trips.destination] for trips in (drawn, real)]
    assert variation(*pairs) < 0.15


def test_days_are_chains(drawn):
    follows = (drawn.card[1:] == drawn.card[:-1]) & (drawn.day[1:] == drawn.day[:-1])
    assert (drawn.origin[1:] == drawn.destination[:-1])[follows].mean() > 0.97
    ended = drawn.entry + drawn.minutes
    assert (drawn.entry[1:] >= ended[:-1])[follows].all(), "no trip begins before the last one has ended"
    assert (drawn.origin != drawn.destination).all()
    assert np.diff(np.flatnonzero(np.r_[True, ~follows, True])).max() <= LONGEST


def test_homes_and_main_places_come_back(drawn, real):
    """The anchors of drawn cards have the distribution of those of real cards, by zone."""
    zones = real.schema.places.zone_codes
    pairs = [zones[home] * 100 + zones[main] for home, main in (Features(t, 20).anchors for t in (drawn, real))]
    assert variation(*pairs) < 0.2


def test_it_beats_the_plain_table(city, engine, real):
    """At a person-level epsilon of 1, on everything that needs pairs of places."""
    found = {}
    for name, recipe in (("tours", Tours), ("od", PlainOd)):
        result = released(recipe(places=city.places, cards=1500), city, engine, 1.0)
        trips = read_trips(result.sample(3000, np.random.default_rng(2)), city.schema)
        size, points = len(city.places), city.places
        found[name] = [
            variation(trips.origin * size + trips.destination, real.origin * size + real.destination),
            variation(
                points.distances(trips.origin, trips.destination).astype(int),
                points.distances(real.origin, real.destination).astype(int),
            ),
        ]
    assert found["tours"][0] < found["od"][0] - 0.1
    assert found["tours"][1] < found["od"][1]


def test_the_model_is_plain_data_and_reads_itself(made, city):
    assert isinstance(made.model, ToursModel)
    again = ToursModel.from_dict(city.schema, made.model.as_dict())
    one, other = (model.draw(50, np.random.default_rng(3)) for model in (made.model, again))
    assert np.array_equal(one.origin, other.origin)
    assert np.array_equal(one.entry, other.entry)


def test_all_tables_are_possible_at_any_noise(city, engine):
    for epsilon in (0.01, 0.5):
        model = released(Tours(places=city.places, cards=1500), city, engine, epsilon).model
        for name in ("activity", "payment", "popularity", "chain", "times", "dates", "others", "travel"):
            table = getattr(model, name)
            assert np.isfinite(table).all(), name
            assert (table >= 0).all(), name
        assert (model.chain[:, :, 0, STEPS - 1] == 0).all(), "no day begins with its end"
        trips = model.draw(300, np.random.default_rng(0))
        assert trips.card.max() < 300
        assert trips.entry.max() < 1440


def test_places_without_zones_are_grouped_by_noisy_popularity(city, engine, real):
    places = Places(ids=city.places.ids)
    result = released(Tours(places=places, cards=1500), city, engine, 4.0)
    assert "noisy popularity" in result.notes[0]
    trips = read_trips(result.sample(2000, np.random.default_rng(2)), city.schema)
    assert variation(trips.origin, real.origin) < 0.35


def test_depth_follows_the_cards_and_the_budget(city):
    def depth(cards, epsilon):
        plan = Tours(places=city.places, cards=cards).calibrate(
            city.schema.domain, Budget.pure(epsilon), unit=UNIT, neighbours=Neighbours.ADD_REMOVE
        )
        return plan.recipe.depth

    assert depth(500, 0.1) == 1
    assert depth(10**7, 4.0) == len(city.places.hierarchy().levels)


def test_draws_are_fixed_by_their_generator(made):
    one, two, other = (made.sample(40, np.random.default_rng(seed)) for seed in (5, 5, 6))
    assert one.equals(two)
    assert not one.equals(other)
    assert made.sample(0, np.random.default_rng(0)).num_rows == 0

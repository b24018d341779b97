"""A small city with its tap records, and a tiny network for brute force."""

import datetime as dt

import pyarrow as pa
import pytest

from tacita.demo.city import build_city, simulate_taps
from tacita.engines.local import LocalEngine
from tacita.synthesize.mobility.places import Places
from tacita.synthesize.mobility.reading import read_trips
from tacita.synthesize.mobility.schema import TapSchema, tap_domain

FIRST = dt.date(2024, 3, 8)  # a Friday
TINY_PLACES = Places(ids=("a", "b", "c", "d"), zones=("one", "one", "two", "two"), x=(0, 1, 5, 6), y=(0, 0, 0, 0))


@pytest.fixture(scope="session")
def city():
    return build_city(lines=4, stations=6, stops=1)


@pytest.fixture(scope="session")
def taps(city):
    return simulate_taps(city, 1500, 1)


@pytest.fixture(scope="session")
def trips(city, taps):
    return read_trips(taps, city.schema)


@pytest.fixture(scope="session")
def engine(city, taps):
    return LocalEngine(city.schema.domain, taps)


@pytest.fixture(scope="session")
def tiny():
    domain = tap_domain(
        TINY_PLACES.ids,
        first=FIRST,
        last=FIRST + dt.timedelta(days=1),
        modes=("rail", "bus"),
        categories=("adult", "child"),
        payments=("cash", "pass"),
        step=30,
    )
    return TapSchema.of(domain, places=TINY_PLACES)


@pytest.fixture(scope="session")
def tiny_taps():
    """Tap records of cards, each a list of (day, minute, origin, destination or None, minutes or None, mode)."""

    def table(cards):
        rows = [(card, *trip) for card, found in cards.items() for trip in found]
        columns = list(zip(*rows, strict=True)) if rows else [[]] * 7
        card, day, entry, origin, destination, minutes, mode = (list(column) for column in columns)
        ended = [None if m is None else e + m for e, m in zip(entry, minutes, strict=True)]
        dates = [FIRST + dt.timedelta(days=d) for d in day]
        out = [None if e is None else f + dt.timedelta(days=e // 1440) for f, e in zip(dates, ended, strict=True)]
        return pa.table(
            {
                "card": pa.array(card, pa.string()),
                "entry_date": pa.array(dates, pa.date32()),
                "entry_time": pa.array(entry, pa.int64()),
                "exit_date": pa.array(out, pa.date32()),
                "exit_time": pa.array([None if e is None else e % 1440 for e in ended], pa.int64()),
                "origin": pa.array([TINY_PLACES.ids[o] for o in origin], pa.string()),
                "destination": pa.array([None if d is None else TINY_PLACES.ids[d] for d in destination], pa.string()),
                "mode": pa.array([("rail", "bus")[m] for m in mode], pa.string()),
                "payment": pa.array(["cash"] * len(card), pa.string()),
                "category": pa.array(["adult"] * len(card), pa.string()),
            }
        )

    return table


@pytest.fixture(scope="session")
def random_trips():
    """Draw the trips of one tiny card."""

    def draw(rng, number):
        found = []
        for _ in range(number):
            origin, destination = rng.choice(4, 2, replace=False).tolist()
            gone = rng.random() < 0.1
            found.append(
                (
                    int(rng.integers(2)),
                    int(rng.integers(1440)),
                    origin,
                    None if gone else destination,
                    None if gone else int(rng.integers(1, 200)),
                    int(rng.integers(2)),
                )
            )
        return found

    return draw

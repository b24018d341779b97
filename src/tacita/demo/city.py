"""A simulated city with public transport, and the tap records of its commuters: no row is about a real person.

    places    stations on lines from the centre outwards, and bus stops near them; zones by line and ring
    people    adults who commute by a gravity law, more often along their own line, students near their home, seniors by
              day, visitors; one day in four begins at another stop near the home
    times     weekdays with peaks at 9 and 18 hours, flat weekends
    records   the full schema; 1 in 100 trips lacks the tap at its end

The numbers are not fitted to any data.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita import check
from tacita.synthesize.mobility.places import Places
from tacita.synthesize.mobility.schema import DAY, TapSchema, tap_domain

__all__ = ["City", "build_city", "simulate_taps"]

CATEGORIES = ("adult", "student", "senior", "visitor")
PAYMENTS = ("stored value", "monthly pass", "single ticket")
MODES = ("rail", "bus")
FIRST = dt.date(2024, 3, 4)  # a Monday
_SHARES = (0.62, 0.16, 0.15, 0.07)
_NO_EXIT = 0.01
Codes = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class City:
    """A network and what draws people to its places."""

    schema: TapSchema
    homes: NDArray[np.float64] = field(repr=False)
    jobs: NDArray[np.float64] = field(repr=False)
    leisure: NDArray[np.float64] = field(repr=False)
    station: NDArray[np.bool_] = field(repr=False)
    line: Codes = field(repr=False)

    @property
    def places(self) -> Places:
        """The places."""
        return self.schema.places


def build_city(*, lines: int = 6, stations: int = 12, stops: int = 2, days: int = 7, seed: int = 0) -> City:
    """Lay out a city.

    Args:
        lines: Lines from the centre outwards.
        stations: Stations of each line.
        stops: Bus stops near each station.
        days: Days of the records, from a Monday on.
        seed: The same city for the same seed.
    """
    for name, given in (("lines", lines), ("stations", stations), ("days", days)):
        check.whole(given, name, least=2)
    check.whole(stops, "stops", least=0)
    rng = np.random.default_rng(seed)
    ids, names, zones, points, station, ring = ["S00"], ["Centre"], ["centre"], [(0.0, 0.0)], [True], [0.0]
    of_line = [-1]
    for line in range(lines):
        angle = 2 * np.pi * line / lines
        for stop in range(1, stations + 1):
            angle += rng.normal(0, 0.06)
            middle = (1.3 * stop * np.cos(angle), 1.3 * stop * np.sin(angle))
            zone = (
                "centre" if stop <= max(1, stations // 6) else f"{_LETTERS[line % 26]}{1 + 3 * (stop - 1) // stations}"
            )
            for place in range(stops + 1):
                shift = (0.0, 0.0) if place == 0 else tuple(rng.normal(0, 0.45, 2).tolist())
                ids.append(f"{'S' if place == 0 else 'B'}{line}{stop:02d}{'' if place == 0 else '-' + str(place)}")
                names.append(f"Line {_LETTERS[line % 26]} {stop}" + ("" if place == 0 else f" stop {place}"))
                zones.append(zone)
                points.append((round(middle[0] + shift[0], 3), round(middle[1] + shift[1], 3)))
                station.append(place == 0)
                ring.append(stop / stations)
                of_line.append(line)
    out, rail = np.array(ring), np.array(station)
    homes = np.where(rail, 1.0, 0.7) * (0.2 + out) * rng.gamma(2.0, 0.5, len(ids))
    hubs = np.isin(np.arange(len(ids)), rng.choice(np.flatnonzero(rail), max(2, lines // 2), replace=False))
    jobs = np.where(rail, 1.0, 0.4) * (np.exp(-4 * out) * 6 + 2.5 * hubs + 0.15) * rng.gamma(2.0, 0.5, len(ids))
    malls = np.isin(np.arange(len(ids)), rng.choice(np.flatnonzero(rail), max(4, lines), replace=False))
    leisure = 0.05 + 3.0 * malls + 1.0 * (out == 0)
    xs, ys = zip(*points, strict=True)
    places = Places(ids=tuple(ids), names=tuple(names), zones=tuple(zones), x=xs, y=ys)
    domain = tap_domain(
        ids,
        first=FIRST,
        last=FIRST + dt.timedelta(days=days - 1),
        modes=MODES,
        categories=CATEGORIES,
        payments=PAYMENTS,
        title="taps of a simulated city",
    )
    schema = TapSchema.of(domain, places=places)
    lined = np.array(of_line, np.int64)
    return City(schema=schema, homes=homes, jobs=jobs, leisure=leisure, station=rail, line=lined)


_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class _Trips:
    """Trips as they are drawn: card, day, start in minutes, origin, destination."""

    def __init__(self) -> None:
        self.parts: list[NDArray[np.float64]] = []

    def add(self, mask: NDArray[np.bool_], *columns: NDArray[np.generic]) -> None:
        self.parts.append(np.stack([np.broadcast_to(each, mask.shape)[mask] for each in columns]).astype(np.float64))


def simulate_taps(city: City, cards: int, seed: int) -> pa.Table:
    """Draw the tap records of commuters; the same ones for the same seed.

    Args:
        city: The network.
        cards: Number of commuters; the few who never travel in these days have no record.
        seed: Of all draws.
    """
    check.whole(cards, "cards", least=1)
    rng, days, weekday = np.random.default_rng(seed), city.schema.days, city.schema.weekdays < 5
    category = rng.choice(len(CATEGORIES), cards, p=_SHARES)
    home = _drawn(city.homes, cards, rng)
    work = _near(city, home, city.jobs, np.where(category == 1, 3.0, 9.0), rng)
    shop = _near(city, home, city.leisure, np.full(cards, 5.0), rng)
    beside = _near(city, home, city.homes, np.full(cards, 0.5), rng)
    card, day = np.meshgrid(np.arange(cards), np.arange(days), indexing="ij")
    kind, workday = category[card], weekday[day]
    shape = card.shape
    at = np.where(rng.random(shape) < 0.25, beside[card], home[card])  # where the day begins and ends
    trips = _Trips()

    def minute(mean: float, spread: float) -> NDArray[np.float64]:
        return rng.normal(60 * mean, 60 * spread, shape)

    # to work or school and back, some by way of a place of leisure
    busy = workday & np.isin(kind, (0, 1)) & (rng.random(shape) < 0.86)
    out = minute(8.4, 0.7)
    back = np.where(kind == 1, minute(15.2, 1.0), minute(18.1, 0.9))
    after = busy & (rng.random(shape) < 0.17)
    place = np.where(rng.random(shape) < 0.5, shop[card], _drawn(city.leisure, shape, rng))
    late = back + np.abs(minute(2.2, 0.8))
    trips.add(busy, card, day, out, at, work[card])
    trips.add(busy & ~after, card, day, back, work[card], at)
    trips.add(after, card, day, back, work[card], place)
    trips.add(after, card, day, late, place, at)
    # leisure: on weekends, for seniors by day, for visitors all day
    free = ~busy & (rng.random(shape) < np.select([kind == 3, kind == 2, ~workday], [0.75, 0.5, 0.45], 0.06))
    where = np.where(rng.random(shape) < 0.4, shop[card], _drawn(city.leisure, shape, rng))
    begin = np.select([kind == 2, kind == 3], [minute(10.6, 1.3), minute(10.9, 1.6)], minute(13.0, 2.4))
    end = begin + 40 + np.abs(minute(2.2, 1.1))
    more = free & (kind == 3) & (rng.random(shape) < 0.7)
    second = _drawn(city.leisure, shape, rng)
    trips.add(free, card, day, begin, at, where)
    trips.add(more, card, day, end, where, second)
    trips.add(free & ~more, card, day, end, where, at)
    trips.add(more, card, day, end + 60 + np.abs(minute(1.5, 0.8)), second, at)
    return _records(city, np.concatenate(trips.parts, axis=1), category, rng)


def _drawn(weights: NDArray[np.float64], size: int | tuple[int, ...], rng: np.random.Generator) -> Codes:
    return rng.choice(len(weights), size, p=weights / weights.sum())


def _near(
    city: City, home: Codes, weights: NDArray[np.float64], reach: NDArray[np.float64], rng: np.random.Generator
) -> Codes:
    """A place by the gravity law: weight x exp(-distance / reach), four times that on the own line; never the home."""
    points = city.places.points
    assert points is not None
    away = np.hypot(*(points[:, None] - points[None, :]).transpose(2, 0, 1))
    found = np.empty(len(home), np.int64)
    for km in np.unique(reach):
        law = weights * np.exp(-away / km) * np.where(city.line[:, None] == city.line[None, :], 4.0, 1.0)
        np.fill_diagonal(law, 0.0)
        reached = np.cumsum(law / law.sum(axis=1, keepdims=True), axis=1)
        mine = np.flatnonzero(reach == km)
        found[mine] = (reached[home[mine]] < rng.random(len(mine))[:, None]).sum(axis=1)
    return np.minimum(found, len(weights) - 1)


def _records(city: City, trips: NDArray[np.float64], category: Codes, rng: np.random.Generator) -> pa.Table:
    card, day, entry, origin, destination = (column.astype(np.int64) for column in trips)
    entry = np.clip(entry, 300, DAY - 20)
    kept = origin != destination
    card, day, entry, origin, destination = (column[kept] for column in (card, day, entry, origin, destination))
    order = np.lexsort((entry, day, card))
    card, day, entry, origin, destination = (column[order] for column in (card, day, entry, origin, destination))
    rail = city.station[origin] & city.station[destination]
    away = city.places.distances(origin, destination)
    took = np.rint(4 + away * np.where(rail, 1.9, 3.4) + rng.gamma(2.0, 1.8, len(card))).astype(np.int64)
    ended, lost = entry + took, rng.random(len(card)) < _NO_EXIT
    first = np.datetime64(FIRST)
    payment = np.where(category == 3, 2, (np.arange(len(category)) % 3 == 0).astype(np.int64))
    ids = pa.array(city.places.ids)
    return pa.table(
        {
            "card": pa.array(np.char.add("c", card.astype(str))),
            "entry_date": pa.array(first + day),
            "entry_time": pa.array(entry),
            "exit_date": pa.array(first + day + ended // DAY, mask=lost),
            "exit_time": pa.array(ended % DAY, mask=lost),
            "origin": ids.take(pa.array(origin)),
            "destination": ids.take(pa.array(destination, mask=lost)),
            "mode": pa.array(MODES).take(pa.array(np.where(rail, 0, 1))),
            "payment": pa.array(PAYMENTS).take(pa.array(payment[card])),
            "category": pa.array(CATEGORIES).take(pa.array(category[card])),
        }
    )

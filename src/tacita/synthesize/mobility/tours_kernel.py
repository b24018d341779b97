"""Trips of synthetic cards, compiled: see `tours_model` for the law.

Cost: about a microsecond for each trip. The generator is that of `topic_models.gibbs`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacita.common.compiled import compiled
from tacita.synthesize.mobility.features import ENDED, NOON_EVENING
from tacita.synthesize.mobility.topic_models.gibbs import uniform

__all__ = ["LONGEST", "walk_days"]

NOON, EVENING = NOON_EVENING
LONGEST = 16
"""Most trips of a day."""
_TRIES = 20
_DAYS = 6  # draws of a day that fits
_PAUSE = 5  # minutes between an exit and the next entry


@compiled
def _pick(reached: Any, low: float, high: float, state: Any) -> Any:
    """Draw an index whose part of the running sum lies between two values."""
    drawn = low + uniform(state) * (high - low)
    index = np.searchsorted(reached, drawn, side="right")
    return min(index, reached.size - 1)


@compiled
def _other(home: int, others: Any, coarse: Any, order: Any, starts: Any, reached: Any, state: Any) -> Any:
    """Draw another place by the group of the home."""
    row = others[coarse[home]]
    group = _pick(row, 0.0, row[-1], state)
    at = _pick(reached, reached[starts[group]], reached[starts[group + 1]], state) - 1
    return order[min(max(at, starts[group]), starts[group + 1] - 1)]


@compiled
def _entry(row: Any, after: int, state: Any) -> Any:
    """Draw a minute of entry of at least `after`; -1 if the day has none left."""
    if after >= 1440:
        return -1
    hour = after // 60
    below = row[hour - 1] if hour > 0 else 0.0
    if row[-1] - below <= 1e-12 * row[-1]:
        return -1
    hour = max(_pick(row, below, row[-1], state), hour)
    first = max(60 * hour, after)
    return first + int(uniform(state) * (60 * hour + 60 - first))


@compiled
def _step(row: Any, first: bool, state: Any) -> Any:
    """Draw the next step of a day; no day begins with its end."""
    if first:
        return _pick(row, 0.0, row[ENDED - 1], state) if row[ENDED - 1] > 0 else 1
    return _pick(row, 0.0, row[-1], state)


@compiled
def _goal(start: int, label: int, home: int, main: int, began: int, choice: Any, state: Any) -> Any:
    """Draw the destination of a trip, and its label: where that is the origin itself, another place."""
    others, coarse, order, starts, reached = choice
    goal = start
    for _ in range(_TRIES):
        if label == 0:
            goal = home
        elif label == 1:
            goal = main
        elif label == 3 and began >= 0:
            goal = began
        else:
            goal = _other(home, others, coarse, order, starts, reached, state)
        if goal != start:
            break
        label = 2
    return goal, label


@compiled
def _travel(start: int, goal: int, network: Any, state: Any) -> Any:
    """Draw the mode and the travel time of a trip by its distance."""
    distance, points, zones, edges, travel, bins = network
    band = 0
    if distance == 1:
        band = int(zones[start] != zones[goal])
    elif distance == 2:
        away = np.hypot(points[start, 0] - points[goal, 0], points[start, 1] - points[goal, 1])
        band = np.searchsorted(edges, away, side="right")
    cell = _pick(travel[band], 0.0, travel[band, -1], state)
    low, high = bins[cell % (bins.size - 1)], bins[cell % (bins.size - 1) + 1]
    return cell // (bins.size - 1), max(1, low + int(uniform(state) * (high - low)))


@compiled
def _day(
    card: int,
    day: int,
    home: int,
    main: int,
    chains: Any,
    hours: Any,
    choice: Any,
    network: Any,
    out: Any,
    made: int,
    state: Any,
) -> int:
    """Write the trips of one day behind the first `made`; return how many there are."""
    others, coarse, order, starts, reached = choice
    before, at, after, began, count = 0, home, 0, -1, 0
    while count < LONGEST:
        step = _step(chains[before], before == 0, state)
        if step == ENDED:
            break
        origin = step // 4
        if origin == 0:
            start = home
        elif origin == 1:
            start = main
        elif origin == 2 and before >= 3:
            start = at
        else:
            start = _other(home, others, coarse, order, starts, reached, state)
        goal, label = _goal(start, step % 4, home, main, began, choice, state)
        ended = after - _PAUSE
        period = 0 if before == 0 else 1 + (ended >= NOON) + (ended >= EVENING)
        entry = _entry(hours[min(origin, 2) * 3 + min(label, 2), period], after, state)
        if entry < 0 or goal == start:
            break
        began = start if began < 0 else began
        mode, minutes = _travel(start, goal, network, state)
        row = made + count
        out[0, row], out[1, row], out[2, row], out[3, row] = card, day, entry, minutes
        out[4, row], out[5, row], out[6, row] = start, goal, mode
        count += 1
        at, before, after = goal, label + 1, entry + minutes + _PAUSE
    return count


@compiled
def walk_days(
    number: Any,
    group: Any,
    home: Any,
    main: Any,
    days: Any,
    weekend: Any,
    chain: Any,
    times: Any,
    choice: Any,
    network: Any,
    out: Any,
    state: Any,
) -> int:
    """Write the trips of all cards; return how many there are.

    A day of more trips than the card has left is drawn again a few times, then cut. `choice` draws other places,
    `network` modes and travel times; all tables are running sums.
    """
    made = 0
    for c in range(number.size):
        left = number[c]
        for place in range(days.shape[1]):
            if left == 0:
                break
            day = days[c, place]
            chains, hours = chain[group[c], weekend[day]], times[weekend[day]]
            count = 0
            for _ in range(_DAYS):
                count = _day(c, day, home[c], main[c], chains, hours, choice, network, out, made, state)
                if 0 < count <= left:
                    break
            made += min(count, left)
            left -= min(count, left)
    return made

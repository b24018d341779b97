"""Exact features of each card: its anchors, the kinds of its trips, and bounded contributions to tables.

    home        the place from which the card's first trip of a day begins most often (the earliest if several)
    main place  the other place that its trips begin or end at most often; the home where there is no other
    label       of an end of a trip: home, main, other; at the origin also "same": the other place where the card is;
                at the destination also "back": the other place where the day began
    chain       one day: START -> trip -> ... -> trip -> END; a step depends on the label of the last destination
    class       of a card by its number of trips, with public limits
    period      when the card's last trip of the day ended: none yet, before 12, before 17, later

Contributions: `once` counts a card in one cell. `spread` divides `GRID` steps evenly over the card's events, so that a
card moves the cells of a table by GRID steps in all, however many events it has.

Privacy: none; exact, for mechanisms. Everything about a card depends on the trips of that card alone.
         Claim: docs/claims/mobility.md
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.common.compiled import compiled
from tacita.synthesize.mobility.reading import Trips

__all__ = [
    "ENDED",
    "GRID",
    "KINDS",
    "LABELS",
    "NOON_EVENING",
    "PERIODS",
    "STATES",
    "STEPS",
    "Features",
    "class_limits",
    "once",
    "spread",
]

GRID = 120
"""Steps that one card is worth in a table of events."""
LABELS = ("home", "main", "other")
STATES = 5
"""Start of a day, and the label of the last destination: home, main, other, back."""
KINDS = 9
"""Label of the origin x label of the destination."""
PERIODS = 4
NOON_EVENING = (12 * 60, 17 * 60)
"""Minutes of the day at which the periods change."""
STEPS = 17
"""Origin (home, main, same, other) x destination (home, main, other, back), and the end of the day."""
ENDED = 16

Codes = NDArray[np.int64]


def class_limits(most: int) -> tuple[int, ...]:
    """Return the least number of trips of each class of cards, for at most `most` trips.

    >>> class_limits(20), class_limits(4), class_limits(1)
    ((1, 11), (1, 3), (1,))
    """
    return tuple(dict.fromkeys(limit for limit in (1, most // 2 + 1) if limit <= max(most, 1)))


@dataclass(frozen=True, eq=False)
class Features:
    """Features of cards whose trips are complete."""

    trips: Trips
    most: int = field(default=1)

    @cached_property
    def number(self) -> Codes:
        """Trips of each card, at most `most`."""
        return np.minimum(np.diff(self.trips.starts), self.most)

    @cached_property
    def group(self) -> Codes:
        """Class of each card."""
        return np.searchsorted(class_limits(self.most), self.number, side="right") - 1

    @cached_property
    def anchors(self) -> tuple[Codes, Codes]:
        """Home and main place of each card."""
        trips = self.trips
        home, main = np.zeros(trips.cards, np.int64), np.zeros(trips.cards, np.int64)
        _find_anchors(trips.starts, trips.day, trips.origin, trips.destination, home, main)
        return home, main

    @cached_property
    def labels(self) -> tuple[Codes, Codes, Codes]:
        """Label of each origin (2 other, 3 same), of each destination (3 back), and the state before each trip."""
        trips, (home, main) = self.trips, self.anchors
        size = len(trips)
        found = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
        _label(trips.starts, trips.day, trips.origin, trips.destination, home, main, *found)
        return found

    @cached_property
    def kind(self) -> Codes:
        """Kind of each trip."""
        origin, destination, _ = self.labels
        return np.minimum(origin, 2) * 3 + np.minimum(destination, 2)

    @cached_property
    def period(self) -> Codes:
        """Period before each trip."""
        trips, (_, _, state) = self.trips, self.labels
        ended = np.roll(trips.entry + np.maximum(trips.minutes, 0), 1)
        return np.where(state == 0, 0, 1 + np.searchsorted(NOON_EVENING, ended, side="right"))

    @cached_property
    def chain(self) -> tuple[Codes, Codes]:
        """Card and cell (state x step, by weekend) of each step of each day, the end of the day included."""
        trips, (origin, destination, state) = self.trips, self.labels
        weekend = trips.weekend.astype(np.int64)
        step = np.array([0, 1, 3, 2])[origin] * 4 + destination
        last = np.ones(len(trips), np.bool_)
        last[:-1] = (trips.card[1:] != trips.card[:-1]) | (trips.day[1:] != trips.day[:-1])
        ends = np.flatnonzero(last)
        cells = (weekend * STATES + state) * STEPS + step
        closing = (weekend[ends] * STATES + 1 + destination[ends]) * STEPS + ENDED
        card = np.concatenate([trips.card, trips.card[ends]])
        order = np.argsort(card, kind="stable")
        return card[order], np.concatenate([cells, closing])[order]

    @cached_property
    def active(self) -> tuple[Codes, Codes]:
        """Card and date of each day on which a card travelled."""
        trips = self.trips
        fresh = np.ones(len(trips), np.bool_)
        fresh[1:] = (trips.card[1:] != trips.card[:-1]) | (trips.day[1:] != trips.day[:-1])
        return trips.card[fresh], trips.day[fresh]

    @cached_property
    def others(self) -> tuple[Codes, Codes]:
        """Card and place of each end of a trip that is neither home nor main."""
        trips, (origin, destination, _) = self.trips, self.labels
        place = np.stack([trips.origin, trips.destination], axis=1).ravel()
        other = np.stack([origin >= 2, destination >= 2], axis=1).ravel()
        return np.repeat(trips.card, 2)[other], place[other]


@compiled
def _find_anchors(starts: Any, day: Any, origin: Any, destination: Any, home: Any, main: Any) -> None:
    for c in range(starts.size - 1):
        first, last = starts[c], starts[c + 1]
        best = 0
        for i in range(first, last):
            if i > first and day[i] == day[i - 1]:
                continue
            votes = 0
            for j in range(first, last):
                if (j == first or day[j] != day[j - 1]) and origin[j] == origin[i]:
                    votes += 1
            if votes > best:
                best, home[c] = votes, origin[i]
        main[c], best = home[c], 0
        for i in range(first, last):
            for side in range(2):
                place = origin[i] if side == 0 else destination[i]
                if place == home[c]:
                    continue
                votes = 0
                for j in range(first, last):
                    votes += (origin[j] == place) + (destination[j] == place)
                if votes > best:
                    best, main[c] = votes, place


@compiled
def _label(
    starts: Any,
    day: Any,
    origin: Any,
    destination: Any,
    home: Any,
    main: Any,
    left: Any,
    reached: Any,
    state: Any,
) -> None:
    for c in range(starts.size - 1):
        began = starts[c]
        for i in range(starts[c], starts[c + 1]):
            fresh = i == starts[c] or day[i] != day[i - 1]
            if fresh:
                began = i
            state[i] = 0 if fresh else 1 + reached[i - 1]
            if origin[i] == home[c]:
                left[i] = 0
            elif origin[i] == main[c]:
                left[i] = 1
            elif not fresh and origin[i] == destination[i - 1]:
                left[i] = 3
            else:
                left[i] = 2
            if destination[i] == home[c]:
                reached[i] = 0
            elif destination[i] == main[c]:
                reached[i] = 1
            else:
                reached[i] = 3 if destination[i] == origin[began] else 2


def once(cell: Codes, cells: int) -> Codes:
    """Count each card in one cell: a card moves one cell by 1."""
    return np.bincount(cell, minlength=cells).astype(np.int64)


def spread(card: Codes, cell: Codes, cells: int, grid: int = GRID) -> Codes:
    """Count events of cards, sorted by card, so that those of one card weigh `grid` steps together.

    Event i of n weighs floor((i + 1) grid / n) - floor(i grid / n) steps: non-negative, and `grid` in all.

    >>> spread(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]), 2).tolist()
    [80, 160]
    """
    if not len(card):
        return np.zeros(cells, np.int64)
    starts = np.flatnonzero(np.diff(card, prepend=-1))
    sizes = np.diff(starts, append=len(card))
    number, place = np.repeat(sizes, sizes), np.arange(len(card)) - np.repeat(starts, sizes)
    weight = (place + 1) * grid // number - place * grid // number
    counts = np.zeros(cells, np.int64)
    np.add.at(counts, cell, weight)
    return counts

"""Whether a group may be a class, compiled: people, sensitive values and presence, counted once each."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacita.common.compiled import compiled

__all__ = ["People", "Rules", "Stamps", "fits", "fits_all", "fits_each", "stamps"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class People(NamedTuple):
    """People of each item. Those with several items are stored in lists, so that they are counted once in a group."""

    single: Ints  # people who have this item alone
    start: Ints
    person: Ints  # people of an item who have others too
    value_start: Ints
    value: Ints
    value_count: Ints  # single people of an item with a sensitive value
    pair_start: Ints
    pair: Ints
    pair_value: Ints  # sensitive values of those who have several items, each pair of person and value numbered
    persons: int
    pairs: int
    rows: Ints
    population: Ints  # rows of an item, also those that are not released


class Rules(NamedTuple):
    """Conditions on a class, in few arrays: each of them costs time at every call."""

    k: int
    checked: bool  # whether counting people by item is not enough
    segments: Ints  # where the values of each sensitive attribute begin
    diversity: float
    diversity_kind: int  # 0 distinct, 1 entropy, 2 recursive
    constant: float
    closeness: float
    edge_start: Ints
    edge_first: Ints
    edge_last: Ints
    edge_length: Floats
    shares: Floats  # of each value: its share in the table, the least and the largest that it may have in a class
    missing: Ints  # for each sensitive attribute, how many of its first codes mean missing: 0 or 1
    bounded: bool  # whether shares of single values are bounded
    presence_low: float
    presence_high: float


class Stamps(NamedTuple):
    """Time at which each person was last counted: makes counting once cheap."""

    clock: Ints
    person: Ints
    pair: Ints
    counts: Ints


@compiled
def stamps(people: People, rules: Rules) -> Stamps:
    """Empty stamps: no one was counted yet."""
    return Stamps(
        np.zeros(1, np.int64),
        np.zeros(people.persons + 1, np.int64),
        np.zeros(people.pairs + 1, np.int64),
        np.zeros(rules.shares.shape[1], np.int64),
    )


@compiled
def fits(
    items: Ints, mark: NDArray[np.int8], which: int, first: int, last: int, people: People, rules: Rules, seen: Stamps
) -> bool:
    """Whether the marked items from `first` to `last` may be a class."""
    counts = seen.counts
    seen.clock[0] += 1
    now = seen.clock[0]
    total, rows, population = 0, 0, 0
    counts[:] = 0
    for at in range(first, last):
        if mark[at] != which:
            continue
        item = items[at]
        total += people.single[item]
        rows += people.rows[item]
        population += people.population[item]
        for i in range(people.start[item], people.start[item + 1]):
            if seen.person[people.person[i]] != now:
                seen.person[people.person[i]] = now
                total += 1
        for i in range(people.value_start[item], people.value_start[item + 1]):
            counts[people.value[i]] += people.value_count[i]
        for i in range(people.pair_start[item], people.pair_start[item + 1]):
            if seen.pair[people.pair[i]] != now:
                seen.pair[people.pair[i]] = now
                counts[people.pair_value[i]] += 1
    if total < rules.k:
        return False
    if rules.presence_low > 0.0 or rules.presence_high < 1.0:
        share = rows / population
        if share < rules.presence_low or share > rules.presence_high:
            return False
    for s in range(len(rules.segments) - 1):
        begin, end = rules.segments[s], rules.segments[s + 1]
        if rules.bounded and not _bounded(counts, rules.shares, begin, end):
            return False
        if rules.diversity > 1.0 and not _diverse(counts[begin:end], rules, s):
            return False
        if rules.closeness < 1.0 and not _close(counts[begin:end], rules, s):
            return False
    return True


@compiled
def _bounded(counts: Ints, shares: Floats, begin: int, end: int) -> bool:
    total = counts[begin:end].sum()
    for value in range(begin, end):
        least, most = shares[1, value] * total, shares[2, value] * total
        if counts[value] > most * (1 + 1e-12) or counts[value] < least * (1 - 1e-12):
            return False
    return True


@compiled
def _diverse(every: Ints, rules: Rules, s: int) -> Any:
    # that a value is missing makes no class more diverse, nor does leaving out those whose value is missing
    return _holds_diversity(every, rules) and (
        rules.missing[s] == 0 or _holds_diversity(every[rules.missing[s] :], rules)
    )


@compiled
def _holds_diversity(counts: Ints, rules: Rules) -> Any:
    total = counts.sum()
    if total == 0:
        return False
    if rules.diversity_kind == 0:
        return (counts > 0).sum() >= rules.diversity
    if rules.diversity_kind == 1:
        entropy = 0.0
        for count in counts:
            if count > 0:
                entropy -= count / total * np.log(count / total)
        return entropy >= np.log(rules.diversity) - 1e-12  # l values that are equally frequent hold it
    rising = np.sort(counts)
    tail = rising[: max(len(rising) - np.int64(rules.diversity) + 1, 0)].sum()
    return rising[-1] < rules.constant * tail


@compiled
def _close(counts: Ints, rules: Rules, s: int) -> bool:
    total = counts.sum()
    if total == 0:
        return True
    below = np.zeros(len(counts) + 1)
    at = rules.segments[s]
    for value in range(len(counts)):
        below[value + 1] = below[value] + counts[value] / total - rules.shares[0, at + value]
    distance = 0.0
    for e in range(rules.edge_start[s], rules.edge_start[s + 1]):
        distance += rules.edge_length[e] * abs(below[rules.edge_last[e] + 1] - below[rules.edge_first[e]])
    return distance <= rules.closeness + 1e-12


@compiled
def fits_each(people: People, rules: Rules, wanted: Ints) -> NDArray[np.bool_]:
    """Whether each of some items may be a class by itself."""
    seen = stamps(people, rules)
    mark = np.ones(len(wanted), np.int8)
    found = np.empty(len(wanted), np.bool_)
    for i in range(len(wanted)):
        found[i] = fits(wanted, mark, np.int64(1), i, i + 1, people, rules, seen)
    return found


@compiled
def fits_all(people: People, rules: Rules, items: Ints) -> Any:
    """Whether some items together may be a class."""
    seen = stamps(people, rules)
    return fits(items, np.ones(len(items), np.int8), np.int64(1), np.int64(0), len(items), people, rules, seen)

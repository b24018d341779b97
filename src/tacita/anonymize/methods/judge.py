"""Whether groups of combinations may be classes: every criterion, compiled where it can be.

`Judge` is the only thing that methods ask. Criteria that compiled code knows (`kernels.holds`) are tested there, the
others by their own `measure`, on counts of all groups at once. A person with several combinations counts once in a
group, and once for each sensitive value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.anonymize.criteria.conditions import Conditions
from tacita.anonymize.criteria.criterion import Classes, Criterion, Sensitive
from tacita.anonymize.kernels.groups import judge
from tacita.anonymize.kernels.holds import People, Rules, fits_all, fits_each
from tacita.anonymize.quasi import DistinctRows, distinct_pairs, sorted_distinct

__all__ = ["Judge", "people_of", "rules_of", "some_people", "tally"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
_CELLS = 1 << 23  # counts that are held at once


@dataclass(frozen=True, kw_only=True, eq=False)
class Judge:
    """People by combination, and the criteria on every class.

    Attributes:
        people: People of each combination.
        rules: Criteria that are compiled.
        slow: The others.
        attributes: The sensitive attributes.
    """

    people: People
    rules: Rules
    slow: tuple[Criterion, ...]
    attributes: tuple[Sensitive, ...]

    @classmethod
    def of(cls, distinct: DistinctRows, conditions: Conditions) -> Judge:
        """Return the judge of some rows."""
        about = conditions.about_values
        return cls(
            people=people_of(distinct, values=about),
            rules=rules_of(distinct, conditions),
            slow=tuple(criterion for criterion in conditions.asked if not criterion.compiled),
            attributes=distinct.attributes if about else (),
        )

    def only(self, items: Ints) -> Judge:
        """The judge of some combinations, which get new numbers."""
        return replace(self, people=some_people(self.people, items))

    def together(self, items: Ints) -> bool:
        """Whether some combinations together may be a class."""
        return bool(fits_all(self.people, self.rules, items)) and bool(
            self._slow(items, np.zeros(len(items), np.int64), 1).all()
        )

    def each(self, items: Ints) -> Bools:
        """Whether each of some combinations may be a class by itself."""
        found: Bools = fits_each(self.people, self.rules, items)
        return self._narrow(found, items, np.arange(len(items)))

    def groups(self, of: Ints, count: int) -> Bools:
        """Whether each group may be a class, for the group of every combination; groups are numbered from 0 on."""
        order = np.argsort(of, kind="stable")
        found: Bools = judge(order, np.searchsorted(of[order], np.arange(count + 1)), self.people, self.rules)
        return self._narrow(found, np.arange(len(of)), of)

    def _narrow(self, found: Bools, items: Ints, of: Ints) -> Bools:
        """Of the groups that passed, those that pass the slow criteria too."""
        good = np.flatnonzero(found)
        if not self.slow or not len(good):
            return found
        new = np.cumsum(found) - 1
        passed = found.copy()
        passed[good] = self._slow(items[found[of]], new[of[found[of]]], len(good))
        return passed

    def _slow(self, items: Ints, of: Ints, count: int) -> Bools:
        found = np.ones(count, np.bool_)
        if not self.slow:
            return found
        for first, classes in tally(some_people(self.people, items), of, count, self.attributes):
            part = found[first : first + len(classes.people)]
            for criterion in self.slow:
                if (criterion.about == "values") == (classes.attribute is not None):
                    part &= criterion.holds(classes)
        return found


def tally(people: People, of: Ints, count: int, attributes: tuple[Sensitive, ...]) -> Iterator[tuple[int, Classes]]:
    """Yield the counts of groups of items, with the first group that they are about: without values, then by attribute.

    Args:
        people: People of each item.
        of: Group of each item.
        count: Number of groups.
        attributes: The sensitive attributes whose values `people` has; many groups come in several parts.
    """
    who = distinct_pairs(of[_owners(people.start)], people.person)[0]
    classes = Classes(
        people=_sums(of, people.single, count) + np.bincount(who, minlength=count),
        rows=_sums(of, people.rows, count),
        population=_sums(of, people.population, count),
    )
    yield 0, classes
    offsets = np.cumsum([0, *(len(attribute.whole) for attribute in attributes)])
    span = max(int(offsets[-1]), 1)
    pairs = max(people.pairs, 1)
    value_of = np.zeros(pairs, np.int64)
    value_of[people.pair] = people.pair_value
    shared = sorted_distinct(of[_owners(people.pair_start)] * pairs + people.pair)
    cells, which = np.unique(
        np.concatenate([of[_owners(people.value_start)] * span + people.value, shared // pairs * span
                        + value_of[shared % pairs]]), return_inverse=True,
    )  # fmt: skip
    times = np.bincount(which, weights=np.append(people.value_count, np.ones(len(shared))), minlength=len(cells))
    step = max(_CELLS // span, 1)
    for first in range(0, count if attributes else 0, step):
        last = min(first + step, count)
        begin, end = np.searchsorted(cells, [first * span, last * span])
        counts = np.zeros((last - first, span), np.int64)
        counts.reshape(-1)[cells[begin:end] - first * span] = times[begin:end]
        for place, attribute in enumerate(attributes):
            yield (
                first,
                replace(
                    classes,
                    people=classes.people[first:last],
                    rows=classes.rows[first:last],
                    population=classes.population[first:last],
                    counts=counts[:, offsets[place] : offsets[place + 1]],
                    attribute=attribute,
                ),
            )


def _owners(start: Ints) -> Ints:
    """The item of each entry of a list."""
    return np.repeat(np.arange(len(start) - 1), np.diff(start))


def _sums(of: Ints, numbers: Ints, count: int) -> Ints:
    return np.bincount(of, weights=numbers, minlength=count).astype(np.int64)


# -- for compiled code -------------------------------------------------------------------------------------------------


def people_of(distinct: DistinctRows, *, values: bool) -> People:
    """People of each item; with their sensitive values if there is a condition on them."""
    m = len(distinct.codes)
    offsets = np.cumsum([0, *(len(axis) for axis in distinct.sensitive)])
    rows = np.arange(len(distinct.of_row))
    part = rows if distinct.part is None else rows[distinct.part]
    empty = np.zeros(0, np.int64)
    single, start, person, many = distinct.weights, np.zeros(m + 1, np.int64), empty, None
    if distinct.persons is not None:
        place, who = distinct.membership
        many = np.bincount(who, minlength=int(who.max(initial=-1)) + 1) > 1
        shared = many[who] if len(who) else np.zeros(0, np.bool_)
        single = np.bincount(place[~shared], minlength=m).astype(np.int64)
        start, person = _lists(place[shared], m), who[shared]
    value_start, value, value_count = np.zeros(m + 1, np.int64), empty, empty
    pair_start, pair, pair_value = np.zeros(m + 1, np.int64), empty, empty
    if values and distinct.persons is None:  # each row is a person of its own
        span, times = max(int(offsets[-1]), 1), None if distinct.times is None else distinct.times[part]
        each = [distinct.of_row[part] * span + codes[part] + offset
                for codes, offset in zip(distinct.values, offsets, strict=False)]  # fmt: skip
        cells, which = np.unique(np.concatenate(each) if each else empty, return_inverse=True)
        weights = None if times is None else np.tile(times, len(each))
        counts = np.bincount(which.reshape(-1), weights=weights, minlength=len(cells))
        value_start, value, value_count = _lists(cells // span, m), cells % span, counts.astype(np.int64)
    elif values:
        # one entry for each item, person and value
        persons, span = distinct.persons, max(int(offsets[-1]), 1)
        assert persons is not None
        keyed = [distinct_pairs(distinct.of_row[part] * span + codes[part] + offset, persons[part])
                 for codes, offset in zip(distinct.values, offsets, strict=False)]  # fmt: skip
        place = np.concatenate([keys for keys, _ in keyed]) if keyed else empty
        who = np.concatenate([persons for _, persons in keyed]) if keyed else empty
        alone = ~many[who] if many is not None and len(who) else np.ones(len(who), np.bool_)
        cells, counts = np.unique(place[alone], return_counts=True)
        value_start, value, value_count = _lists(cells // span, m), cells % span, counts.astype(np.int64)
        order = np.argsort(place[~alone] // span, kind="stable")
        place, who = place[~alone][order], who[~alone][order]
        _, pair = np.unique(who * span + place % span, return_inverse=True)
        pair_start, pair, pair_value = _lists(place // span, m), pair.astype(np.int64), place % span
    return People(
        single=np.asarray(single, np.int64),
        start=start,
        person=np.asarray(person, np.int64),
        value_start=value_start,
        value=value,
        value_count=value_count,
        pair_start=pair_start,
        pair=pair,
        pair_value=pair_value,
        persons=int(person.max(initial=-1)) + 1,
        pairs=int(pair.max(initial=-1)) + 1,
        rows=distinct.leaving,
        population=distinct.rows,
    )


def _lists(sorted_places: Ints, count: int) -> Ints:
    """Start of the entries of each index."""
    return np.searchsorted(sorted_places, np.arange(count + 1)).astype(np.int64)


def some_people(people: People, items: Ints) -> People:
    """The people of some items, which get new numbers."""

    def lists(start: Ints, *contents: Ints) -> tuple[Ints, ...]:
        lengths = start[items + 1] - start[items]
        new = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        where = np.repeat(start[items] - new[:-1], lengths) + np.arange(int(new[-1]))
        return new, *(content[where] for content in contents)

    start, person = lists(people.start, people.person)
    value_start, value, value_count = lists(people.value_start, people.value, people.value_count)
    pair_start, pair, pair_value = lists(people.pair_start, people.pair, people.pair_value)
    return people._replace(
        single=people.single[items],
        start=start,
        person=person,
        value_start=value_start,
        value=value,
        value_count=value_count,
        pair_start=pair_start,
        pair=pair,
        pair_value=pair_value,
        rows=people.rows[items],
        population=people.population[items],
    )


def rules_of(distinct: DistinctRows, conditions: Conditions) -> Rules:
    """The criteria that are compiled, as numbers; about values exactly where `people_of` has them."""
    attributes = distinct.attributes if conditions.about_values else ()
    segments = np.cumsum([0, *(len(attribute.whole) for attribute in attributes)]).astype(np.int64)
    shares = np.zeros((3, int(segments[-1])))
    shares[2] = 1.0
    known: dict[str, Any] = {}
    for criterion in conditions.criteria:
        known |= criterion.rules(attributes) or {}
        for first, attribute in zip(segments, attributes, strict=False):
            part = slice(first, first + len(attribute.whole))
            shares[0, part] = attribute.shares
            bounds = criterion.shares(attribute) if criterion.asked else None
            if bounds is not None:
                shares[1, part] = np.maximum(shares[1, part], bounds[0])
                shares[2, part] = np.minimum(shares[2, part], bounds[1])
    several = distinct.persons is not None and distinct.people != int(distinct.weights.sum())
    return Rules(
        checked=bool(several or len(conditions.asked) > 1),
        segments=segments,
        shares=shares,
        missing=np.array([int(attribute.missing is not None) for attribute in attributes], np.int64),
        bounded=bool((shares[1] > 0).any() or (shares[2] < 1).any()),
        **known,
    )

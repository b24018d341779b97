"""Each rule coarsens level by level, keeps its leaves, and reads back from plain data."""

import datetime as dt
import itertools

import numpy as np
import pytest

from tacita.anonymize.hierarchies.rules import Digits, Intervals, Merged, Periods, Prefixes, rule_data, rule_of
from tacita.errors import InvalidInput
from tacita.tables.recoding import Axis

WORDS = ("none", "primary", "secondary", "bachelor", "master", "doctor", "other")


def axis_of(kind, keys):
    return Axis(name="x", kind=kind, keys=tuple(keys))


def cases():
    rng = np.random.default_rng(3)
    for _ in range(20):
        widths = tuple(float(w) for w in np.cumprod(rng.integers(2, 5, rng.integers(1, 4))))
        numbers = sorted({int(n) for n in rng.integers(-500, 500, 40)})
        yield Intervals(widths=widths, origin=int(rng.integers(-9, 9))), axis_of("number", numbers)
        yield Intervals(widths=tuple(w / 4 for w in widths)), axis_of("number", [n / 8 for n in numbers])
        days = sorted({int(n) for n in rng.integers(-9000, 20_000, 40)})
        by = tuple(np.array(["month", "quarter", "year", "decade"])[np.sort(rng.permutation(4)[: rng.integers(1, 5)])])
        yield Periods(by=by), axis_of("date", days)
        texts = sorted({str(n) for n in rng.integers(0, 99_999, 40)})
        yield Digits(mask=tuple(range(1, int(rng.integers(2, 6))))), axis_of("set", texts)
        yield Prefixes(keep=tuple(range(int(rng.integers(1, 5)), 0, -1))), axis_of("set", texts)
        levels = WORDS[: rng.integers(1, 8)]
        yield Merged(levels=levels, merge=int(rng.integers(2, 4))), axis_of("order", levels)


@pytest.mark.parametrize(("rule", "axis"), list(cases()))
def test_every_level_coarsens_the_one_below_and_leaves_are_kept(rule, axis):
    made = rule.hierarchy(axis)
    assert set(axis.texts) <= set(made.leaves)
    for low, high in itertools.pairwise(range(made.levels - 1, -1, -1)):  # paths go from the root to the leaf
        above = {}
        for path in made.paths:
            assert above.setdefault(path[low], path[high]) == path[high]
        assert len({path[high] for path in made.paths}) <= len({path[low] for path in made.paths})
    assert {path[0] for path in made.paths} == {"*"}
    assert rule_of(*next(iter(rule_data(rule).items())), field="x") == rule


def test_labels_hold_their_values():
    """Against another computation: each number lies in the interval that its label names, each day in its decade."""
    axis = axis_of("number", range(-37, 60))
    for path in Intervals(widths=(5, 10, 20)).hierarchy(axis).paths:
        value = int(path[-1])
        for label, width in zip(path[1:-1], (20, 10, 5), strict=True):
            low, high = (int(end) for end in label.split(".."))
            assert low <= value <= high
            assert high - low + 1 == width
            assert low % width == 0
    days = [(dt.date(1899, 12, 31) + dt.timedelta(days=n * 97) - dt.date(1970, 1, 1)).days for n in range(400)]
    for path in Periods(by=("month", "decade")).hierarchy(axis_of("date", days)).paths:
        start, end = (int(year) for year in path[1].split(".."))
        assert start <= int(path[-1][:4]) <= end == start + 9
        assert path[2] == path[-1][:7]


def test_merged_groups_are_neighbours():
    made = Merged(levels=WORDS, merge=3).hierarchy(axis_of("order", WORDS))
    assert [path[2] for path in made.paths] == list(WORDS) or made.levels == 3
    assert [path[1] for path in made.paths] == ["none..secondary"] * 3 + ["bachelor..doctor"] * 3 + ["other"]


def test_digits_of_different_lengths():
    made = Digits(mask=(1, 2)).hierarchy(axis_of("set", ["7", "45", "12345"]))
    assert {path[-1]: path[1:-1] for path in made.paths} == {
        "7": ("*", "*"),
        "45": ("**", "4*"),
        "12345": ("123**", "1234*"),
    }


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Intervals(widths=(0.0,)), "positive"),
        (lambda: Intervals(widths=(float("nan"),)), "positive"),
        (lambda: Intervals(widths=(5,), origin=float("inf")), "between"),
        (lambda: Periods(by=("year", "month")), "shortest to the longest"),
        (lambda: Periods(by=("week", "year")), "weeks go alone"),
        (lambda: Periods(by=()), "some of"),
        (lambda: Digits(mask=(2, 1)), "must rise"),
        (lambda: Digits(mask=()), "must rise"),
        (lambda: Merged(levels=("a", "b"), merge=1), "at least 2"),
        (lambda: Merged(levels=("a", "a")), "distinct"),
        (lambda: rule_of("digits", {"hide": [1]}, field="zip"), "takes mask"),
        (lambda: rule_of("digits", {}, field="zip"), "needs mask"),
        (lambda: rule_of("digits", [1], field="zip"), "takes mask"),
        (lambda: rule_of("intervals", {"widths": "wide"}, field="age"), "widths"),
    ],
)
def test_what_is_no_rule_is_refused(make, words):
    with pytest.raises(InvalidInput, match=words):
        make()

"""Sets of splits against every set there is."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from tests.anonymize.slow_nodes import PEOPLE, ROWS, TREES, some_conditions, some_table

from tacita.anonymize import Anonymize, Conditions, read_distinct_rows
from tacita.anonymize.methods.bayardo import Bayardo, Splits
from tacita.anonymize.methods.grouping import Grouping
from tacita.errors import InvalidInput


def slow_splits(splits):
    """The least loss over every set of splits whose parents are in it."""
    best = math.inf
    for size in range(len(splits.every) + 1):
        for chosen in itertools.combinations(range(len(splits.every)), size):
            if all(splits.every[s].parent in (-1, *chosen) for s in chosen):
                cost, groups = splits.look(frozenset(chosen))
                if groups.suppressed <= splits.grouping.budget:
                    best = min(best, cost)
    return best


@pytest.mark.parametrize("loss", ["discernibility", "gcp"])
@pytest.mark.parametrize("climbing", [True, False])
def test_the_best_set_of_splits_is_found_and_proved(loss, climbing, monkeypatch):
    if not climbing:  # then the bounds must do all the work
        monkeypatch.setattr(Splits, "starts", lambda self: iter(()))
    rng = np.random.default_rng(6)
    pruned = 0
    for turn in range(60):
        table = some_table(rng, int(rng.integers(5, 25)))
        trees = TREES if turn % 2 else {"colour": TREES["colour"]}
        quasi = ("age", "colour") if turn % 2 else ("colour", "pet")
        people, asked = bool(rng.integers(2)), some_conditions(rng)
        budget = int(rng.integers(0, 5))
        domain = PEOPLE if people else ROWS
        distinct = read_distinct_rows(
            domain, table, quasi, sensitive=("ill",), hierarchies={name: trees[name] for name in quasi if name in trees}
        )
        splits = Splits(grouping=Grouping(distinct=distinct, conditions=asked, budget=budget), loss=loss)
        best = slow_splits(splits)
        if best == math.inf:
            with pytest.raises(InvalidInput, match="not even one class of all people"):
                Bayardo(loss=loss).search(splits)
            continue
        found = Bayardo(loss=loss).search(splits)
        assert found.proved
        assert found.cost == pytest.approx(best)
        pruned += found.looked < 2 ** len(splits.every)
    assert pruned > 0


def test_a_group_that_is_no_class_may_have_parts_that_are(monkeypatch):
    monkeypatch.setattr(Splits, "starts", lambda self: iter(()))
    table = pa.table({"age": [1, 1, 9, 9, 9], "ill": ["flu", "cold", "flu", "flu", "flu"]})
    distinct = read_distinct_rows(ROWS, table, ("age",), sensitive=("ill",))
    asked = Conditions(k=1, alpha=0.6)
    splits = Splits(grouping=Grouping(distinct=distinct, conditions=asked, budget=5), loss="discernibility")
    assert splits.look(frozenset())[0] == 25  # all is suppressed
    found = Bayardo().search(splits)
    assert (found.cost, found.proved) == (2**2 + 3 * 5, True)


def test_intervals_of_plain_numbers_are_costed_as_a_reader_would():
    rng = np.random.default_rng(7)
    for _ in range(20):
        table = some_table(rng, 15)
        distinct = read_distinct_rows(ROWS, table, ("age", "pet"))
        splits = Splits(grouping=Grouping(distinct=distinct, conditions=Conditions(k=2), budget=4), loss="gcp")
        ages, pets = (sorted(set(table[name].to_pylist())) for name in ("age", "pet"))
        chosen = frozenset(i for i in range(len(splits.every)) if rng.integers(2))
        cut_ages = {ages[i + 1] for i in chosen if i < len(ages) - 1}
        cut_pets = {pets[i - len(ages) + 2] for i in chosen if i >= len(ages) - 1}

        def part(value, values, cuts):
            ends = [v for v in values if v in cuts]
            number = sum(end <= value for end in ends)
            return [v for v in values if sum(end <= v for end in ends) == number]

        groups = defaultdict(list)
        for row in table.to_pylist():
            box = part(row["age"], ages, cut_ages), part(row["pet"], pets, cut_pets)
            groups[str(box)].append(box)
        cost = dm = 0.0
        for boxes in groups.values():
            (some, others), size = boxes[0], len(boxes)
            wide = (some[-1] - some[0]) / max(ages[-1] - ages[0], 1) + (len(others) - 1) / max(len(pets) - 1, 1)
            cost += size * (wide / 2 if size >= 2 else 1)
            dm += size**2 if size >= 2 else size * 15
        assert splits.look(chosen)[0] == pytest.approx(cost / 15)
        assert Splits(grouping=splits.grouping, loss="discernibility").look(chosen)[0] == dm


def test_a_search_that_is_given_up_says_so():
    table = some_table(np.random.default_rng(8), 40)
    recipe = {"conditions": Conditions(k=3), "hierarchies": TREES, "suppress": 0.2}
    with pytest.raises(InvalidInput, match="too many ways to prove one the best"):
        Anonymize(**recipe, method=Bayardo(most=3)).prepare(ROWS).run_on(table)
    early = Anonymize(**recipe, method=Bayardo(most=3, early="best")).prepare(ROWS).run_on(table)
    assert early.achieved.k >= 3
    best = Anonymize(**recipe, method=Bayardo()).prepare(ROWS).run_on(table)
    assert best.loss.discernibility <= early.loss.discernibility


def test_bad_options_are_refused():
    with pytest.raises(InvalidInput, match="loss: must be discernibility or gcp"):
        Bayardo(loss="entropy")
    with pytest.raises(InvalidInput, match="most: must be 1 or more"):
        Bayardo(most=0)

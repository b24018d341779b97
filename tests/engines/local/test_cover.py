from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tacita.engines.local.cover import CountingCosts, CountingPlan, make_plan


def check(plan: CountingPlan, keys: list[tuple[int, ...]]) -> None:
    assert len(plan.source) == len(keys)
    for key, home in zip(keys, plan.source, strict=True):
        assert set(key) <= set(plan.counted[home])
    assert set(plan.source) == set(range(len(plan.counted)))  # nothing is counted for nobody


def cost(plan: CountingPlan, sizes: list[int], rows: int) -> float:
    model = CountingCosts()
    cells = [math.prod(sizes[i] for i in key) for key in plan.counted]
    return sum(model.count(c, rows) for c in cells) + sum(model.sum(cells[home]) for home in plan.source)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_every_asked_table_is_inside_a_counted_one(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 5000), min_size=1, max_size=9))
    sets = st.frozensets(st.integers(0, len(sizes) - 1), max_size=9)
    keys = [tuple(key) for key in data.draw(st.lists(sets, min_size=1, max_size=30, unique=True))]
    check(make_plan(keys, sizes, data.draw(st.sampled_from([0, 10, 10**5, 10**8]))), keys)


def test_pairs_come_out_of_far_fewer_tables() -> None:
    sizes = [2, 30, 10, 6, 7, 12, 3, 15, 4, 9, 13, 17, 10, 12, 8]
    pairs = list(itertools.combinations(range(15), 2))
    plan = make_plan(pairs, sizes, 1_000_000)
    check(plan, pairs)
    assert len(plan.counted) <= 35
    assert cost(plan, sizes, 1_000_000) < 0.5 * cost(CountingPlan(tuple(pairs), tuple(range(105))), sizes, 1_000_000)


def test_no_table_is_widened_beyond_the_cache() -> None:
    sizes = [30] * 12
    triples = list(itertools.combinations(range(12), 3))
    plan = make_plan(triples, sizes, 1_000_000)
    check(plan, triples)
    assert all(len(key) == 3 for key in plan.counted)  # 30**4 cells are too many


def test_few_rows_are_counted_directly() -> None:
    pairs = list(itertools.combinations(range(15), 2))
    assert len(make_plan(pairs, [10] * 15, 1000).counted) == 105


def test_a_table_inside_another_asked_one_is_not_counted() -> None:
    keys = [(0, 1, 2), (1, 2), (0,), ()]
    plan = make_plan(keys, [9, 9, 9], 1_000_000)
    assert plan.counted == ((0, 1, 2),)


def test_a_thousand_tables_come_from_few_and_the_plan_is_kept() -> None:
    every = list(itertools.combinations(range(20), 3))
    keys = [every[i] for i in sorted(np.random.default_rng(0).choice(len(every), 1000, replace=False))]
    sizes = [2 + i * 17 % 19 for i in range(20)]
    plan = make_plan(keys, sizes, 1_000_000)
    check(plan, keys)
    assert len(plan.counted) < 400
    assert make_plan(keys, sizes, 1_000_001) is plan

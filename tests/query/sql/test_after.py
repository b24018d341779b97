"""Released rows: sorting, filtering and grouping, against Python."""

import math

import numpy as np
import pytest
import sqlglot

from tacita.errors import InvalidInput
from tacita.query.sql.after import Frame, Item, Labels, Outer, Stage
from tacita.query.sql.released import Noise, public

NAMES = ["b", "a", None, "b", "c"]
NUMBERS = [3.0, 1.0, 2.0, math.nan, 3.0]
FRAME = Frame(
    5,
    Noise((), ()),
    {"g": Labels.of(NAMES), "n": public(Noise((), ()), np.array(NUMBERS)), "m": public(Noise((), ()), np.arange(5.0))},
)


def parse(text):
    return sqlglot.parse_one(text, read="postgres")


def table(stage):
    made = stage.run(FRAME)
    return [
        tuple(held.texts[row] if isinstance(held, Labels) else float(held.value[row]) for held in made.columns.values())
        for row in range(made.rows)
    ]


ITEMS = (Item("g", parse("g")), Item("m", parse("m")))


@pytest.mark.parametrize(
    ("order", "rows"),
    [
        ([("n", False, False)], [1, 2, 0, 4, 3]),
        ([("n", True, False)], [0, 4, 2, 1, 3]),
        ([("n", False, True)], [3, 1, 2, 0, 4]),
        ([("g", False, False)], [1, 0, 3, 4, 2]),
        ([("g", True, False)], [4, 0, 3, 1, 2]),
        ([("n", True, False), ("m", True, False)], [4, 0, 2, 1, 3]),
        ([("-n", False, False), ("g", True, False)], [4, 0, 2, 1, 3]),
    ],
)
def test_order_is_stable_and_missing_values_come_last(order, rows):
    stage = Stage(ITEMS, order=tuple((parse(part), falls, first) for part, falls, first in order))
    assert [row[1] for row in table(stage)] == rows


def test_limit_offset_and_having():
    assert [row[1] for row in table(Stage(ITEMS, limit=2, offset=1))] == [1, 2]
    assert table(Stage(ITEMS, limit=0)) == []
    assert table(Stage(ITEMS, offset=9)) == []
    assert [row[1] for row in table(Stage(ITEMS, having=parse("n > 1 AND g <> 'c'")))] == [0]
    assert [row[1] for row in table(Stage(ITEMS, having=parse("g IS NULL OR n < 2")))] == [1, 2]


def test_an_outer_select_groups_released_rows():
    stage = Stage((Item("g", parse('"#g0"')), Item("s", parse('"#a0"')), Item("k", parse('"#a1" + 1'))))
    outer = Outer(stage, None, (parse("g"),), (parse("SUM(n)"), parse("COUNT(n)")), grouped=True)
    made = outer.run(FRAME)
    assert made.columns["g"].texts == ["b", "a", "(missing)", "c"]
    assert made.columns["s"].value.tolist() == [3.0, 1.0, 2.0, 3.0]
    assert made.columns["k"].value.tolist() == [2.0, 2.0, 2.0, 2.0]
    every = Outer(
        Stage(tuple(Item(f"c{i}", parse(f'"#a{i}"')) for i in range(5))),
        parse("g <> 'c'"),
        (),
        tuple(parse(text) for text in ("MIN(n)", "MAX(n)", "AVG(n)", "MEDIAN(m)", "COUNT(*)")),
        grouped=True,
    )
    found = [float(held.value[0]) for held in every.run(FRAME).columns.values()]
    assert found == [1.0, 3.0, 2.0, 1.0, 3.0]


def test_an_aggregate_of_no_rows_is_null():
    outer = Outer(Stage((Item("s", parse('"#a0"')),)), parse("n > 100"), (), (parse("SUM(n)"),), grouped=True)
    assert math.isnan(outer.run(FRAME).columns["s"].value[0])


def test_labels_are_computed_and_numbers_stay_numbers():
    made = Stage(
        (
            Item("size", parse("CASE WHEN n > 2 THEN 'big' WHEN n > 0 THEN 'small' END")),
            Item("big", parse("n > 2")),
            Item("n", parse("COALESCE(n, 0) + 1")),
        )
    ).run(FRAME)
    assert made.columns["size"].texts == ["big", "small", "small", "(missing)", "big"]
    assert made.columns["big"].texts == ["true", "false", "false", "(missing)", "true"]
    assert made.columns["n"].value.tolist() == [4.0, 2.0, 3.0, 1.0, 4.0]


@pytest.mark.parametrize("text", ["nothing", "g + 1", "VAR_POP(n)"])
def test_unknown_columns_and_kinds_are_refused(text):
    outer = Outer(Stage((Item("x", parse('"#a0"')),)), None, (), (parse(text),), grouped=True)
    with pytest.raises(InvalidInput):
        outer.run(FRAME)

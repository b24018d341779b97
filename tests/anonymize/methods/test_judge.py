"""Counts of groups and what may be a class, against counting people one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacita.anonymize import Conditions, read_distinct_rows
from tacita.anonymize.criteria import Classes
from tacita.anonymize.methods import judge as module
from tacita.anonymize.methods.judge import Judge, people_of, some_people, tally
from tacita.domain import Boolean, Categorical, Domain, Identifier

LEVELS = {"x": list("abcdef"), "ill": ["flu", "cold", "gout"], "job": ["cook", "judge"]}
ATTRIBUTES = [
    Identifier(name="who"),
    *(Categorical(name=name, levels=levels) for name, levels in LEVELS.items()),
    Boolean(name="here"),
]


@st.composite
def distinct_rows_of_people(draw):
    rows = draw(st.integers(2, 30))
    column = lambda some: draw(st.lists(some, min_size=rows, max_size=rows))  # noqa: E731
    table = pa.table(
        {
            "who": column(st.sampled_from(["p", "q", "r", "s", None])),
            **{name: column(st.sampled_from([*levels[:2], *levels])) for name, levels in LEVELS.items()},
            "here": column(st.booleans()),
        }
    )
    people, part = draw(st.booleans()), draw(st.booleans())
    domain = Domain(attributes=ATTRIBUTES, person="who" if people else None)
    distinct = read_distinct_rows(domain, table, ("x",), sensitive=("ill", "job"), part="here" if part else None)
    return distinct, table.to_pylist(), people, part


def slow_counts(rows, people, part, attribute):
    """People, released rows, rows, and people with each value, in some rows."""
    released = [(place, row) for place, row in enumerate(rows) if row["here"] or not part]
    keys = [(row["who"] if people else row["place"], row) for _, row in released]
    known = [(who, row) for who, row in keys if who is not None]
    values = Counter(value for _, value in {(who, row[attribute]) for who, row in known})
    return len({who for who, _ in known}), len(released), len(rows), values


@pytest.mark.parametrize("cells", [1 << 23, 4])
@settings(max_examples=60, deadline=None)
@given(made=distinct_rows_of_people(), seed=st.integers(0, 99))
def test_counts_of_groups_are_those_of_their_rows(cells, made, seed):
    distinct, rows, people, part = made
    for place, row in enumerate(rows):
        row["place"] = place
    rng = np.random.default_rng(seed)
    chosen = np.flatnonzero(rng.random(len(distinct.codes)) < 0.8)
    if not len(chosen):
        return
    of = rng.integers(0, 3, len(chosen))
    before, module._CELLS = module._CELLS, cells  # many small parts, as with very many groups
    try:
        parts = list(tally(some_people(people_of(distinct, values=True), chosen), of, 3, distinct.attributes))
    finally:
        module._CELLS = before
    seen = 0
    for first, classes in parts:
        for place in range(len(classes.people)):
            inside = set(chosen[of == first + place].tolist())
            mine = [row for row, number in zip(rows, distinct.of_row.tolist(), strict=True) if number in inside]
            name = "ill" if classes.attribute is None else classes.attribute.name
            persons, released, every, values = slow_counts(mine, people, part, name)
            assert classes.people[place] == persons
            assert (classes.rows[place], classes.population[place]) == (released, every)
            if classes.attribute is not None:
                axis = distinct.sensitive[("ill", "job").index(name)]
                assert classes.values[place].tolist() == [values[key] for key in axis.keys]
                seen += 1
    assert seen == 6


CONDITIONS = [
    {"k": 3},
    {"k": 2, "l": 2},
    {"k": 2, "l": 1.6, "l_kind": "entropy"},
    {"k": 2, "l": 2, "l_kind": "recursive", "c": 1.5},
    {"k": 1, "t": 0.3},
    {"k": 1, "alpha": 0.6},
    {"k": 1, "presence": (0.2, 0.8)},
    {"k": 1, "beta": 0.5},
    {"k": 1, "disclosure": 0.7},
]


@pytest.mark.parametrize("asked", CONDITIONS, ids=str)
@settings(max_examples=40, deadline=None)
@given(made=distinct_rows_of_people(), seed=st.integers(0, 99))
def test_compiled_tests_say_what_the_criteria_say(asked, made, seed):
    """The same groups, once by compiled code and once by `Criterion.holds`."""
    distinct, _, _, part = made
    if not part:
        asked = {name: value for name, value in asked.items() if name != "presence"}
    conditions = Conditions.of(asked)
    judge = Judge.of(distinct, conditions)
    assert not judge.slow
    of = np.random.default_rng(seed).integers(0, 3, len(distinct.codes))
    fast = judge.groups(of, 3)
    slow = np.ones(3, np.bool_)
    for first, classes in tally(people_of(distinct, values=True), of, 3, distinct.attributes):
        for criterion in conditions.asked:
            if (criterion.about == "values") == (classes.attribute is not None):
                slow[first : first + len(classes.people)] &= criterion.holds(classes)
    empty = np.bincount(of, minlength=3) == 0
    assert (fast == slow)[~empty].all()
    items = np.flatnonzero(of == of[0])
    assert judge.together(items) == fast[of[0]]
    alone = judge.each(np.arange(len(of)))
    assert alone.tolist() == [judge.together(np.array([item])) for item in range(len(of))]


def test_classes_without_values_have_no_attribute():
    classes = Classes(people=np.array([3]), rows=np.array([3]), population=np.array([4]))
    with pytest.raises(AssertionError):
        _ = classes.values

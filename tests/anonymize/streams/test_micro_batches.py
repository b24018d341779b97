"""Micro-batches: nothing leaves that does not hold, nobody leaves twice, nothing is held for ever."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacita.anonymize import Anonymize, Conditions
from tacita.anonymize.streams.micro_batches import MicroBatches
from tacita.domain import Categorical, Domain, Identifier, Numeric
from tacita.errors import DataError, InvalidInput

ATTRIBUTES = [
    Identifier(name="who"),
    Numeric(name="age", bounds=(0, 99), integer=True, role="quasi-identifier"),
    Categorical(name="ill", levels=["flu", "cold", "cough"], role="sensitive"),
]
PEOPLE = Domain(attributes=ATTRIBUTES, person="who")
ROWS = Domain(attributes=ATTRIBUTES)


def rows_of(who, age=None, ill=None):
    count = len(who)
    columns = {"who": pa.array(who, pa.string()), "age": pa.array(age or [30] * count, pa.int64())}
    return pa.table(columns | {"ill": pa.array(ill or ["flu", "cold", "cough"] * count, pa.string())[:count]})


def plan_of(k=3, domain=PEOPLE, **more):
    return Anonymize(conditions=Conditions(k=k, **more)).prepare(domain)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    pushes=st.lists(
        st.tuples(
            st.integers(0, 6),
            st.lists(
                st.tuples(
                    st.one_of(st.none(), st.integers(0, 25)), st.integers(0, 60), st.sampled_from(["flu", "cold"])
                ),
                max_size=6,
            ),
        ),
        max_size=25,
    ),
    k=st.integers(1, 4),
    l=st.sampled_from([1, 2]),
    least=st.integers(0, 4),
    deadline=st.integers(0, 12),
)
def test_all_batches_together(pushes, k, l, least, deadline):  # noqa: E741
    batches = MicroBatches(plan_of(k, l=l), least=k + least, deadline=deadline)
    now, came, left, waiting = 0, 0, 0, []
    seen: Counter[str] = Counter()
    for wait, rows in pushes:
        now += wait
        table = rows_of(
            [None if p is None else f"p{p}" for p, _, _ in rows], [a for _, a, _ in rows], [i for *_, i in rows]
        )
        before = batches.late + batches.repeated + batches.unkeyed
        results = batches.push(table, now)
        came += len(rows)
        dropped = batches.repeated + batches.unkeyed + batches.late - before
        waiting += [(now, f"p{p}") for p, _, _ in rows if p is not None and f"p{p}" not in seen]
        assert len(results) <= 1
        for result in results:
            classes = defaultdict(list)
            for row in result.rows.to_pylist():
                classes[row["age"]].append(row["ill"])
            people = {person for _, person in waiting}
            assert len(people) >= k
            for ills in classes.values():
                assert len(ills) >= k
                assert len(set(ills)) >= l
            left += result.rows.num_rows
            assert result.rows.num_rows == len(waiting)
            for person in people:
                assert seen[person] == 0  # nobody was in a batch before
                seen[person] += 1
            waiting = []
        if not results:
            waiting = [(when, person) for when, person in waiting if when > now - deadline]
        assert batches.held == len(waiting)
        assert all(when > now - deadline for when, _ in waiting)
        assert dropped >= 0
    assert came == left + batches.held + batches.late + batches.repeated + batches.unkeyed
    assert batches.remembered == len(seen)


def test_rows_wait_for_enough_people_and_a_person_is_not_many():
    batches = MicroBatches(plan_of(3), deadline=100)
    assert batches.push(rows_of(["a", "a", "a", "b"]), 0) == []
    (result,) = batches.push(rows_of(["c"]), 1)
    assert result.rows.num_rows == 5
    assert result.achieved.k == 3
    assert batches.held == 0
    assert batches.push(rows_of(["a", "b", "c"]), 2) == []
    assert (batches.repeated, batches.held) == (3, 0)


def test_comparing_two_batches_finds_nobody():
    """The attack: ann is known to be in two batches; her illness is what both have in common."""

    def candidates(again):
        batches = MicroBatches(plan_of(2), deadline=100, again=again)
        first = batches.push(rows_of(["ann", "bob"], ill=["flu", "cold"]), 0)
        second = batches.push(rows_of(["ann", "cid", "dan"], ill=["flu", "cough", "cough"]), 1)
        return [set(result.rows["ill"].to_pylist()) for result in first + second]

    weak = candidates("each")
    assert weak[0] & weak[1] == {"flu"}
    strong = candidates("suppress")
    assert strong == [{"flu", "cold"}, {"cough"}]  # ann is not in the second one


def test_a_deadline_lets_a_smaller_batch_go_or_suppresses_it():
    batches = MicroBatches(plan_of(2), least=10, deadline=5)
    assert batches.push(rows_of(["a", "b"]), 0) == []
    assert batches.tick(4) == []
    (result,) = batches.tick(5)
    assert result.rows.num_rows == 2
    assert batches.push(rows_of(["c"]), 6) == []
    assert batches.push(rows_of(["d"], [40]), 10) == []
    assert batches.tick(10) == []
    (result,) = batches.tick(11)  # c is due, and d goes along
    assert result.rows["age"].to_pylist() == ["30..40", "30..40"]
    assert batches.push(rows_of(["e"]), 12) == []
    assert batches.tick(17) == []
    assert (batches.late, batches.held) == (1, 0)


def test_who_is_forgotten_may_leave_again():
    batches = MicroBatches(plan_of(2), deadline=5, remember=10)
    assert len(batches.push(rows_of(["a", "b"]), 0)) == 1
    assert batches.push(rows_of(["a", "b"]), 9) == []
    assert len(batches.push(rows_of(["a", "b"]), 10)) == 1
    assert batches.remembered == 2


def test_conditions_on_values_keep_a_batch_back():
    batches = MicroBatches(plan_of(2, l=2), deadline=50)
    assert batches.push(rows_of(["a", "b"], ill=["flu", "flu"]), 0) == []
    (result,) = batches.push(rows_of(["c"], ill=["cold"]), 1)
    assert result.achieved.l["ill"] >= 2


def test_without_keys_each_batch_is_judged_by_itself():
    with pytest.raises(InvalidInput, match="needs a person's key"):
        MicroBatches(plan_of(2, ROWS), deadline=5)
    batches = MicroBatches(plan_of(2, ROWS), deadline=5, again="each")
    assert batches.push(rows_of(["a"]), 0) == []
    assert len(batches.push(rows_of(["a"]), 1)) == 1


def test_a_bad_row_is_refused_before_it_is_held():
    batches = MicroBatches(plan_of(2), deadline=5)
    bad = rows_of(["a"]).set_column(1, "age", [["seventeen"]])
    with pytest.raises(DataError):
        batches.push(bad, 0)
    assert batches.held == 0
    batches.push(rows_of(["a"]), 3)
    with pytest.raises(InvalidInput, match="does not fall"):
        batches.push(rows_of(["b"]), 2)
    with pytest.raises(InvalidInput, match="types that they had before"):
        batches.push(rows_of(["b"]).set_column(1, "age", [["17"]]), 4)
    assert batches.held == 1


def test_bad_options_are_refused():
    for wrong, message in (
        ({"least": 1}, "least: must be k = 3 or more"),
        ({"deadline": -1}, "deadline: must be a whole number"),
        ({"again": "twice"}, "again: must be suppress or each"),
        ({"remember": 1}, "remember: must not be shorter"),
    ):
        with pytest.raises(InvalidInput, match=message):
            MicroBatches(plan_of(3), **{"deadline": 5} | wrong)


def test_order_within_a_batch_says_nothing():
    rng = np.random.default_rng(1)
    table = rows_of([f"p{i}" for i in range(30)], rng.integers(0, 90, 30).tolist())
    results = []
    for order in (np.arange(30), rng.permutation(30)):
        batches = MicroBatches(plan_of(4), least=30, deadline=9)
        results += batches.push(table.take(pa.array(order)), 0)
    assert results[0].rows.equals(results[1].rows)

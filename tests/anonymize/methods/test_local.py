"""Local recoding: what leaves holds what was asked, and loses no more than one class of all."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.anonymize import test_anonymize as slow
from tests.anonymize.slow_cuts import DOMAIN

from tacita.anonymize import Anonymize, Conditions, LocalRecoding, Mondrian, read_distinct_rows
from tacita.anonymize.loss import loss_of
from tacita.anonymize.methods import local
from tacita.anonymize.methods.registry import make_method
from tacita.domain import Categorical, Domain, Numeric
from tacita.errors import InvalidInput

QUASI = ("age", "colour", "level", "day")
MIXED = Domain(
    attributes=[
        Numeric(name="x", bounds=(0, 999), bins=1, role="quasi-identifier"),
        Categorical(name="pet", levels=[f"p{i}" for i in range(7)], role="quasi-identifier"),
        Numeric(name="y", bounds=(0, 999), bins=1, role="quasi-identifier"),
        Categorical(name="ill", levels=["a", "b", "c", "d"], role="sensitive"),
    ]
)


def mixed(seed, rows):
    """Numbers and values with ties and duplicates, and a sensitive value that depends on them."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, rows)
    return pa.table(
        {
            "x": np.round(rng.normal(300 + 100 * group, 60)).clip(0, 999),
            "pet": [f"p{v}" for v in np.minimum(rng.geometric(0.4, rows) + group, 6)],
            "y": rng.integers(0, 30, rows),
            "ill": [f"{'abcd'[v]}" for v in np.where(rng.random(rows) < 0.4, group, rng.integers(0, 4, rows))],
        }
    )


def release(table, asked, domain=MIXED, method=None, **more):
    return Anonymize(conditions=asked, method=method or LocalRecoding(), **more).prepare(domain).run_on(table)


@pytest.mark.parametrize("people", [False, True], ids=["rows", "people"])
@settings(slow.QUICK, max_examples=150)
@given(data=st.data())
def test_what_leaves_holds_what_was_asked(people, data):
    """A slow recount of all criteria on the released texts, with hierarchies, missing values and people who return."""
    table, asked = data.draw(slow.tables()), data.draw(slow.conditions)
    trees = {name: tree for name, tree in slow.TREES.items() if name != "ill" and data.draw(st.booleans())}
    suppress = data.draw(st.sampled_from([0.0, 0.0, 0.0, 0.2]))
    attributes = [a if a.name != "note" else slow.NOTE for a in slow.ROWS.attributes]
    domain = Domain(attributes=attributes, person="who" if people else None)
    try:
        result = release(table, asked, domain, keep=("note",), hierarchies=trees, suppress=suppress)
    except InvalidInput:
        assert not slow.possible(table, asked, people)
        return
    place = {note: i for i, note in enumerate(table["note"].to_pylist())}
    origin = [place[note] for note in result.rows["note"].to_pylist()]
    assert len(set(origin)) == len(origin)
    assert table.num_rows - len(origin) <= suppress * table.num_rows
    slow.recount_holds(result, asked, table, origin, people)
    for out, came in zip(result.rows.to_pylist(), origin, strict=True):
        assert out["ill"] == table["ill"][came].as_py()
        for name in QUASI:
            if name not in trees:
                levels = slow.LEVELS if name == "level" else None
                assert slow.true_of(table[name][came].as_py(), out[name], levels)


@slow.QUICK
@given(table=slow.tables(least=3), k=st.integers(1, 4), seed=st.randoms(use_true_random=False))
def test_the_same_bytes_whatever_the_order_of_rows(table, k, seed):
    if table.num_rows < k:
        return
    order = list(range(table.num_rows))
    seed.shuffle(order)
    runs = [release(each, Conditions(k=k), slow.ROWS).rows for each in (table, table.take(order))]
    assert runs[0].equals(runs[1])


@slow.QUICK
@given(data=st.data(), table=slow.tables(least=3))
def test_labels_below_a_hierarchy_are_its_nodes(data, table):
    trees = {"colour": slow.TREES["colour"]}
    k = data.draw(st.integers(1, min(4, table.num_rows)))
    labels = set(release(table, Conditions(k=k), slow.ROWS, hierarchies=trees).rows["colour"].to_pylist())
    assert labels <= {*slow.COLOURS, "warm", "cool", "plain", "*", "(missing)"}


@pytest.mark.parametrize("asked", [{}, {"l": 2}, {"l": 2, "t": 0.35}, {"alpha": 0.7}, {"beta": 2.0}])
def test_it_loses_less_than_mondrian_on_mixed_tables(asked):
    """In blocks much smaller than the table, so that every step takes part."""
    ratios = []
    for seed in range(4):
        for k in (2, 5):
            table = mixed(seed, 1500)
            ours, peer = (
                release(table, Conditions.of({"k": k} | asked), method=m).loss.gcp for m in (None, Mondrian())
            )
            ratios.append(ours / peer)
    assert np.exp(np.log(ratios).mean()) < 0.95


def test_small_blocks_keep_every_condition(monkeypatch):
    monkeypatch.setattr(local, "_BLOCK", 64)
    for seed in range(6):
        for asked in (Conditions(k=3), Conditions(k=3, l=2, t=0.3), Conditions(k=3, presence=None, alpha=0.6)):
            found = release(mixed(seed, 400), asked)
            assert found.achieved.k >= 3
            assert found.achieved.failures(asked) == []


@pytest.mark.parametrize("k", [2, 3, 7])
def test_k_and_its_neighbours_at_the_size_of_the_table(k):
    """k people are one class; k - 1 are refused; 2 k alike pairs are two classes."""
    table = pa.table({"x": list(range(k)), "pet": ["ant"] * k, "y": [0.5] * k})
    assert release(table, Conditions(k=k), DOMAIN).achieved.classes == 1
    with pytest.raises(InvalidInput, match="fewer people"):
        release(table.slice(1), Conditions(k=k), DOMAIN)
    two = pa.table({"x": [*range(k), *range(90, 90 + k)], "pet": ["ant"] * 2 * k, "y": [0.5] * 2 * k})
    found = release(two, Conditions(k=k), DOMAIN)
    assert found.achieved.classes == 2
    assert found.achieved.k == k


def test_people_are_lent_to_those_who_have_too_few_others():
    """Ten people at 1 and one at 2: with k = 2 one of the ten goes with them, and nine keep their value."""
    table = pa.table({"x": [1] * 10 + [2] + [90] * 5, "pet": ["ant"] * 16, "y": [0.5] * 16})
    shown = release(table, Conditions(k=2), DOMAIN).rows["x"].to_pylist()
    assert sorted(shown) == ["1"] * 9 + ["1..2"] * 2 + ["90"] * 5


def test_no_one_is_lent_when_their_values_matter():
    """With l the people of a combination stay together, because it matters which of them would go."""
    table = mixed(3, 600)
    distinct = read_distinct_rows(MIXED, table, ["x", "pet", "y"], sensitive=["ill"])
    assert LocalRecoding().recode(distinct, Conditions(k=2, l=2)).shares is None


@pytest.mark.parametrize(("weights", "k"), [([5, 9, 40, 3], 3), ([2, 2], 2), ([200], 50), ([51], 50)])
def test_lent_people_are_at_most_those_above_k(weights, k):
    single = np.arange(len(weights))
    lender, chunk = local._lend(np.array(weights), single, k)
    lent = np.bincount(lender, chunk, len(weights))
    assert (lent == np.minimum(np.array(weights) - k, 2 * k)).all()
    assert (chunk >= 1).all()


def test_suppression_is_counted_and_within_its_budget():
    """1, 2, 3 and 40 with k = 3: dropping the last loses least, if it is allowed."""
    table = pa.table({"x": [1, 2, 3, 40], "pet": ["ant"] * 4, "y": [0.5] * 4})
    found = release(table, Conditions(k=3), DOMAIN, suppress=0.25)
    assert found.loss.suppressed == 1
    assert found.rows["x"].to_pylist() == ["1..3"] * 3
    kept = release(table, Conditions(k=3), DOMAIN, suppress=0.24)
    assert kept.loss.suppressed == 0
    assert kept.rows["x"].to_pylist() == ["1..40"] * 4


@pytest.mark.parametrize(
    "column",
    [
        {"x": [7] * 12, "pet": ["ant"] * 12, "y": [1.0] * 12},
        {"x": [0, 99] * 6, "pet": ["ant"] * 12, "y": [1.0] * 12},
        {"x": [None] * 12, "pet": [None] * 12, "y": [None] * 12},
        {"x": [None, 99] * 6, "pet": ["ant", None] * 6, "y": [1.0, None, 2.0] * 4},
    ],
    ids=["one combination", "two far away", "all missing", "some missing"],
)
def test_degenerate_tables(column):
    types = {"x": pa.int64(), "pet": pa.string(), "y": pa.float64()}
    table = pa.table({name: pa.array(values, types[name]) for name, values in column.items()})
    for k in (1, 2, 5, 12):
        found = release(table, Conditions(k=k), DOMAIN)
        assert found.achieved.k >= k
        assert found.rows.num_rows == 12


def test_loss_is_that_of_the_released_labels():
    """Shares of lent people are counted: GCP from the texts alone."""
    table = mixed(5, 300).select(["x", "y"])
    domain = Domain(attributes=[MIXED["x"], MIXED["y"]])
    found = release(table, Conditions(k=3), domain)
    total = 0.0
    for name in ("x", "y"):
        values = table[name].to_pylist()
        for label in found.rows[name].to_pylist():
            ends = [float(part) for part in label.split("..")]
            total += (ends[-1] - ends[0]) / (max(values) - min(values))
    assert found.loss.gcp == pytest.approx(total / (2 * table.num_rows))
    distinct = read_distinct_rows(domain, table, ["x", "y"])
    assert loss_of(distinct, found.recoding, k=3).gcp == pytest.approx(found.loss.gcp)


def test_it_is_a_method_of_the_registry():
    assert make_method("local") == LocalRecoding()
    assert LocalRecoding().as_dict() == {"method": "local"}
    with pytest.raises(InvalidInput, match="no option of local"):
        make_method("local", {"mode": "strict"})


def test_dates_and_levels_are_ordered():
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=30 * i) for i in range(4)]
    table = pa.table(
        {
            "who": [f"w{i}" for i in range(8)],
            "age": [1, 1, 2, 2, 40, 40, 41, 41],
            "colour": ["red"] * 8,
            "level": ["low"] * 4 + ["high"] * 4,
            "day": [days[0]] * 2 + [days[1]] * 2 + [days[2]] * 2 + [days[3]] * 2,
            "ill": ["flu", "cold"] * 4,
            "pay": [1] * 8,
            "inside": [True] * 8,
            "note": [f"n{i}" for i in range(8)],
        }
    )
    rows = release(table, Conditions(k=4), slow.ROWS).rows
    assert set(rows["level"].to_pylist()) == {"low", "high"}
    assert set(rows["age"].to_pylist()) == {"1..2", "40..41"}

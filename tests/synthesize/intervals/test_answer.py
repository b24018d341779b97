"""Intervals of a model's answers: coverage for every method, conditions, counts, and the forms they take."""

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Categorical, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput, UnknownName
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize import Adaptive, Independent, Pairs, PrivBayes, SpanningTree, Synthesized, Targeted
from tacita.synthesize.intervals.answer import compute_intervals, masks_of
from tacita.synthesize.questions import shares
from tacita.synthesize.rules import Rules

METHODS = {
    "independent": Independent(),
    "mst": SpanningTree(),
    "aim": Adaptive(rounds=2),
    "privbayes": PrivBayes(),
    "pairs": Pairs(components=10, fits=1, steps=20),
    "targeted": Targeted(target="c", components=10, fits=1, steps=20),
}
ASKED = (("a",), ("a", "b"), ("b", "d"), ("a", "b", "c"), ("d", "c", "a", "b"))


def run(method, domain, engine, seed=1, epsilon=1.0):
    plan = METHODS[method].calibrate(domain, Budget.pure(epsilon), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
    return plan.run(engine, SeededSource(seed))


def exact_shares(codes, domain, key, kept=None):
    places = [domain.names.index(name) for name in key]
    found = np.zeros([domain[name].size for name in key])
    chosen = codes if kept is None else codes[kept]
    np.add.at(found, tuple(chosen[:, place] for place in places), 1)
    return found


@pytest.mark.parametrize("method", METHODS)
def test_intervals_hold_the_exact_table(method, domain, engine_of, chain):
    codes = chain(1500, seed=4)
    engine = engine_of(codes)
    held, together, cells, asked = 0, 0, 0, 0
    for seed in range(8 if method == "independent" else 3):
        made = run(method, domain, engine, seed)
        for key in ASKED:
            truth = exact_shares(codes, domain, key)
            found = made.intervals(key)
            assert found.estimate.values == pytest.approx(made.project(key).values)
            inside = (found.low <= truth / 1500) & (truth / 1500 <= found.high)
            counts = made.intervals(key, quantity="count", together=True, level=0.9)
            asked += 1
            together += bool(((counts.low <= truth) & (truth <= counts.high)).all())
            held, cells = held + int(inside.sum()), cells + inside.size
    assert held / cells >= 0.95
    assert together / asked >= 0.8
    assert (found.high - found.low).mean() < 0.5


def test_which_tables_were_measured(domain, engine):
    tree = run("mst", domain, engine)
    assert len(tree.measured.rounds) == 2
    assert tree.intervals(["a", "b"]).measured
    assert tree.intervals(["b", "a"]).basis == "measured: a x b"
    assert tree.intervals(["a", "d"]).basis == "bounds from a, d"
    assert len(run("aim", domain, engine).measured.rounds) == 3
    assert run("pairs", domain, engine).intervals(["a", "b", "c"]).basis == "bounds from a x b, a x c, b x c"
    assert run("independent", domain, engine).measured.cells == 12


def test_more_budget_is_narrower_and_a_higher_level_wider(domain, engine):
    widths = [
        np.mean(found.high - found.low)
        for found in (
            run("independent", domain, engine, epsilon=10.0).intervals(["a"]),
            run("independent", domain, engine).intervals(["a"]),
            run("independent", domain, engine).intervals(["a"], together=True),
            run("independent", domain, engine).intervals(["a"], level=0.999),
        )
    ]
    assert widths == sorted(widths)
    assert len(set(widths)) == 4


@pytest.mark.parametrize("method", ["pairs", "independent"])
def test_conditions(method, domain, engine_of, chain):
    codes = chain(4000, seed=2)
    engine = engine_of(codes)
    kept = (codes[:, 0] > 0) & (codes[:, 1] == 1)
    where = ["a in (1, 2)", "b = 1"]
    truth = exact_shares(codes, domain, ("c",), kept)
    some = exact_shares(codes, domain, ("a", "c"), kept)
    for seed in range(4):
        made = run(method, domain, engine, seed, epsilon=5.0)
        found = made.intervals(["c"], where=where)
        assert ((found.low <= truth / kept.sum()) & (truth / kept.sum() <= found.high)).all()
        assert found.estimate.values.sum() == pytest.approx(1)
        counts = made.intervals(["a", "c"], where=where, quantity="count")
        assert ((counts.low <= some) & (some <= counts.high)).all()
        assert (counts.high[0] == 0).all()  # no row of that level meets the conditions
        assert counts.estimate.values.sum() == pytest.approx(kept.sum(), rel=0.6)
    assert made.given(where).measured is None


def test_conditions_are_met_by_some_level():
    domain = Domain(
        attributes=[
            Numeric(name="age", bounds=(0, 90), edges=(0, 30, 60, 90), integer=True),
            Categorical(name="sex", levels=["f", "m"]),
        ]
    )
    masks = masks_of(domain, ["age >= 30", "sex = f", "age < 60"])
    assert {name: mask.tolist() for name, mask in masks.items()} == {
        "age": [False, True, False],
        "sex": [True, False],
    }
    with pytest.raises(InvalidInput, match="no level"):
        masks_of(domain, ["sex = f", "sex = m"])


def test_rules_do_not_move_intervals(domain, engine):
    made = run("independent", domain, engine)
    ruled = made.with_rules(Rules.from_text("rules: [{never: [a = 0, b = 0]}]"))
    assert np.array_equal(ruled.intervals(["a"]).low, made.intervals(["a"]).low)
    assert ruled.intervals(["a"]).estimate.values[0] < made.intervals(["a"]).estimate.values[0]


def test_forms(domain, engine, tmp_path):
    found = run("pairs", domain, engine).intervals(["c", "a"], level=0.9)
    table = found.to_arrow()
    assert table.column_names == ["c", "a", "share", "low", "high"]
    assert table.num_rows == 6
    assert "each with 90 % confidence" in found.claim()
    assert found.facts()["intervals"] == found.claim()
    assert "<svg" in found.plot().svg
    found.save(tmp_path / "shares.xlsx")
    found.save(tmp_path / "shares.json")
    assert found.as_dict()["cells"][0]["low"] == found.low[0, 0]
    assert "low" in found._repr_html_()


def test_a_model_without_tables_has_no_ends(domain, engine):
    made = run("independent", domain, engine)
    old = made.to_json()
    start = old.index(', "measured": {')
    plain = old[:start] + old[old.index('}, "event"', start) + 1 :]  # a file of an older version
    read = Synthesized.from_json(plain)
    assert read.measured is None
    with pytest.raises(InvalidInput, match="no intervals"):
        read.intervals(["a"])
    found = read.intervals(["a"], required=False)
    assert not found.known
    assert found.basis == "none"
    assert "No intervals" in found.claim()
    assert shares(read, ["a"]).column("low").to_pylist() == [None] * 3
    assert "<svg" in found.plot().svg
    again = Synthesized.from_json(old)
    assert np.array_equal(again.intervals(["b", "d"]).high, made.intervals(["b", "d"]).high)


def test_tables_that_lost_rows_give_no_intervals(domain, chain):
    texts = chain(5000).astype(str)
    texts[:2000, 1] = "undeclared"
    frame = pa.table({name: texts[:, at] for at, name in enumerate(domain.names)})
    assert run("independent", domain, LocalEngine(domain, frame)).measured is None


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"attributes": []}, InvalidInput),
        ({"attributes": "a"}, InvalidInput),
        ({"attributes": ["e"]}, UnknownName),
        ({"attributes": ["a", "a"]}, InvalidInput),
        ({"attributes": ["a"], "level": 1.0}, InvalidInput),
        ({"attributes": ["a"], "level": float("nan")}, InvalidInput),
        ({"attributes": ["a"], "level": 1 - 1e-9, "together": True}, InvalidInput),
        ({"attributes": ["a"], "quantity": "sum"}, InvalidInput),
        ({"attributes": ["a"], "where": ["b"]}, InvalidInput),
        ({"attributes": ["a"], "where": ["e = 1"]}, UnknownName),
        ({"attributes": ["a"], "where": ["b = 7"]}, InvalidInput),
    ],
)
def test_wrong_questions_are_refused(domain, engine, asked, error):
    made = run("independent", domain, engine)
    with pytest.raises(error):
        made.intervals(**asked)


def test_noise_that_hides_the_rows_leaves_everything_open(domain, engine_of):
    made = run("independent", domain, engine_of(np.zeros((3, 4), int)), epsilon=0.001)
    found = made.intervals(["a", "b"])
    assert (found.low == 0).all()
    assert (found.high == 1).all()
    assert compute_intervals(None, made.project(["a"]), domain, people=1.0).low.shape == (3,)

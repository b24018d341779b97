"""No made-up row breaks a rule, and rows and tables under rules are the model given that the rules hold."""

import dataclasses
import datetime as dt
import itertools
import json

import numpy as np
import pytest

from tacita.domain import Boolean, Categorical, Date, Domain, Numeric, Ordinal
from tacita.errors import InvalidInput
from tacita.models import BayesianNetwork, synthetic_rows
from tacita.models.mixture import Mixture
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.event import Pure
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize import Independent
from tacita.synthesize.ruled import Ruled
from tacita.synthesize.rules import Rules
from tacita.tables.cells import Cells
from tacita.testing.mechanism import FixedEngine

DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(0, 99), edges=(0, 16, 65, 99), integer=True),
        Boolean(name="married"),
        Ordinal(name="school", levels=("none", "some", "all"), missing=True),
        Numeric(name="years", bounds=(0, 12), edges=(0, 1, 7, 12), integer=True),
        Date(name="start", bounds=(dt.date(2020, 1, 10), dt.date(2020, 12, 20)), by="quarter"),
        Date(name="end", bounds=(dt.date(2020, 1, 1), dt.date(2020, 12, 31)), by="month", missing=True),
    ]
)
RULES = Rules.from_text(
    """
rules:
- {if: age < 16, then: married = false}
- {never: [age >= 65, school = none, married = true]}
- {at_most: [start, end]}
- {follows: years, from: school, as: {none: 0, some: 5, all: 12}}
"""
)


def mixture(domain=DOMAIN, seed=0):
    rng = np.random.default_rng(seed)
    tables = {name: rng.dirichlet(np.ones(domain[name].size), 3) for name in domain.names}
    return Mixture(domain=domain, weights=np.array([0.5, 0.3, 0.2]), tables=tables)


def breaks(row):
    """The rules again, in plain words, on one row of numbers and dates."""
    set_years = {"none": (0, 0), "some": (1, 6), "all": (7, 12)}
    low, high = set_years.get(row["school"], (0, 12))
    return (
        (row["age"] < 16 and row["married"])
        or (row["age"] >= 65 and row["school"] == "none" and row["married"])
        or (row["end"] is not None and row["start"] > row["end"])
        or not low <= row["years"] <= high
    )


@pytest.mark.parametrize("policy", ["low", "mid", "uniform"])
def test_no_row_breaks_a_rule(policy):
    plain = synthetic_rows(DOMAIN, mixture(), 1000, np.random.default_rng(1), event=Pure(epsilon=1.0), policy=policy)
    assert any(breaks(row) for row in plain.to_pylist()), "or the test could not fail"
    model = Ruled(model=mixture(), rules=RULES)
    rows = synthetic_rows(DOMAIN, model, 1000, np.random.default_rng(1), event=Pure(epsilon=1.0), policy=policy)
    assert rows.num_rows == 1000
    assert not any(breaks(row) for row in rows.to_pylist())
    assert json.loads(rows.schema.metadata[b"tacita"])["event"]["kind"] == "pure"


def test_rows_and_tables_are_the_model_given_the_rules():
    """Against the sum over all cells of the model, one by one."""
    base, names = mixture(), ("age", "married", "school", "years", "start", "end")
    joint = base.project(names).values
    expected = np.zeros(joint.shape)
    follow = {0: 0, 1: 1, 2: 2}
    starts = [dt.date(2020, 1, 10), dt.date(2020, 4, 1), dt.date(2020, 7, 1), dt.date(2020, 10, 1)]
    month_ends = [dt.date(2020, 12, 31) if m == 12 else dt.date(2020, m + 1, 1) - dt.timedelta(1) for m in range(1, 13)]
    kept = 0.0
    for cell in itertools.product(*(range(size) for size in joint.shape)):
        age, married, school, years, start, end = cell
        years = follow.get(school, years)
        bad = (age == 0 and married) or (age == 2 and school == 0 and married)
        bad = bad or (end < 12 and starts[start] > month_ends[end])
        if not bad:
            expected[age, married, school, years, start, end] += joint[cell]
            kept += joint[cell]
    model = Ruled(model=base, rules=RULES)
    assert model.refused == pytest.approx(1 - kept)
    assert f"{1 - kept:.2%}" in model.note()
    assert np.allclose(model.project(names).values, expected / kept)
    over = Cells(DOMAIN, expected / kept)
    assert np.allclose(model.project(("end", "age")).values, over.project(("end", "age")).values)
    codes = model.sample(40_000, np.random.default_rng(2))
    for pair in (("age", "married"), ("start", "end"), ("school", "years")):
        counted = np.zeros([DOMAIN[name].size for name in pair])
        np.add.at(counted, tuple(codes[name].astype(int) for name in pair), 1 / 40_000)
        assert np.abs(counted - over.project(pair).values).sum() / 2 < 0.02


def test_rules_stand_in_a_result_and_cost_nothing(tmp_path):
    domain = Domain(attributes=[Categorical(name="a", levels=("x", "y")), Categorical(name="b", levels=("x", "y"))])
    engine = FixedEngine(domain, np.random.default_rng(1).integers(0, 2, (4000, 2)))
    plan = Independent().calibrate(domain, Budget.pure(1.0), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
    made = plan.run(engine, SeededSource(1))
    rules = Rules.from_text("rules: [{if: a = x, then: b = x}]")
    ruled = dataclasses.replace(made, model=Ruled(model=made.model, rules=rules))
    assert ruled.event == made.event
    rows = ruled.sample(500, np.random.default_rng(1)).to_pylist()
    assert {(row["a"], row["b"]) for row in rows} == {("x", "x"), ("y", "x"), ("y", "y")}
    assert ruled.project(("a", "b")).values[0, 1] == 0
    ruled.write(tmp_path / "rows.csv", 100, np.random.default_rng(1))
    assert ruled.model.as_dict()["rules"] == [{"if": ["a = x"], "then": ["b = x"]}]
    assert ruled.sample(0, np.random.default_rng(1)).num_rows == 0


def test_a_rule_that_leaves_nothing_is_refused_and_not_waited_for():
    domain = Domain(attributes=[Boolean(name="a")])
    network = BayesianNetwork(domain=domain, parents={"a": ()}, conditionals={"a": Cells(domain, [1.0, 0.0])})
    model = Ruled(model=network, rules=Rules.from_text("rules: [{never: a = false}]"))
    assert model.refused == pytest.approx(1)
    with pytest.raises(InvalidInput, match="fewer than one row in"):
        model.sample(50, np.random.default_rng(1))
    with pytest.raises(InvalidInput, match="no row"):
        model.project(["a"])


def test_the_share_is_estimated_where_the_table_would_be_too_large(monkeypatch):
    exact = Ruled(model=mixture(), rules=RULES).refused
    monkeypatch.setattr("tacita.synthesize.ruled._EXACT", 10)
    assert Ruled(model=mixture(), rules=RULES).refused == pytest.approx(exact, abs=0.01)


def test_rules_are_read_as_they_are_written(tmp_path):
    (tmp_path / "rules.json").write_text(json.dumps(RULES.as_dict()))
    assert Rules.read(tmp_path / "rules.json") == RULES
    plain = json.loads(json.dumps(Ruled(model=mixture(), rules=RULES).as_dict()))
    again = Ruled.from_dict(plain, Mixture.from_dict)
    assert again.rules == RULES
    assert again.refused == pytest.approx(Ruled(model=mixture(), rules=RULES).refused, abs=1e-6)
    with pytest.raises(InvalidInput, match="ruled/1"):
        Ruled.from_dict({}, Mixture.from_dict)


@pytest.mark.parametrize(
    "text",
    [
        "rules: []",
        "[]",
        "rules: {a: b}",
        "rules: [{when: age < 16}]",
        "rules: [{never: []}]",
        "rules: [{never: age < 20}]",
        "rules: [{if: age < 16, then: nobody = 1}]",
        "rules: [{at_most: [age, start]}]",
        "rules: [{at_most: [school, married]}]",
        "rules: [{at_most: [age]}]",
        "rules: [{follows: years, from: school, as: {best: 1}}]",
        "rules: [{follows: years, from: school, as: {some: many}}]",
        "rules: [{never: ['married < true']}]",
        "rules: [",
    ],
)
def test_bad_rules_are_refused_before_anything_is_drawn(text):
    with pytest.raises(InvalidInput):
        Ruled(model=mixture(), rules=Rules.from_text(text))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InvalidInput, match="cannot be read"):
        Rules.read(tmp_path / "none.yaml")

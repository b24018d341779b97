"""Shrunk columns of a query: which there are, where they come from, what they cost."""

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Boolean, Categorical, Domain, Identifier, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.noise import SecureSource, SeededSource
from tacita.plans.session import Session
from tacita.privacy.budget import Budget
from tacita.privacy.ledger import Ledger
from tacita.privacy.unit import Neighbours, Unit
from tacita.query import Answer
from tacita.query.shrinking import shrink_values
from tacita.query.sql import compile_sql
from tacita.store import Database

ADD = Neighbours.ADD_REMOVE
GROUPS = 80
SHOPS = Domain(
    attributes=[
        Categorical(name="shop", levels=[f"s{at:02d}" for at in range(GROUPS)]),
        Numeric(name="paid", bounds=(0, 100), bins=4),
        Boolean(name="card"),
        Categorical(name="half", levels=("a", "b")),
        Identifier(name="code"),
    ]
)


@pytest.fixture(scope="module")
def sales():
    rng = np.random.default_rng(8)
    shop = rng.integers(0, GROUPS, 6000)
    paid = np.clip(rng.normal(50 + rng.normal(0, 4, GROUPS)[shop], 10), 0, 100)
    table = {
        "shop": [f"s{at:02d}" for at in shop],
        "paid": paid,
        "card": rng.random(6000) < 0.3,
        "half": rng.choice(["a", "b"], 6000),
        "code": [f"c{at}" for at in rng.integers(0, 5, 6000)],
    }
    return LocalEngine(SHOPS, pa.table(table))


def plan_of(sql, shrink="overall", budget=None):
    query = compile_sql(sql, SHOPS, shrink=shrink)
    return query.calibrate(SHOPS, budget or Budget.pure(0.3), unit=Unit.row(), neighbours=ADD)


TEXT = (
    "SELECT shop, COUNT(*) AS n, AVG(paid) AS m, 100 * AVG(paid) AS cents, "
    "COUNT(*) FILTER (WHERE card) / COUNT(*) AS q, STDDEV_POP(paid) AS s FROM sales GROUP BY shop ORDER BY n"
)


def exact(sales, name):
    """The exact statistic of each shop, by NumPy."""
    table = sales._given
    shop = np.array([int(text[1:]) for text in table["shop"].to_pylist()])
    n = np.bincount(shop, minlength=GROUPS)
    of = {"n": np.ones(len(shop)), "m": table["paid"].to_numpy(), "q": np.array(table["card"].to_pylist(), float)}[name]
    total = np.bincount(shop, of, GROUPS)
    return total if name == "n" else total / n


def test_counts_means_and_quotients_are_shrunk_beside_what_they_were(sales):
    plan = plan_of(TEXT)
    answer, plain = plan.run(sales, SeededSource(1)), plan_of(TEXT, "none").run(sales, SeededSource(1))
    shown = ("shop", "n", "n_shrunk", "m", "m_shrunk", "cents", "cents_shrunk", "q", "q_shrunk", "s")
    assert answer.headings == shown
    assert [answer.intervals[name] for name in ("n_shrunk", "m_shrunk", "q_shrunk")] == ["average"] * 3
    for name in plain.columns:
        assert np.array_equal(answer[name].value, plain[name].value)
    # a multiple of a mean is shrunk as the mean is, and a count as a column of one law of noise
    assert answer["cents_shrunk"].value == pytest.approx(100 * answer["m_shrunk"].value)
    alone = shrink_values(plain["n"].value, plain["n"].std, np.ones((GROUPS, 1)), level=0.95, heavy=True)
    assert answer["n_shrunk"].low == pytest.approx(alone.low)
    assert Answer.from_json(answer.to_json()).to_json() == answer.to_json()


def test_means_and_shares_are_nearer_and_intervals_hold_on_average(sales):
    plan, runs = plan_of(TEXT.replace(" ORDER BY n", "")), 5
    answers = [plan.run(sales, SeededSource(seed)) for seed in range(runs)]
    for name in ("n", "m", "q"):
        truth = exact(sales, name)
        errors = {
            head: np.mean([np.nanmean((answer[head].value - truth) ** 2) for answer in answers])
            for head in (name, f"{name}_shrunk")
        }
        assert errors[f"{name}_shrunk"] < 0.97 * errors[name]
        columns = [answer[f"{name}_shrunk"] for answer in answers]
        assert np.mean([(c.low <= truth) & (truth <= c.high) for c in columns]) >= 0.92


def test_shrinking_is_no_part_of_the_question_and_costs_nothing(sales, tmp_path):
    ledger = Ledger(Database(f"sqlite:///{tmp_path / 'state.db'}"))
    ledger.open("sales", unit=Unit.row(), neighbours=ADD, budget=Budget.pure(1.0))
    session = Session(engine=sales, ledger=ledger, account="sales", principal="me", source=SecureSource())
    session.ask(plan_of(TEXT, "none"), repeat=False)
    spent = session.balance().spent
    answer = session.ask(plan_of(TEXT, "overall"), repeat=False)
    assert session.balance().spent == spent
    assert "m_shrunk" in answer.columns
    assert answer.provenance.recipe["after"]["shrink"] == "overall"


@pytest.mark.parametrize(
    ("sql", "match"),
    [
        ("SELECT shop, COUNT(*) AS n FROM sales GROUP BY shop HAVING COUNT(*) > 10", "needs all groups"),
        ("SELECT shop, COUNT(*) AS n FROM sales GROUP BY shop ORDER BY n LIMIT 20", "needs all groups"),
        ("SELECT MAX(n) FROM (SELECT shop, COUNT(*) AS n FROM sales GROUP BY shop) AS t", "needs all groups"),
        ("SELECT COUNT(*) AS n FROM sales", "at least 10 groups"),
        ("SELECT half, COUNT(*) AS n FROM sales GROUP BY half", "at least 10 groups"),
        ("SELECT shop, MEDIAN(paid) AS n FROM sales GROUP BY shop", "can be shrunk"),
        ("SELECT shop, COUNT(*) AS n, 1 AS n_shrunk FROM sales GROUP BY shop", "name of a shrunk column"),
    ],
)
def test_what_cannot_be_shrunk_is_refused_before_anything_is_charged(sql, match):
    with pytest.raises(InvalidInput, match=match):
        plan_of(sql)


def test_few_private_keys_leave_the_measured_values_and_a_reason(sales):
    plan = plan_of("SELECT code, COUNT(*) AS n FROM sales GROUP BY code", budget=Budget.approx(2.0, 1e-4))
    answer = plan.run(sales, SeededSource(1))
    assert not answer.columns
    assert answer.measured is not None
    with pytest.raises(InvalidInput, match="at least 10 groups"):
        plan.read(answer.to_json())


def test_two_attributes_have_effects_of_their_own(sales):
    answer = plan_of("SELECT shop, half, COUNT(*) AS n FROM sales GROUP BY shop, half", "additive").run(
        sales, SeededSource(1)
    )
    assert answer["n_shrunk"].value.shape == (2 * GROUPS,)


@pytest.mark.parametrize("rows", [0, 3000])
def test_shrunk_means_stay_within_the_public_bounds_or_are_unknown(rows):
    rng = np.random.default_rng(rows)
    shops = [f"s{at:02d}" for at in rng.integers(0, GROUPS, rows)]
    table = pa.table(
        {
            "shop": pa.array(shops, pa.string()),
            "paid": pa.array(rng.choice([0.0, 100.0], rows), pa.float64()),
            "card": pa.array(["true"] * rows, pa.string()),
            "half": pa.array(["a"] * rows, pa.string()),
            "code": pa.array([str(at) for at in range(rows)], pa.string()),
        }
    )
    seen = []
    for seed in range(12):
        plan = plan_of("SELECT shop, AVG(paid) AS m FROM sales GROUP BY shop", budget=Budget.pure(0.2))
        held = plan.run(LocalEngine(SHOPS, table), SeededSource(seed)).columns["m_shrunk"]
        seen.append(held)
        for each in (held.value, held.low, held.high):
            assert np.isnan(each).all() or ((each >= 0) & (each <= 100)).all()
    assert any(np.isnan(held.value).all() for held in seen) == (rows == 0)

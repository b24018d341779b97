"""Masks, order, training rows, missing values and kinds, on people with a known dependence."""

import json

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Categorical, Domain, Identifier, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import BudgetExceeded, DataError, InvalidInput, NotPublic
from tacita.noise import SecureSource, SeededSource
from tacita.plans.session import Session
from tacita.privacy.budget import Budget
from tacita.privacy.ledger import Ledger
from tacita.privacy.unit import Neighbours, Unit
from tacita.store import Database
from tacita.synthesize.imputation import Cart, Impute, Linear, Replace

ROW, ADD = Unit.row(), Neighbours.ADD_REMOVE


def back_in_order(result, place=0):
    """A partial release with its rows where the data has them."""
    return result.releases[place].take(pa.array(np.argsort(result.origins[place])))


def column(rows, name):
    return rows[name].to_pandas().to_numpy(float)


@pytest.mark.parametrize("backend", ["linear", "cart", "forest", "network"])
def test_only_masked_cells_change(imputed, table, backend):
    result = imputed(backend=backend, m=2, replace=("income: income > 45000", "age: age < 26"))
    income, age = column(table, "income"), column(table, "age")
    for place in (0, 1):
        rows = back_in_order(result, place)
        for name, masked in (("income", income > 45_000), ("age", age < 26)):
            before, after = column(table, name), column(rows, name)
            changed = ~((before == after) | (np.isnan(before) & np.isnan(after)))
            assert not changed[~masked].any(), "masks are for each attribute"
            assert changed[masked].mean() > 0.5
        for name in ("school", "job", "since", "member"):
            assert rows[name].to_pylist() == table[name].to_pylist()
    assert rows.schema.types == table.schema.types, "values have the types of their attributes"


def test_releases_are_draws_of_their_own(imputed):
    first, second = imputed(m=2, replace=("income",), backend="cart").releases
    assert set(first["income"].drop_null().to_pylist()).isdisjoint(second["income"].drop_null().to_pylist())


def test_the_order_of_rows_tells_nothing(imputed, table):
    result = imputed(m=2, replace=("member",))
    assert not np.array_equal(result.origins[0], result.origins[1])
    assert result.releases[0]["since"].to_pylist() != table["since"].to_pylist()
    again = table["since"].take(pa.array(result.origins[0]))
    assert result.releases[0]["since"].to_pylist() == again.to_pylist()


def test_training_on_the_rows_that_stay_cannot_know_the_others(imputed, table):
    """Incomes above a threshold, learned from those below it, come out below it."""
    wrong = imputed(m=2, replace=("income: income > 50000",), train_on="unreplaced", backend="cart")
    right = imputed(m=2, replace=("income: income > 50000",), train_on="auto", backend="cart")
    truth = np.nanmean(column(table, "income"))
    assert np.nanmean(column(wrong.releases[0], "income") > 50_000) < 0.01, "but for smoothing"
    assert np.nanmean(column(wrong.releases[0], "income")) < truth - 300
    assert np.nanmean(column(right.releases[0], "income")) == pytest.approx(truth, abs=250)
    assert "learned from such rows" in right.notes[0]
    few = imputed(m=2, replace=("income: income > 59000",), backend="cart")
    assert "learned from all rows" in few.notes[0]


def test_fitting_to_drawn_values_weakens_dependence():
    """x is drawn without a look at y. Then y, fitted to drawn x, does not follow it; fitted to the true x, it does."""
    rng = np.random.default_rng(1)
    domain = Domain(attributes=[Numeric(name=name, bounds=(-6, 6), bins=10) for name in ("x", "y")])
    x = rng.normal(0, 1, 4000)
    engine = LocalEngine(domain, pa.table({"x": x, "y": x + rng.normal(0, 0.6, 4000)}))

    def correlation(fit_on):
        recipe = Impute(replace=("x", "y"), fit_on=fit_on, backend=Linear(), m=2, train_on="all", given="before")
        rows = recipe.calibrate(domain, None, unit=ROW, neighbours=ADD).run(engine, SeededSource(1)).releases[0]
        return np.corrcoef(column(rows, "x"), column(rows, "y"))[0, 1]

    assert correlation("original") == pytest.approx(1 / np.sqrt(1.36), abs=0.03)
    assert abs(correlation("synthetic_prefix")) < 0.1


@pytest.mark.parametrize("backend", ["linear", "cart", "forest", "network"])
def test_all_attributes_made_up_keep_what_goes_with_what(imputed, table, backend):
    result = imputed(kind="all", backend=backend, m=2, rows=3000)
    rows = result.releases[0]
    assert rows.num_rows == 3000
    assert (result.origins[0] == -1).all()
    income, truth = column(rows, "income"), column(table, "income")
    assert np.nanmean(income) == pytest.approx(np.nanmean(truth), rel=0.05)
    assert np.isnan(income).mean() == pytest.approx(np.isnan(truth).mean(), abs=0.03)
    assert rows["job"].null_count / 3000 == pytest.approx(table["job"].null_count / 1500, abs=0.03)
    held = ~np.isnan(income)
    assert np.corrcoef(column(rows, "age")[held], income[held])[0, 1] > 0.3
    assert np.mean(column(rows, "age")) == pytest.approx(np.mean(column(table, "age")), abs=2.5)
    assert "every cell" in result.statement()


def test_missing_cells_stay_or_are_filled(imputed, table):
    kept = imputed(m=2, replace=("income", "job"), missing="keep")
    filled = imputed(m=2, replace=("income", "job"), missing="impute")
    for name in ("income", "job"):
        gone = table[name].is_null().to_pylist()
        assert back_in_order(kept)[name].is_null().to_pylist() == gone, "the pattern stays"
        assert filled.releases[0][name].null_count == 0
    whole = imputed(kind="all", m=2, missing="impute")
    assert whole.releases[0]["income"].null_count + whole.releases[0]["job"].null_count == 0


def test_missing_cells_are_filled_also_where_a_mask_leaves_them(imputed, table):
    rows = back_in_order(imputed(m=2, replace=("income: income > 50000",), missing="impute", train_on="all"))
    before, after = column(table, "income"), column(rows, "income")
    assert not np.isnan(after).any()
    assert np.array_equal(before[before <= 50_000], after[before <= 50_000])


def test_a_frame_tells_what_it_knows_and_the_rest_is_drawn(imputed, people, domain):
    others = people(4000, seed=9)
    known = [name for name in domain.names if name not in ("income", "job")]
    frame = LocalEngine(domain.project(known), others.select(known))
    result = imputed(kind="frame", replace=("income", "job"), m=2, rows=1000, frame=frame)
    rows = result.releases[0]
    assert (result.origins[0] == -1).all(), "no real row is in it"
    given = set(zip(*(others[name].to_pylist() for name in known), strict=True))
    assert set(zip(*(rows[name].to_pylist() for name in known), strict=True)) <= given
    held = ~np.isnan(column(rows, "income"))
    assert np.corrcoef(column(rows, "age")[held], column(rows, "income")[held])[0, 1] > 0.35
    mixed = imputed(kind="frame", replace=("income", "job"), m=2, rows=1000, frame=frame, with_sample=True)
    assert np.mean(mixed.origins[0] >= 0) == pytest.approx(1500 / 5500, abs=0.06)


def test_the_rule_goes_with_the_kind(imputed, table):
    def mean(rows):
        values = column(rows, "age")
        return values.mean(), values.var(ddof=1) / len(values)

    partial = imputed(m=5, replace=("age",), backend="linear").estimate(mean)
    assert partial.variance == pytest.approx(partial.within + partial.between / 5)
    full = imputed(m=5, kind="all", backend="linear", rows=6000).estimate(mean)
    assert full.fallback or full.variance == pytest.approx(1.2 * full.between - full.within)


def test_no_account_can_be_charged_for_it(engine, tmp_path):
    ledger = Ledger(Database(f"sqlite:///{tmp_path}/state.db"))
    ledger.open("people", unit=ROW, neighbours=ADD, budget=Budget.approx(1000.0, 0.1))
    plan = Impute(replace=("age",), m=2).calibrate(engine.domain, Budget.pure(1.0), unit=ROW, neighbours=ADD)
    session = Session(engine=engine, ledger=ledger, account="people", principal="p", source=SecureSource())
    with pytest.raises(BudgetExceeded):
        session.ask(plan)
    assert session.balance().spent == 0
    assert plan.as_dict()["guarantee"] == "none"
    with pytest.raises(InvalidInput):
        plan.read("{}")


def test_identifiers_never_leave(table):
    domain = Domain(
        person="name", attributes=[Identifier(name="name"), Numeric(name="age", bounds=(18, 80), integer=True)]
    )
    rows = pa.table({"name": [f"p{i}" for i in range(1500)], "age": table["age"]})
    plan = Impute(replace=("age",), m=2).calibrate(
        domain, None, unit=Unit.of_person("name", max_rows=1), neighbours=ADD
    )
    assert plan.run(LocalEngine(domain, rows), SeededSource(1)).releases[0].column_names == ["age"]


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"replace": ("age",), "m": 1}, "m"),
        ({"replace": ()}, "replace"),
        ({"replace": ("age", "age")}, "replace"),
        ({"replace": ("age",), "backend": "oracle"}, "backend"),
        ({"replace": ("age",), "backends": {"age": "oracle"}}, "backend"),
        ({"replace": ("age",), "rows": 10}, "rows"),
        ({"replace": ("age",), "kind": "half"}, "kind"),
        ({"replace": ("age: age < 20",), "kind": "frame"}, "replace"),
        ({"kind": "all", "fit_on": "synthetic_prefix"}, "fit_on"),
        ({"kind": "all", "train_on": "all"}, "train_on"),
        ({"kind": "all", "given": "before"}, "given"),
        ({"kind": "all", "rows": 0}, "rows"),
    ],
)
def test_bad_recipes(settings, field):
    with pytest.raises(InvalidInput) as refused:
        Impute(**settings)
    assert refused.value.field == field


def test_bad_plans_and_data(domain, engine, people):
    def planned(recipe, over=domain):
        return recipe.calibrate(over, None, unit=ROW, neighbours=ADD)

    with pytest.raises(InvalidInput):
        planned(Impute(replace=("nobody",)))
    with pytest.raises(InvalidInput, match="attributes"):
        planned(Impute(replace=("age: school = some",), attributes=("age", "income")))
    with pytest.raises(InvalidInput, match="all attributes"):
        planned(Impute(kind="all", replace=("age",)))
    drafted = Domain(attributes=[domain["age"].model_copy(update={"derived": ("bounds",)})])
    with pytest.raises(NotPublic):
        planned(Impute(replace=("age",)), drafted)
    wide = Categorical(name="shop", levels=[str(i) for i in range(3000)])
    with pytest.raises(InvalidInput, match="shop"):
        planned(Impute(replace=("shop",)), Domain(attributes=[wide]))
    plan = planned(Impute(replace=("age",), m=2))
    for rows in (0, 1):
        with pytest.raises(InvalidInput, match="at least 10 rows"):
            plan.run(LocalEngine(domain, people(rows)), SeededSource(1))
    with pytest.raises(InvalidInput, match="frame"):
        plan.run(engine, SeededSource(1), frame=engine)
    with pytest.raises(InvalidInput, match="frame"):
        planned(Impute(kind="frame", replace=("age",))).run(engine, SeededSource(1))
    with pytest.raises(InvalidInput, match="no rows to learn"):
        planned(Impute(replace=("age",), m=2, train_on="unreplaced")).run(engine, SeededSource(1))
    strange = people(50).set_column(3, "job", pa.array(["z"] * 50))
    with pytest.raises(DataError, match="without a place") as refused:
        plan.run(LocalEngine(domain, strange), SeededSource(1))
    assert "'z'" not in str(refused.value)


def test_recipes_are_plain_data():
    recipe = Impute(replace=("income: income > 10",), backends={"income": Cart(least=9)})
    plain = json.loads(json.dumps(recipe.as_dict()))
    assert plain["replace"] == ["income: income > 10"]
    assert plain["backends"]["income"] == {"backend": "cart", "least": 9}
    assert Replace.parse("age").as_dict() == {"attribute": "age", "where": []}


def test_a_mask_that_meets_nobody_is_said(imputed):
    assert "no cell was replaced" in imputed(m=2, replace=("age: age > 200",)).notes[0]


def test_columns_of_text_are_read_as_their_attributes(tmp_path):
    (tmp_path / "p.csv").write_text("n,c\n" + "".join(f"{i % 7},{'ab'[i % 2]}\n" for i in range(60)) + ",a\n")
    domain = Domain(
        attributes=[
            Numeric(name="n", bounds=(0, 6), integer=True, missing=True),
            Categorical(name="c", levels=("a", "b")),
        ]
    )
    plan = Impute(replace=("c",), m=2).calibrate(domain, None, unit=ROW, neighbours=ADD)
    rows = plan.run(LocalEngine(domain, tmp_path / "p.csv"), SeededSource(1)).releases[0]
    assert rows["n"].type == pa.int64()
    assert sorted(rows["n"].drop_null().to_pylist()) == sorted(i % 7 for i in range(60))
    assert rows["n"].null_count == 1


def test_what_is_replaced_is_not_looked_at(table, domain):
    """With `before`, two data sets that differ in replaced columns of one row alone draw that row alike."""
    changed = table.to_pylist()
    changed[0] |= {"age": 80 if changed[0]["age"] < 50 else 18, "income": 90_000.0}
    recipe = Impute(replace=("income", "age"), given="before", backend=_Echo(), m=2, train_on="all")
    plan = recipe.calibrate(domain, None, unit=ROW, neighbours=ADD)
    first, second = (
        back_in_order(plan.run(LocalEngine(domain, each), SeededSource(1)))
        for each in (table, pa.Table.from_pylist(changed, table.schema))
    )
    for name in ("income", "age"):
        assert first[name][0] == second[name][0]
    seeing = Impute(replace=("income", "age"), given="others", backend=_Echo(), m=2, train_on="all")
    plan = seeing.calibrate(domain, None, unit=ROW, neighbours=ADD)
    first, second = (
        back_in_order(plan.run(LocalEngine(domain, each), SeededSource(1)))
        for each in (table, pa.Table.from_pylist(changed, table.schema))
    )
    assert first["income"][0] != second["income"][0]


class _Echo:
    """Draws nothing: the value is the sum of what it is given, so that every feature shows."""

    def fit(self, features, values, target, rng):
        return lambda rows, rng: target.inside(20 + 10 * rows.sum(axis=1))

    def as_dict(self):
        return {"backend": "echo"}


@pytest.mark.parametrize("kind", ["partial", "all"])
def test_columns_without_a_value_or_with_one(kind):
    """Nothing to learn from a column is no reason to fail."""
    domain = Domain(
        attributes=[
            Numeric(name="gone", bounds=(0, 1), bins=2, missing=True),
            Categorical(name="same", levels=("a", "b")),
            Numeric(name="one", bounds=(0, 9), integer=True),
        ]
    )
    rows = pa.table({"gone": pa.array([None] * 40, pa.float64()), "same": ["b"] * 40, "one": [3] * 40})
    for backend in ("linear", "cart", "forest", "network"):
        recipe = Impute(kind=kind, replace=("gone", "same", "one"), backend=backend, m=2)
        made = recipe.calibrate(domain, None, unit=ROW, neighbours=ADD).run(LocalEngine(domain, rows), SeededSource(1))
        assert made.releases[0].to_pylist() == [{"gone": None, "same": "b", "one": 3}] * 40

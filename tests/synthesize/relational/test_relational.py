"""Two tables with privacy for the person: all neighbours of small data, cost, and what joins."""

import itertools
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacita.domain import Boolean, Categorical, Domain, Identifier, Numeric
from tacita.engines.linked import Linked, linked_domain
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput, NotPublic
from tacita.noise import SecureSource, SeededSource
from tacita.plans.additive import table_event
from tacita.plans.session import Session
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget, exact
from tacita.privacy.event import Repeated
from tacita.privacy.ledger import Ledger
from tacita.privacy.unit import Neighbours, Unit
from tacita.store import Database
from tacita.synthesize import Independent, PrivBayes
from tacita.synthesize.marginals import EMPTY
from tacita.synthesize.relational.related import Related
from tacita.synthesize.relational.relational import Relational

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
PARENTS = Domain(
    person="id",
    attributes=[Identifier(name="id"), Categorical(name="town", levels=("A", "B", "C")), Boolean(name="rich")],
)
CHILDREN = Domain(
    person="of",
    attributes=[
        Identifier(name="visit"),
        Identifier(name="of"),
        Categorical(name="kind", levels=("x", "y", "z")),
        Numeric(name="price", bounds=(0, 100), edges=(0, 10, 50, 100), missing=True),
    ],
)
MOST = 3
UNIT = Unit.of_person("id", max_rows=MOST)
SMALL = {"components": 60, "fits": 1}


def people(rows, seed=0):
    """The rich have more visits; what is bought follows the town; what it costs follows what it is."""
    rng = np.random.default_rng(seed)
    town, rich = rng.integers(0, 3, rows), rng.random(rows) < 0.4
    parents = pa.table({"id": [f"p{i}" for i in range(rows)], "town": np.array(list("ABC"))[town], "rich": rich})
    number = np.where(rich, rng.integers(2, 6, rows), rng.integers(0, 2, rows))
    of = np.repeat(np.arange(rows), number)
    kind = np.where(rng.random(of.size) < 0.8, town[of], rng.integers(0, 3, of.size))
    price = pa.array((kind * 30 + 5).astype(float), mask=rng.random(of.size) < 0.1)
    children = pa.table(
        {
            "visit": [f"v{i}" for i in range(of.size)],
            "of": [f"p{i}" for i in of],
            "kind": np.array(list("xyz"))[kind],
            "price": price,
        }
    )
    return parents, children


def linked(parents, children, most=MOST):
    return Linked(parents=LocalEngine(PARENTS, parents), children=LocalEngine(CHILDREN, children), most=most)


def planned(budget=None, neighbours=ADD, **settings):
    recipe = Relational(most=MOST, **(SMALL | settings))
    return recipe.calibrate(PARENTS, CHILDREN, budget or Budget.zcdp(1.0), unit=UNIT, neighbours=neighbours)


@pytest.fixture(scope="module")
def pair():
    return linked(*people(8000))


@pytest.fixture(scope="module")
def made(pair):
    return planned().run(pair, SeededSource(1))


# -- all neighbours of small data ---------------------------------------------------------------------------------

TINY = Domain(person="id", attributes=[Identifier(name="id"), Boolean(name="a")])
LITTLE = Domain(person="of", attributes=[Identifier(name="of"), Boolean(name="b"), Boolean(name="c")])


def tiny(persons):
    """Engines of people who are (parents' rows, children's rows)."""
    above = [(key, a) for key, (rows, _) in persons.items() for a in rows]
    below = [(key, *row) for key, (_, rows) in persons.items() for row in rows]
    parents = pa.table(
        {"id": pa.array([r[0] for r in above], pa.string()), "a": pa.array([r[1] for r in above], pa.bool_())}
    )
    children = pa.table(
        {
            "of": pa.array([r[0] for r in below], pa.string()),
            "b": pa.array([r[1] for r in below], pa.bool_()),
            "c": pa.array([r[2] for r in below], pa.bool_()),
        }
    )
    return Linked(parents=LocalEngine(TINY, parents), children=LocalEngine(LITTLE, children), most=2)


def every_person():
    """With no, one or two rows of a parent, and up to three children, which is more than count."""
    rows = list(itertools.product([False, True], repeat=2))
    for above in ([], [True], [False], [False, True]):
        for number in range(4):
            for below in itertools.combinations_with_replacement(rows, number):
                yield above, list(below)


def counted(plan, pair):
    """All exact tables that the plan adds noise to, with the rows of a person that each may hold."""
    for part, engine in ((plan.first.tables, pair.by_parent), (plan.second, pair.by_child)):
        tables = engine.tables(part.workload, part.unit)
        for key in part.workload:
            yield part.unit.max_rows, tables[key].values.astype(int)


def test_a_person_moves_no_table_by_more_than_was_charged():
    """Every person against several companies of others, removed with all of its rows; both parts, L1 and L2."""
    plan = Relational(most=2, **SMALL).calibrate(
        TINY, LITTLE, Budget.zcdp(1.0), unit=Unit.of_person("id", max_rows=2), neighbours=ADD
    )
    companies = [
        {},
        {"q": ([True], [(True, False), (True, False), (False, True)]), "r": ([False], [])},
        {"q": ([], [(True, True)]), "s": ([True, False], [(False, False)] * 3)},
    ]
    seen = {1: 0, 2: 0}
    for others in companies:
        without = list(counted(plan, tiny(others)))
        for person in every_person():
            for (most, before), (_, after) in zip(without, counted(plan, tiny(others | {"p": person})), strict=True):
                moved = np.abs(after - before).sum()
                assert moved <= most
                assert np.sqrt(((after - before) ** 2).sum()) <= most
                assert ((after - before) >= 0).all(), "nothing changes for others"
                seen[most] = max(seen[most], int(moved))
    assert seen == {1: 1, 2: 2}, "the bounds are reached, so that less noise would be too little"


def test_the_event_is_read_off_the_laws_that_draw():
    for neighbours in (ADD, REPLACE):
        plan = planned(neighbours=neighbours)
        assert plan.second.unit.max_rows == MOST
        (law,) = set(plan.second.laws)
        one = table_event(law, UNIT, neighbours)
        times = len(plan.second.laws) * (one.count if isinstance(one, Repeated) else 1)
        assert plan.second.event == Repeated(event=getattr(one, "event", one), count=times)
        assert plan.event.events == (plan.first.event, plan.second.event)
        assert plan.first.unit.max_rows == 1


@pytest.mark.parametrize("budget", [Budget.pure(1.0), Budget.approx(1.0, 1e-6), Budget.zcdp(0.1)], ids=str)
@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
@pytest.mark.parametrize("share", [0.5, 0.2])
def test_both_parts_cost_the_budget_and_no_more(budget, neighbours, share):
    for parents in (Independent(), PrivBayes()):
        plan = planned(budget, neighbours, share=share, parents=parents)
        spent = cost([(plan.event, 1)], budget, neighbours)
        assert 0.97 * exact(budget.amount) < spent <= exact(budget.amount)
        assert plan.as_dict()["cost"] == pytest.approx(float(spent))


def test_more_children_need_more_noise():
    stds = []
    for most in (1, 2, 4):
        recipe = Relational(most=most, **SMALL)
        unit = Unit.of_person("id", max_rows=most)
        plan = recipe.calibrate(PARENTS, CHILDREN, Budget.pure(1.0), unit=unit, neighbours=ADD)
        stds.append(plan.second.laws[0].std)
    assert stds[1] / stds[0] == pytest.approx(2, rel=0.05)
    assert stds[2] / stds[0] == pytest.approx(4, rel=0.05)


# -- linking ------------------------------------------------------------------------------------------------------


def test_counting_by_parent_and_by_child():
    parents = pa.table({"id": ["1", "2", "2", None, "3"], "town": ["A", "C", "B", "A", "C"], "rich": [True] * 5})
    children = pa.table(
        {
            "visit": ["v"] * 8,
            "of": ["1", "1", "1", "1", "2", "9", None, "2"],
            "kind": ["x", "y", "z", "x", "y", "z", "z", "q"],
            "price": [1.0] * 8,
        }
    )
    both = linked(parents, children)
    by_parent = both.by_parent.project(["town", "children"]).values
    assert by_parent[0, 3] == 1, "of four children three count"
    assert by_parent[1, 2] == 1, "of two rows of a parent one counts; a child counts whatever its values are"
    assert by_parent[2, 0] == 1
    assert by_parent.sum() == 3, "nobody has no key"
    assert both.by_child.project(["town"]).values.tolist() == [4, 2, 0], "children of nobody are left out"


def test_numbers_can_be_keys():
    parents = pa.table({"id": [1, 2], "town": ["A", "B"], "rich": [True, False]})
    children = pa.table({"visit": ["v"], "of": ["2"], "kind": ["x"], "price": [1.0]})
    assert linked(parents, children).by_child.project(["town"]).values.tolist() == [0, 1, 0]


def test_no_rows_at_all_are_answered_not_refused():
    parents, children = people(1)
    made = planned().run(linked(parents.slice(0, 0), children.slice(0, 0)), SeededSource(3))
    assert any(EMPTY in note for note in made.notes)
    first, second = made.sample(50, np.random.default_rng(1))
    assert first.num_rows == 50
    assert set(second["of"].to_pylist()) <= set(first["id"].to_pylist())


# -- what comes out -----------------------------------------------------------------------------------------------


def test_the_tables_join_and_respect_the_bound(made):
    for keys in ("sequence", "random"):
        parents, children = made.sample(4000, np.random.default_rng(1), keys=keys)
        assert parents.column_names == ["id", "town", "rich"]
        assert children.column_names == ["of", "kind", "price"], "children's own keys are left out"
        ids = parents["id"].to_pylist()
        assert len(set(ids)) == 4000
        assert set(children["of"].to_pylist()) <= set(ids)
        number = children.group_by("of").aggregate([("kind", "count")])["kind_count"].to_pylist()
        assert max(number) == MOST
        assert not {"p0", "p1"} & set(map(str, ids)), "no key of the data"


def test_what_goes_with_what_is_kept_between_the_tables(made, pair):
    parents, children = made.sample(8000, np.random.default_rng(2))
    joined = children.join(parents, keys="of", right_keys="id")
    table = np.zeros((3, 3))
    for town, kind in zip(joined["town"].to_pylist(), joined["kind"].to_pylist(), strict=True):
        table["ABC".index(town), "xyz".index(kind)] += 1 / joined.num_rows
    truth = pair.by_child.project(["town", "kind"]).normalize().values
    alone = np.outer(truth.sum(axis=1), truth.sum(axis=0))
    assert np.abs(table - truth).sum() / 2 < 0.04
    assert np.abs(alone - truth).sum() / 2 > 0.3, "or the test could not fail"
    number = dict(zip(parents["id"].to_pylist(), [0] * 8000, strict=True))
    for key in children["of"].to_pylist():
        number[key] += 1
    rich = np.array(parents["rich"].to_pylist())
    counts = np.array(list(number.values()))
    assert counts[rich].mean() == pytest.approx(2.75, abs=0.15)
    assert counts[~rich].mean() == pytest.approx(0.5, abs=0.15)
    assert joined["price"].null_count / joined.num_rows == pytest.approx(0.1, abs=0.03)


def test_it_says_what_it_is_and_reads_itself(made, pair):
    assert "NOT private" in made.statement()
    assert "person:id:3" in made.statement()
    again = Related.from_json(made.to_json())
    assert again.event == made.event
    one, two = (each.sample(200, np.random.default_rng(1))[1].to_pylist() for each in (made, again))
    assert one == two
    assert np.allclose(made.project(("town", "rich")).values, made.parents.project(("town", "rich")).values)
    assert made.supports(("town", "kind"))
    assert made.project(("town", "kind")).sum() == pytest.approx(1)
    with pytest.raises(InvalidInput, match="related/1"):
        Related.from_json("{}")
    real = planned(parents=Independent()).run(pair, SecureSource())
    assert "NOT private" not in real.statement()
    assert (made.guarantee, real.guarantee) == ("none", "central")


def test_a_session_charges_it_once(pair, tmp_path):
    ledger = Ledger(Database(f"sqlite:///{tmp_path}/state.db"))
    ledger.open("people", unit=UNIT, neighbours=ADD, budget=Budget.pure(1.0))
    session = Session(engine=pair, ledger=ledger, account="people", principal="p", source=SecureSource())
    plan = planned(Budget.pure(0.75), parents=Independent())
    first = session.ask(plan, key="k")
    assert session.ask(plan, key="k").to_json() == first.to_json()
    assert math.isclose(float(session.balance().spent), 0.75, rel_tol=1e-3)
    assert first.provenance.charge is not None


def test_both_files_appear_together(made, tmp_path):
    files = made.write(tmp_path / "out", 100, np.random.default_rng(1), policy="uniform")
    assert [file.name for file in files] == ["parents.parquet", "children.parquet"]
    assert pq.read_table(files[1])["price"].type == "double"
    assert (tmp_path / "out" / "release.json").is_file()


def test_refusals(made, pair):
    def refused(match, *domains, kind=InvalidInput, unit=UNIT, **settings):
        with pytest.raises(kind, match=match):
            Relational(**({"most": MOST} | settings)).calibrate(
                *(domains or (PARENTS, CHILDREN)), Budget.pure(1.0), unit=unit, neighbours=ADD
            )

    refused("most", most=0)
    refused("most", most=2)
    refused("share", share=1.0)
    refused("components", components=0)
    refused("unit", unit=Unit.row())
    refused("person", PARENTS.project(["town"]), CHILDREN)
    refused("distinct", PARENTS, CHILDREN, count="town")
    draft = CHILDREN["kind"].model_copy(update={"derived": ("levels",)})
    refused("private data", PARENTS, Domain(person="of", attributes=[CHILDREN["of"], draft]), kind=NotPublic)
    refused("nulls", PARENTS, CHILDREN.model_copy(update={"nulls": ("", "?")}))
    refused("counted", Domain(person="id", attributes=[Identifier(name="id")]), CHILDREN)
    wide = Categorical(name="shop", levels=[str(i) for i in range(3000)])
    refused("shop", PARENTS, Domain(person="of", attributes=[CHILDREN["of"], wide]))
    assert linked_domain(PARENTS, CHILDREN, most=3)["children"].size == 4
    with pytest.raises(InvalidInput, match="schemas"):
        planned().run(linked(*people(5), most=2), SeededSource(1))
    with pytest.raises(InvalidInput, match="parents"):
        made.sample(-1, np.random.default_rng(1))

"""Joins along the person key: against a join by hand, and against all neighbours."""

import itertools
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Categorical, Domain, Identifier, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.privacy.accountant import pure_epsilon
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.query import Aggregate, Aggregates
from tacita.query.joined import Joined, joined_domain
from tacita.tables.workload import Workload

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
VISITS = Domain(
    person="who",
    attributes=[Identifier(name="who"), Numeric(name="cost", bounds=(0, 4), bins=2)],
)
PATIENTS = Domain(
    person="who",
    attributes=[Identifier(name="who"), Categorical(name="sex", levels=("f", "m"))],
)
M = 2
UNIT = Unit.of_person("who", max_rows=M)
OTHERS = [("p", 1.0), ("p", 3.0), ("q", 4.0)], [("p", "f"), ("q", "m"), ("q", "f")]
MINE = [
    ([("z", cost) for cost in costs], [("z", sex) for sex in sexes])
    for n in range(4)
    for k in range(3)
    for costs in itertools.combinations_with_replacement((0.5, 4.0), n)
    for sexes in itertools.combinations_with_replacement(("f", "m"), k)
]


def engine(domain, rows):
    names = domain.names
    columns = list(zip(*rows, strict=True)) if rows else [(), ()]
    kinds = [pa.string(), pa.float64() if "cost" in names else pa.string()]
    return LocalEngine(domain, pa.table({n: pa.array(c, t) for n, c, t in zip(names, columns, kinds, strict=True)}))


def joined(visits, patients):
    return Joined(one=engine(VISITS, visits), two=engine(PATIENTS, patients), unit=UNIT)


@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
@pytest.mark.parametrize(
    "recipe",
    [
        Aggregates(aggregates=[Aggregate(kind="count")], by=["sex"]),
        Aggregates(aggregates=[Aggregate(kind="sum", column="cost")], by=["sex"]),
        Aggregates(aggregates=[Aggregate(kind="sum", column="cost")]),
        Aggregates(aggregates=[Aggregate(kind="persons")], by=["sex"]),
        Aggregates(aggregates=[Aggregate(kind="mean", column="cost")]),
    ],
)
def test_no_neighbour_of_a_join_loses_more_than_was_claimed(recipe, neighbours):
    """A person comes with up to three rows of one table and two of the other, or is replaced by another."""
    domain = joined_domain(VISITS, PATIENTS)
    plan = recipe.calibrate(domain, Budget.pure(1.0), unit=UNIT, neighbours=neighbours)
    exact = [plan.exact(joined(OTHERS[0] + visits, OTHERS[1] + sexes))[0] for visits, sexes in MINE]
    pairs = ((exact[0], other) for other in exact) if neighbours is ADD else itertools.combinations(exact, 2)
    worst = max(Fraction(int(np.abs(one - two).sum())) / plan.laws[0].law.scale for one, two in pairs)
    claimed = pure_epsilon(plan.event, neighbours)
    assert worst <= claimed <= 1
    assert worst >= claimed / 4


def test_joined_rows_are_those_of_a_join_by_hand():
    rng = np.random.default_rng(3)
    visits = [(f"p{i}", float(rng.uniform(0, 4))) for i in range(50) for _ in range(int(rng.integers(1, 3)))]
    patients = [(f"p{i}", "fm"[i % 2]) for i in range(10, 60)]
    sexes = dict(patients)
    wanted = sorted((sexes[who], cost) for who, cost in visits if who in sexes)
    both = joined(visits, patients)
    found = [row for batch in both.rows(["sex", "cost"]) for row in batch.to_pylist()]
    assert sorted((row["sex"], row["cost"]) for row in found) == wanted
    assert both.tables(Workload.of(("sex",)), UNIT)["sex",].values.sum() == len(wanted)
    assert both.project(["sex"]).values.sum() == len(wanted)
    assert both.supports(["sex", "cost"])
    assert not both.supports(["who"])
    assert both.check().rows == len(wanted)
    assert list(joined([], []).rows(["sex"])) == [] or sum(b.num_rows for b in joined([], []).rows(["sex"])) == 0


def test_nothing_is_read_before_it_is_asked():
    class Unread:
        domain = VISITS

        def rows(self, *_):
            raise AssertionError("read")

    Joined(one=Unread(), two=engine(PATIENTS, []), unit=UNIT).supports(["sex"])


@pytest.mark.parametrize(
    ("two", "says"),
    [
        (Domain(attributes=[Categorical(name="sex", levels=("f",))]), "person key in both"),
        (Domain(person="id", attributes=[Identifier(name="id"), Categorical(name="s", levels=("f",))]), "one name"),
        (
            Domain(person="who", attributes=[Identifier(name="who"), Categorical(name="cost", levels=("f",))]),
            "distinct",
        ),
        (Domain(person="who", nulls=("-",), attributes=PATIENTS.attributes), "same for both"),
    ],
)
def test_tables_that_do_not_fit_are_refused(two, says):
    with pytest.raises(InvalidInput, match=says):
        joined_domain(VISITS, two)


def test_rows_are_no_unit_of_a_join():
    with pytest.raises(InvalidInput, match="persons"):
        Joined(one=engine(VISITS, []), two=engine(PATIENTS, []), unit=Unit.row())

"""Kept tables: plain data and back, and what is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tacita.domain import Categorical, Domain
from tacita.errors import InvalidInput, TacitaError
from tacita.noise import DiscreteGaussian, DiscreteLaplace, SeededSource
from tacita.plans import NoisyTables
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.intervals.measured import MeasuredTable, MeasuredTables
from tacita.tables.uncertainty import Unknown
from tacita.tables.workload import Workload

DOMAIN = Domain(attributes=[Categorical(name="a", levels=["x", "y"]), Categorical(name="b", levels=["1", "2", "3"])])
ONE = MeasuredTable(attributes=("a",), counts=np.array([3.0, -1.0]), law=DiscreteLaplace.at_least(2))
PAIR = MeasuredTable(
    attributes=("a", "b"), counts=np.arange(6.0).reshape(2, 3), law=DiscreteGaussian.at_least(4), terms=3
)
TABLES = MeasuredTables(rounds=((ONE,), (PAIR,)))


def test_plain_data_and_back():
    plain = json.loads(json.dumps(TABLES.as_dict()))
    assert plain["rounds"][0][0]["counts"] == [3, -1]
    again = MeasuredTables.from_dict(plain, DOMAIN)
    assert again.as_dict() == plain
    assert [table.law for table in again] == [ONE.law, PAIR.law]
    assert again.cells == 8
    assert again.rounds[1][0].variance == pytest.approx(3 * PAIR.law.variance)


def test_each_law_is_written_once_and_a_count_takes_few_characters():
    many = MeasuredTables(rounds=(tuple(replace(PAIR) for _ in range(100)),))
    plain = many.as_dict()
    assert len(plain["laws"]) == 1
    assert len(json.dumps(plain)) < 100 * (60 + 6 * 6)


@pytest.mark.parametrize(
    ("rounds", "words"),
    [
        ((), "at least one"),
        (((),), "at least one"),
        (((PAIR,), (ONE,)), "first round"),
        (((ONE,), (replace(PAIR, attributes=("a", "b", "c")),)), "first round"),
    ],
)
def test_rounds_are_checked(rounds, words):
    with pytest.raises(InvalidInput, match=words):
        MeasuredTables(rounds=rounds)


def test_broken_files_are_refused():
    table = TABLES.as_dict()["rounds"][0][0]
    for wrong in (
        {"tacita": "measured/9"},
        {"tacita": None},
        {"laws": []},
        {"laws": [{"law": "discrete-laplace", "parameter": "2", "terms": 0}]},
        {"laws": [{"law": "cauchy", "parameter": "2", "terms": 1}]},
        {"laws": 3},
        {"rounds": None},
        {"rounds": [[table | {"law": -1}]]},
        {"rounds": [[table | {"attributes": ["z"]}]]},
        {"rounds": [[table | {"counts": ["x", "y"]}]]},
        {"rounds": [[{}]]},
    ):
        with pytest.raises(TacitaError):
            MeasuredTables.from_dict(TABLES.as_dict() | wrong, DOMAIN)
    short = TABLES.as_dict()
    short["rounds"][0][0]["counts"] = [1]
    with pytest.raises(InvalidInput, match="count for each cell"):
        MeasuredTables.from_dict(short, DOMAIN)
    short["rounds"][0][0]["counts"] = [1, float("nan")]
    with pytest.raises(InvalidInput, match="count for each cell"):
        MeasuredTables.from_dict(short, DOMAIN)


@pytest.fixture
def noisy(domain, engine):
    plan = NoisyTables(Workload.of(("a", "b"))).calibrate(
        domain, Budget.pure(1.0), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE
    )
    return plan.run(engine, SeededSource(1))["a", "b"]


def test_releases_without_a_known_law_are_not_kept(noisy):
    assert MeasuredTables.of([]) is None
    assert MeasuredTables.of([[noisy]]).cells == noisy.values.size
    assert MeasuredTables.of([[replace(noisy, uncertainty=Unknown())]]) is None

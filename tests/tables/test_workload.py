import pickle

import numpy as np
import pytest

from tacita.domain import Boolean, Domain, Identifier
from tacita.errors import InvalidInput, UnknownName
from tacita.tables.table import SensitiveError, Table
from tacita.tables.workload import Tables, Workload

DOMAIN = Domain(attributes=[Boolean(name=n) for n in "abcd"] + [Identifier(name="id")])
FULL = Table.count(DOMAIN.project("abcd".__iter__()), np.random.default_rng(1).integers(0, 2, (50, 4)))


def tables_of(*keys):
    return Tables(DOMAIN, {key: FULL.project(key) for key in keys})


def test_workloads():
    assert len(Workload.all(DOMAIN, 2)) == 6
    assert Workload.of(["a", "b"], ["c"]).attributes == ("a", "b", "c")
    sampled = Workload.sample(DOMAIN, 3, 2, seed=1)
    assert sampled == Workload.sample(DOMAIN, 3, 2, seed=1)
    assert len(sampled) == 2


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Workload(()), "at least one"),
        (lambda: Workload.of(["a", "b"], ["b", "a"]), "twice"),
        (lambda: Workload((("a",),), (0.0,)), "weight"),
        (lambda: Workload((("a",),), (1.0, 2.0)), "weight"),
        (lambda: Workload.all(DOMAIN, 5), "ways"),
        (lambda: Workload.sample(DOMAIN, 2, 7, seed=1), "only 6"),
        (lambda: Workload.of(["id"]).check(DOMAIN), "identifier"),
        (lambda: Workload.of(["x"]).check(DOMAIN), "no such name"),
    ],
)
def test_bad_workloads(make, says):
    with pytest.raises(InvalidInput, match=says):
        make()


def test_projection_comes_from_the_smallest_table():
    tables = tables_of(("a", "b", "c"), ("a", "b"), ("c", "d"))
    assert tables.project(["b"]) == FULL.project(["b"])
    assert tables.project(["c", "a"]) == FULL.project(["c", "a"])
    assert not tables.supports(["a", "d"])
    assert ("a", "b") in tables
    assert ("a", "d") not in tables
    with pytest.raises(UnknownName, match="a x d"):
        tables.project(["a", "d"])
    with pytest.raises(UnknownName):
        tables["a",]


def test_tables_do_not_leave():
    tables = tables_of(("a",))
    assert str(int(FULL.project(["a"]).values[0])) not in repr(tables).replace("1 over", "")
    with pytest.raises(SensitiveError):
        pickle.dumps(tables)
    with pytest.raises(InvalidInput, match="its key"):
        Tables(DOMAIN, {("b",): FULL.project(["a"])})

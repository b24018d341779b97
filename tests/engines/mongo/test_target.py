"""A new collection of MongoDB: all its rows or none."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pymongo
import pytest
from bson.decimal128 import Decimal128
from tests.support.mongo import MongoServer

from tacita.domain import Categorical, Domain, Numeric
from tacita.engines.mongo import MongoEngine
from tacita.engines.mongo.target import MongoTarget
from tacita.errors import DataError, InvalidInput, SourceUnavailable

SECRET = "hunter2"


@pytest.fixture
def server() -> Iterator[MongoServer]:
    with MongoServer() as found:
        yield found


def read(server: MongoServer, collection: str) -> list[dict[str, Any]]:
    """Documents as the server holds them."""
    with pymongo.MongoClient[dict[str, Any]](server.url("test")) as client:
        found = client["test"][collection].aggregate([], collation={"locale": "simple"})
        return [{name: value for name, value in each.items() if name != "_id"} for each in found]


def names(server: MongoServer) -> list[str]:
    with pymongo.MongoClient[dict[str, Any]](server.url("test")) as client:
        return sorted(client["test"].list_collection_names())


def small(rows: int = 3) -> pa.Table:
    return pa.table({"x": list(range(rows)), "y": [f"a{i}" for i in range(rows)]})


def test_values_of_all_types(server: MongoServer) -> None:
    table = pa.table(
        {
            "u": pa.array([2**64 - 1, 5, None], pa.uint64()),
            "f": [1.5, None, -0.0],
            "b": [True, None, False],
            "t": pa.array(["$x", "", None]).dictionary_encode(),
            "raw": [b"\0\xff", None, b""],
            "d": pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
            "at": pa.array([dt.datetime(1960, 1, 1, 1, 2, 3, 4000), None, None], pa.timestamp("us")),
            "clock": pa.array([dt.time(1, 2, 3), None, None], pa.time64("us")),
            "c": pa.array([Decimal("1.50"), None, None], pa.decimal128(9, 2)),
            "in.side": [1, 2, 3],
            "in.deep.er": ["p", "q", "r"],
        }
    )
    target = MongoTarget(server.url("test"), "made")
    target.check(table.column_names)
    seen: list[int] = []
    target.write(iter([table, table.slice(0, 0)]), seen.append)
    assert seen == [3, 3]
    first, second, third = read(server, "made")
    assert first["u"] == Decimal128(str(2**64 - 1))
    assert (second["u"], third["u"]) == (5, None)
    assert first["d"] == dt.datetime(1, 1, 1)
    assert first["at"] == dt.datetime(1960, 1, 1, 1, 2, 3, 4000)
    assert (first["clock"], first["c"], first["raw"]) == ("01:02:03", Decimal128("1.50"), b"\0\xff")
    assert third["in"] == {"side": 3, "deep": {"er": "r"}}
    assert [each["t"] for each in (first, second, third)] == ["$x", "", None]


def test_what_was_written_is_a_source(server: MongoServer) -> None:
    MongoTarget(server.url("test"), "made").write(iter([small(10_000)]))
    domain = Domain(
        attributes=[Numeric(name="x", bounds=(0, 9999), bins=4), Categorical(name="y", levels=["a1"], other=True)]
    )
    assert MongoEngine(domain, server.url("test"), "made").project(["x"]).values.tolist() == [2500] * 4


def test_what_exists_is_refused_and_stays(server: MongoServer) -> None:
    server.store("test", "made", [{"mine": 1}])
    target = MongoTarget(server.url("test"), "made")
    for each in (target.check, lambda: target.write(iter([small()]))):
        with pytest.raises(InvalidInput, match="into: exists already"):
            each()
    assert names(server) == ["made"]
    assert read(server, "made") == [{"mine": 1}]


def test_a_collection_that_comes_in_between_is_refused(server: MongoServer) -> None:
    def come(_: int) -> None:
        server.store("test", "made", [{"mine": 1}])

    with pytest.raises(InvalidInput, match="exists already"):
        MongoTarget(server.url("test"), "made").write(iter([small()]), come)
    assert names(server) == ["made"]
    assert read(server, "made") == [{"mine": 1}]


def test_a_check_leaves_nothing(server: MongoServer) -> None:
    MongoTarget(server.url("test"), "made").check(["x"])
    assert names(server) == []


def test_what_fails_in_the_middle_leaves_nothing(server: MongoServer) -> None:
    class Stop(Exception):
        pass

    def stopping(rows: int) -> None:
        assert len(names(server)) == 1
        if rows > 3:
            raise Stop

    target = MongoTarget(server.url("test"), "made")
    with pytest.raises(Stop):
        target.write(iter([small(), small()]), stopping)
    assert names(server) == []
    with pytest.raises(DataError, match="no such type"):
        target.write(iter([small(), pa.table({"x": pa.nulls(1, pa.list_(pa.int8())), "y": ["a"]})]))
    assert names(server) == []


@pytest.mark.parametrize("name", ["", "a$b", "system.users", "zero\0byte", "x" * 300, ".a"])
def test_names_that_no_collection_can_have(server: MongoServer, name: str) -> None:
    with pytest.raises(InvalidInput, match="into"):
        MongoTarget(server.url("test"), name)


@pytest.mark.parametrize("columns", [["$x"], ["a..b"], ["_id"], ["_id.x"], ["a", "a.b"], ["z\0"], ["x", "x"]])
def test_columns_that_no_document_can_have(server: MongoServer, columns: list[str]) -> None:
    target = MongoTarget(server.url("test"), "made")
    with pytest.raises(InvalidInput):
        target.check(columns)
    with pytest.raises(InvalidInput):
        target.write(iter([pa.table([[1]] * len(columns), names=columns)]))
    assert names(server) == []


@pytest.mark.parametrize(
    ("code", "rule"), [(13, "does not let this user create"), (10107, "can only be read here"), (8000, "refused")]
)
def test_refusals_are_in_our_words(server: MongoServer, code: int, rule: str) -> None:
    server.refuse["create"] = (code, f"{SECRET} in a document")
    target = MongoTarget(server.url("test"), "made")
    with pytest.raises((SourceUnavailable, DataError), match=rule) as refused:
        target.check()
    assert SECRET not in str(refused.value)

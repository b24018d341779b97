"""The server that stands for MongoDB does what MongoDB's manual says, and refuses what it does not know."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import bson
import pymongo
import pytest
from bson.datetime_ms import DatetimeMS
from bson.decimal128 import Decimal128
from bson.int64 import Int64
from bson.objectid import ObjectId
from tests.support.mongo import MongoServer
from tests.support.mongo_pipeline import MISSING, Refusal, evaluate, ordered, run

DOCUMENT: dict[str, Any] = {
    "n": 2,
    "nan": math.nan,
    "text": "$n",
    "null": None,
    "list": [{"a": 1}, {"b": 2}, 3, {"a": [4, 5]}],
    "inner": {"deep": {"x": "y"}},
}
DAY = 86_400_000


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("$n", 2),
        ("$inner.deep.x", "y"),
        ("$n.x", MISSING),
        ("$nothing", MISSING),
        ("$list.a", [1, [4, 5]]),
        ("$text", "$n"),
        ({"$literal": "$n"}, "$n"),
        ({"$type": "$nothing"}, "missing"),
        ({"$type": "$null"}, "null"),
        ({"$type": "$list.a"}, "array"),
        ({"$type": {"$toLong": "$n"}}, "long"),
        ({"$trunc": -1.2}, -1.0),
        ({"$trunc": math.inf}, math.inf),
        ({"$floor": -1.2}, -2.0),
        ({"$floor": {"$divide": [{"$toLong": {"$literal": DatetimeMS(-1)}}, DAY]}}, -1.0),
        ({"$eq": ["$nan", math.nan]}, True),
        ({"$eq": ["$nan", Decimal128("NaN")]}, True),
        ({"$lt": ["$nan", -math.inf]}, True),
        ({"$eq": [1, Decimal128("1.00")]}, True),
        ({"$eq": [0.1, Decimal128("0.1")]}, False),
        ({"$eq": [1, True]}, False),
        ({"$eq": ["$nothing", None]}, False),
        ({"$lt": [99, "1"]}, True),
        ({"$in": [1, {"$literal": [2.0, 1.0]}]}, True),
        ({"$indexOfArray": [{"$literal": ["a", "$n"]}, "$text"]}, 1),
        ({"$indexOfArray": [{"$literal": ["a"]}, "A"]}, -1),
        ({"$max": [1, {"$min": [9, "$nothing"]}]}, 9),
        ({"$max": [0.0, "$nan"]}, 0.0),
        ({"$toString": True}, "true"),
        ({"$toString": Decimal128("1.50")}, "1.50"),
        ({"$toString": Decimal128("1E+3")}, "1E+3"),
        ({"$toString": ObjectId("65a000000000000000000001")}, "65a000000000000000000001"),
        ({"$rtrim": {"input": "1.500", "chars": "0"}}, "1.5"),
        ({"$cond": ["$null", "yes", "no"]}, "no"),
        ({"$cond": [0.0, "yes", "no"]}, "no"),
        ({"$cond": ["", "yes", "no"]}, "yes"),
        ({"$let": {"vars": {"a": "$inner"}, "in": "$$a.deep.x"}}, "y"),
        ({"v": "$n", "w": "$nothing"}, {"v": 2}),
        (["$n", "$nothing"], [2, None]),
    ],
)
def test_what_expressions_mean(expression: Any, value: Any) -> None:
    assert evaluate(expression, DOCUMENT, {}) == value


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ({"$toLower": "A"}, 168),
        ({"$where": "1"}, 168),
        ({"$function": {}}, 168),
        ({"$eq": [1, 1], "$lt": [1, 2]}, 15983),
        ("$$nobody", 17276),
        ("$a..b", 15998),
        ({"$toLong": math.nan}, 241),
        ({"$toLong": 1e300}, 241),
        ({"$toInt": Int64(2**40)}, 241),
        ({"$toDouble": "1"}, 241),
        ({"$toString": "$inner"}, 241),
        ({"$floor": "1"}, 14),
        ({"$in": [1, "$n"]}, 14),
        ({"$abs": "x"}, 14),
    ],
)
def test_what_expressions_fail_on(expression: Any, code: int) -> None:
    with pytest.raises(Refusal) as caught:
        evaluate(expression, DOCUMENT, {})
    assert caught.value.reply["code"] == code


def test_a_branch_that_is_not_taken_is_not_evaluated() -> None:
    failing = {"$toLong": "$nan"}
    assert evaluate({"$cond": [True, 1, failing]}, DOCUMENT, {}) == 1
    switch = {"$switch": {"branches": [{"case": True, "then": 2}, {"case": failing, "then": 3}], "default": failing}}
    assert evaluate(switch, DOCUMENT, {}) == 2
    assert evaluate({"$and": [False, failing]}, DOCUMENT, {}) is False


def test_values_have_one_order() -> None:
    rising = [None, math.nan, -math.inf, Decimal128("-1"), 0, 0.5, Int64(7), math.inf, "A", "a", "é", {"a": 1}, [1]]
    rising += [ObjectId(), False, True, DatetimeMS(0)]
    assert all(ordered(low) < ordered(high) for low, high in itertools.pairwise(rising))


@pytest.mark.parametrize("stage", ["$out", "$merge", "$lookup", "$facet", "$set"])
def test_stages_that_nobody_sends_are_refused(stage: str) -> None:
    with pytest.raises(Refusal):
        run([{stage: "x"}], [DOCUMENT])


def test_what_stages_do() -> None:
    documents = [
        {"_id": 1, "a": {"l": [1, 2]}},
        {"_id": 2, "a": {"l": []}},
        {"_id": 3, "a": {}},
        {"_id": 4, "a": {"l": 5}},
    ]
    rows = run([{"$unwind": "$a.l"}, {"$project": {"_id": 0, "x": "$a.l"}}], documents)
    assert rows == [{"x": 1}, {"x": 2}, {"x": 5}]
    numbers: list[dict[str, Any]] = [{"k": k} for k in (1, 1.0, "1", None, Decimal128("1.0"), True)]
    groups = run([{"$group": {"_id": {"k": "$k"}, "n": {"$sum": 1}}}], numbers)
    assert sorted(group["n"] for group in groups) == [1, 1, 1, 3]
    kept = run([{"$match": {"k": {"$nin": [None, "1"]}}}, {"$sort": {"k": 1}}], [*numbers, {}])
    assert [row["k"] for row in kept] == [1, 1.0, Decimal128("1.0"), True]


@pytest.fixture
def server() -> Iterator[MongoServer]:
    with MongoServer() as found:
        yield found


def test_a_driver_reads_all_batches_and_gets_errors_as_errors(server: MongoServer) -> None:
    with pymongo.MongoClient(server.url("d")) as client:
        collection: Any = client["d"]["c"]
        collection.insert_many([{"x": i} for i in range(2500)])
        simple = {"locale": "simple"}
        shown = [{"$project": {"_id": 0, "x": "$x"}}]
        assert [row["x"] for row in collection.aggregate(shown, collation=simple)] == list(range(2500))
        assert client["d"].list_collection_names() == ["c"]
        for pipeline, options in ((shown, {}), ([{"$out": "x"}], {"collation": simple})):
            with pytest.raises(pymongo.errors.OperationFailure):
                collection.aggregate(pipeline, **options)
        with pytest.raises(pymongo.errors.OperationFailure, match="no such command"):
            client["d"].command("dropDatabase")
        collection.drop()
        assert list(collection.aggregate(shown, collation=simple)) == []


def test_text_that_is_no_utf8_passes_through(server: MongoServer) -> None:
    server.store_raw("d", "c", [bson.encode({"x": "ab"}).replace(b"ab", b"a\xff")])
    options: Any = bson.CodecOptions(unicode_decode_error_handler="surrogateescape")
    with pymongo.MongoClient(server.url("d")) as client:
        collection: Any = client["d"].get_collection("c", codec_options=options)
        (row,) = collection.aggregate([{"$project": {"_id": 0, "x": "$x"}}], collation={"locale": "simple"})
    assert row["x"].encode(errors="surrogateescape") == b"a\xff"

from __future__ import annotations

import datetime as dt
import logging
import math
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import bson
import pyarrow as pa
import pytest
from bson.datetime_ms import DatetimeMS
from bson.decimal128 import Decimal128
from bson.int64 import Int64
from bson.objectid import ObjectId
from tests.support import mongo as mongo_testing
from tests.support import mongo_pipeline
from tests.support.mongo import MongoServer

from tacita.domain import Attribute, Boolean, Categorical, Date, Domain, Identifier, Numeric
from tacita.engines.local import LocalEngine
from tacita.engines.mongo import MongoEngine, compile, driver
from tacita.engines.mongo import engine as engine_module
from tacita.errors import DataError, InternalError, InvalidInput, SourceUnavailable
from tacita.privacy.unit import Unit
from tacita.tables.workload import Workload

from .conftest import Place

SECRET = "hunter2/é"
LEVELS = Categorical(name="x", levels=["1", "a"], missing=True, other=True)
PLAIN = Domain(attributes=[Categorical(name="x", levels=["a", "b"])])


@pytest.fixture
def server() -> Iterator[MongoServer]:
    with MongoServer() as found:
        found.store("test", "people", [{"x": "a"}, {"x": "b"}, {"x": "a"}])
        yield found


def counts(place: Place, attribute: Attribute, *values: Any) -> list[int]:
    """Counts of one field, the same grouped, streamed, and read as rows."""
    place.put("values", [{} if value is ... else {"x": value} for value in values])
    domain = Domain(attributes=[attribute])
    engines = [MongoEngine(domain, place.url, "values", checked=True, grouped_cells=n) for n in (99, 0)]
    grouped, streamed = (engine.project(["x"]) for engine in engines)
    read = LocalEngine(domain, pa.Table.from_batches(engines[0].rows(["x"]))).project(["x"])
    assert grouped == streamed == read
    found: list[int] = grouped.values.tolist()
    return found


# -- values ----------------------------------------------------------------------------------------------------


def test_a_whole_number_is_the_same_level_in_every_type(place: Place) -> None:
    ones = [1, Int64(1), 1.0, Decimal128("1"), Decimal128("1.00"), "1"]
    assert counts(place, LEVELS, *ones) == [6, 0, 0, 0]
    assert counts(place, LEVELS, 1.5, Decimal128("1.5"), 2, "1.0", " 1") == [0, 0, 5, 0]
    assert counts(place, LEVELS, math.nan, None, ..., Decimal128("NaN")) == [0, 0, 0, 4]
    assert counts(place, LEVELS, math.inf, -math.inf, 1e300, Decimal128("1E+400")) == [0, 0, 4, 0]


def test_fractions_dates_and_names_have_one_text(place: Place) -> None:
    levels = ["2.5", "0.1", "2024-01-31T23:59:59.999", "65a000000000000000000001", str(uuid.UUID(int=7))]
    attribute = Categorical(name="x", levels=levels, other=True)
    assert counts(place, attribute, 2.5, Decimal128("2.50"), 0.1, Decimal128("0.1")) == [2, 2, 0, 0, 0, 0]
    moment = DatetimeMS(int(dt.datetime(2024, 1, 31, 23, 59, 59, 999000, dt.UTC).timestamp() * 1000))
    assert counts(place, attribute, moment, DatetimeMS(2**62), DatetimeMS(-(2**62))) == [0, 0, 1, 0, 0, 2]
    name = ObjectId("65a000000000000000000001")
    assert counts(place, attribute, name, bson.Binary(uuid.UUID(int=7).bytes, 4)) == [0, 0, 0, 1, 1, 0]


def test_decimals_of_any_size(place: Place) -> None:
    attribute = Numeric(name="x", bounds=(0, 1), edges=(0, 0.1, 0.5, 1), missing=True)
    texts = ["0.1", "0.09999999999999999", "0.1000000000000000055511151231257827", "1E+400", "-1E+400", "1E-400"]
    others = [Decimal128(text) for text in (*texts, "NaN", "Infinity")]
    assert counts(place, attribute, *others, None) == [3, 2, 2, 2]


def test_whole_numbers_beyond_a_double(place: Place) -> None:
    attribute = Numeric(name="x", bounds=(0, 2.0**54), edges=(0, 2.0**53, 2.0**53 + 2, 2.0**54))
    assert counts(place, attribute, Int64(2**53 - 1), Int64(2**53 + 1), Int64(2**53 + 3), Int64(2**62)) == [1, 1, 2]


def test_more_levels_and_bins_than_a_pipeline_should_hold(place: Place) -> None:
    many = Categorical(name="x", levels=[f"l{i}" for i in range(1500)])
    assert counts(place, many, "l0", "l1499", "x")[::1499] == [1, 1]
    assert counts(place, Numeric(name="x", bounds=(0, 1), bins=1500), 0, 1.0, 2, True)[::1499] == [1, 3]
    assert counts(place, Numeric(name="x", bounds=(0, 5000), integer=True), 0, 5000, 9999)[::5000] == [1, 2]


def test_levels_with_dollars_are_texts(place: Place) -> None:
    attribute = Categorical(name="x", levels=["$x", "$$ROOT", "a"], missing=True, other=True)
    domain = Domain(attributes=[attribute], nulls=("$_id", ""))
    place.put("dollars", [{"x": x} for x in ("$x", "$$ROOT", "$$ROOT", "a", "$_id", "b")])
    assert MongoEngine(domain, place.url, "dollars").project(["x"]).values.tolist() == [1, 2, 1, 1, 1]


def test_text_that_is_none(server: MongoServer) -> None:
    broken = bson.encode({"x": "ab", "who": "zz"}).replace(b"ab", b"a\xff").replace(b"zz", b"z\xff")
    server.store_raw("test", "broken", [broken, bson.encode({"x": "1", "who": "z"})])
    domain = Domain(person="who", attributes=[Identifier(name="who"), LEVELS])
    engine = MongoEngine(domain, server.url("test"), "broken")
    assert engine.project(["x"]).values.tolist() == [1, 0, 1, 0]
    found = engine.tables(Workload.of(["x"]), Unit.of_person("who", max_rows=2))
    assert found["x",].values.tolist() == [1, 0, 0, 0]  # who has no UTF-8 has no key


def test_bytes_that_are_no_document(server: MongoServer, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = MongoEngine(PLAIN, server.url("test"), "people", checked=True)
    encode = mongo_testing._encode
    # the number of rows gets a type that there is none of
    monkeypatch.setattr(mongo_testing, "_encode", lambda reply: encode(reply).replace(b"\x10n\0", b"\x7an\0"))
    with pytest.raises(DataError, match="sent something that is no document"):
        engine.project(["x"])


def test_no_value_makes_counting_fail(place: Place) -> None:
    values = [[1], {"y": 1}, bson.Regex("a"), b"\xff", "x", 1.5, math.nan, math.inf, Decimal128("1E+6000"), True]
    values += [DatetimeMS(2**62), ObjectId(), None, ..., Int64(2**62), [[{}]], bson.Timestamp(1, 1)]
    for attribute in (
        LEVELS,
        Boolean(name="x", other=True, missing=True),
        Numeric(name="x", bounds=(0, 9), bins=3, other=True, missing=True),
        Date(name="x", bounds=(dt.date(2024, 1, 1), dt.date(2024, 12, 31)), other=True, missing=True),
    ):
        place.put("strange", [{} if value is ... else {"x": value, "who": value} for value in values])
        domain = Domain(person="who", attributes=[Identifier(name="who"), attribute])
        engine = MongoEngine(domain, place.url, "strange", checked=True)
        assert engine.project(["x"]).sum() == len(values)
        assert engine.tables(Workload.of(["x"]), Unit.of_person("who", max_rows=1))["x",].sum() == 3


# -- nesting ---------------------------------------------------------------------------------------------------


def test_documents_inside_are_flattened(place: Place) -> None:
    attributes = [Boolean(name="a.b.c", missing=True), Categorical(name="a.d", levels=["u"], missing=True)]
    place.put("nested", [{"a": {"b": {"c": True}, "d": "u"}}, {"a": {"b": {}}}, {"a": None}, {}])
    engine = MongoEngine(Domain(attributes=attributes), place.url, "nested")
    assert engine.project(["a.b.c", "a.d"]).values.tolist() == [[0, 0], [1, 0], [0, 3]]
    (batch,) = engine.rows(["a.d", "a.b.c"])
    assert batch.to_pylist()[0] == {"a.d": "u", "a.b.c": True}


@pytest.mark.parametrize(
    ("document", "field", "rule"),
    [
        ({"x": [1, 2]}, "x", "holds lists, which are not declared.*unwind='x'"),
        ({"x": []}, "x", "holds lists"),
        ({"x": {"y": 1}}, "x", "holds documents where a value is expected.*x.FIELD"),
        ({"x": {"y": [1]}}, "x", "holds documents"),
        ({"x": bson.Regex("a")}, "x", "no data, got 'regex'"),
        ({"x": True}, "x", "several types, got 'bool, int'"),
        ({"x": "1"}, "x", "several types, got 'int, string'"),
        ({"x": DatetimeMS(1)}, "x", "several types"),
        ({"a": [{"y": 1}]}, "a", "holds lists, which are not declared.*unwind='a'"),
        ({"a": [1]}, "a", "holds lists"),
        ({"a": {"y": [1]}}, "a.y", "holds lists"),
        ({"a": 3}, "a", "holds values where a document is expected, got 'int'"),
    ],
)
def test_what_is_no_table_is_refused_by_its_path(place: Place, document: Any, field: str, rule: str) -> None:
    integers = [Numeric(name=name, bounds=(0, 9), integer=True) for name in ("x", "a.y")]
    place.put("deep", [{"x": 1, "a": {"y": 1}}] * 3 + [document])
    with pytest.raises(DataError, match=rule) as caught:
        MongoEngine(Domain(attributes=integers), place.url, "deep")
    assert caught.value.field == field
    later = MongoEngine(Domain(attributes=integers), place.url, "deep", checked=True)
    assert later.project(["x"]).sum() in (3, 4)  # a query fails on nobody's document
    with pytest.raises(DataError, match=rule):
        later.check()


def test_a_field_that_no_document_has(place: Place) -> None:
    place.put("people", [{"y": "a"}])
    with pytest.raises(DataError, match="x: the schema has this field and no document does"):
        MongoEngine(PLAIN, place.url, "people")
    place.put("people", [])
    assert MongoEngine(PLAIN, place.url, "people").check().rows == 0


@pytest.mark.parametrize("key", [1.5, True, b"a", DatetimeMS(1), [1], {"a": 1}], ids=repr)
def test_keys_of_other_types_are_refused(place: Place, key: Any) -> None:
    domain = Domain(person="who", attributes=[Identifier(name="who"), *PLAIN.attributes])
    place.put("people", [{"x": "a", "who": "ann"}, {"x": "b", "who": key}])
    with pytest.raises(DataError, match="who: ") as caught:
        MongoEngine(domain, place.url, "people")
    assert "ann" not in f"{caught.value} {caught.value.private}"
    engine = MongoEngine(domain, place.url, "people", checked=True)
    found = engine.tables(Workload.of(["x"]), Unit.of_person("who", max_rows=9))
    assert found["x",].values.tolist() == [1, 0]  # such a key is none


def test_equal_keys_are_one_person_in_every_type(place: Place) -> None:
    domain = Domain(person="who", attributes=[Identifier(name="who"), Numeric(name="x", bounds=(0, 20), integer=True)])
    sevens = [7, Int64(7), "7", Decimal128("7"), Decimal128("7.00")]
    others = [Decimal128("0.50"), Decimal128(".5"), "0.5", Decimal128("-0.0"), 0, ObjectId("65a000000000000000000001")]
    others += [Decimal128("1E+3"), 1000]
    none = [Decimal128("1E+40"), Decimal128("1E-7"), Decimal128("NaN"), Decimal128("-Infinity"), 7.0, None]
    place.put("people", [{"who": key, "x": i} for i, key in enumerate([*sevens, *others, *none])])
    engine = MongoEngine(domain, place.url, "people", checked=True)
    read = LocalEngine(domain, pa.Table.from_batches(engine.rows(["who", "x"])))
    for max_rows, rows in ((1, 5), (2, 9), (99, 13)):
        unit = Unit.of_person("who", max_rows=max_rows)
        found = engine.tables(Workload.of(["x"]), unit)["x",]
        assert found.sum() == rows
        assert found == read.tables(Workload.of(["x"]), unit)["x",]


# -- lists -----------------------------------------------------------------------------------------------------

VISITS = Domain(
    person="who",
    attributes=[
        Identifier(name="who"),
        Boolean(name="smokes"),
        Numeric(name="visits.pain", bounds=(0, 9), integer=True, missing=True),
    ],
)


def test_the_elements_of_a_declared_list_are_rows(place: Place) -> None:
    people = [
        {"who": f"p{i % 9}", "smokes": i % 2 == 0, "visits": [{"pain": i * j % 12} for j in range(i % 5)]}
        for i in range(30)
    ]
    place.put("clinic", [*people, {"who": "p1", "smokes": True, "visits": [{}]}, {"who": "p2", "smokes": True}])
    rows = [(p["who"], p["smokes"], v["pain"]) for p in people for v in p["visits"]] + [("p1", True, None)]
    table = pa.table([pa.array(column) for column in zip(*rows, strict=True)], names=VISITS.names)
    engine = MongoEngine(VISITS, place.url, "clinic", unwind="visits")
    local = LocalEngine(VISITS, table)
    workload = Workload.of(["smokes", "visits.pain"], ["smokes"], ["visits.pain"])
    for max_rows in (1, 2, 99):
        unit = Unit.of_person("who", max_rows=max_rows)
        found, wanted = engine.tables(workload, unit), local.tables(workload, unit)
        assert all(found[key] == wanted[key] for key in workload.keys)
    assert engine.check() == local.check()
    assert sum(batch.num_rows for batch in engine.rows(["who"])) == len(rows)


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"visits": [[{"pain": 1}]]}, "visits"),
        ({"visits": [{"pain": [1]}]}, "visits.pain"),
        ({"visits": [{"pain": 1}], "smokes": [True]}, "smokes"),
    ],
)
def test_lists_inside_lists_are_too_deep(place: Place, document: Any, field: str) -> None:
    place.put("clinic", [{"who": "p", "smokes": True, "visits": [{"pain": 1}]}, {"who": "q", **document}])
    with pytest.raises(DataError, match="list") as caught:
        MongoEngine(VISITS, place.url, "clinic", unwind="visits")
    assert caught.value.field == field


def test_a_list_around_the_list(place: Place) -> None:
    attributes = [Identifier(name="who"), Boolean(name="a.b")]
    place.put("clinic", [{"who": "p", "a": [{"b": [True]}]}])
    with pytest.raises(DataError, match="a: a list inside a list"):
        MongoEngine(Domain(person="who", attributes=attributes), place.url, "clinic", unwind="a.b")


# -- one state -------------------------------------------------------------------------------------------------


def test_a_replica_set_is_read_in_one_state() -> None:
    with MongoServer(replica_set=True) as server:
        server.store("test", "people", [{"x": 1}] * 300)
        domain = Domain(attributes=[Numeric(name="x", bounds=(0, 9), integer=True)])
        engine = MongoEngine(domain, server.url("test"), "people")
        states = iter([[{"x": 1}] * 7, [{"x": "text"}]])
        server.before_aggregate = lambda: server.store("test", "people", next(states))
        # a write falls between its look at the types and its reading
        assert sum(batch.num_rows for batch in engine.rows(["x"])) == 7
        assert next(states, None) is None
        levels = [command.get("readConcern", {}) for command in server.commands if "aggregate" in command]
        assert all(level.get("level") == "snapshot" for level in levels)
        assert "atClusterTime" in levels[-1]


def test_a_single_server_that_changes_is_noticed_or_harmless(server: MongoServer) -> None:
    domain = Domain(attributes=[Numeric(name="x", bounds=(0, 9), integer=True)])
    server.store("test", "people", [{"x": 1}])
    engine = MongoEngine(domain, server.url("test"), "people")
    states = iter([[{"x": 1}], [{"x": "text"}]])
    server.before_aggregate = lambda: server.store("test", "people", next(states))
    with pytest.raises(DataError, match="x: the collection got values of other types while it was read"):
        list(engine.rows(["x"]))
    server.before_aggregate = None
    assert engine.project(["x"]).sum() == 0


def test_rows_that_are_not_sorted_are_refused(server: MongoServer, monkeypatch: pytest.MonkeyPatch) -> None:
    domain = Domain(person="x", attributes=[Identifier(name="x"), Boolean(name="y", missing=True)])
    server.store("test", "people", [{"x": x, "y": True} for x in "abab"])
    engine = MongoEngine(domain, server.url("test"), "people")
    workload, unit = Workload.of(["y"]), Unit.of_person("x", max_rows=1)
    assert engine.tables(workload, unit)["y",].sum() == 2
    monkeypatch.setitem(mongo_pipeline.STAGES, "$sort", lambda _given, documents: documents)
    with pytest.raises(DataError, match="did not sort"):
        engine.tables(workload, unit)


def test_nobody_is_cut_in_two_between_batches(server: MongoServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "_STREAMED_ROWS", 2)
    domain = Domain(person="x", attributes=[Identifier(name="x"), Numeric(name="n", bounds=(0, 99), integer=True)])
    server.store("test", "people", [{"x": f"p{i % 4}", "n": i} for i in range(20)])
    engine = MongoEngine(domain, server.url("test"), "people")
    for max_rows in (1, 3, 5):
        found = engine.tables(Workload.of(["n"]), Unit.of_person("x", max_rows=max_rows))
        assert found["n",].sum() == 4 * max_rows


# -- refusals --------------------------------------------------------------------------------------------------


def everything(error: Any) -> str:
    return f"{error} {error!r} {error.as_dict()} {error.private}"


def test_a_server_that_is_away(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    url = "mongodb://reader:hunter2%2F%C3%A9@127.0.0.1:1/db?serverSelectionTimeoutMS=50"
    with pytest.raises(SourceUnavailable, match=r"cannot be reached, got '127\.0\.0\.1:1/db'") as caught:
        MongoEngine(PLAIN, url, "people")
    assert "hunter2" not in everything(caught.value) + caplog.text


def test_credentials_that_are_wrong_are_not_repeated(server: MongoServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for command in ("saslStart", "saslContinue"):
        server.refuse[command] = (18, f"Authentication failed for {SECRET} hunter2%2F%C3%A9")
    url = server.url("test").replace("127", "reader:hunter2%2F%C3%A9@127")
    with pytest.raises(SourceUnavailable, match="cannot be reached") as caught:
        MongoEngine(PLAIN, url, "people")
    assert "hunter2" not in everything(caught.value) + caplog.text
    assert "hunter2" not in repr(driver.Server(url))


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("mongodb://u:SECRET@h:x:y/db", "must be an address"),
        ("mongodb://u:SECRET@/db", "must be an address"),
        ("mongodb://u:SE:CRET@h/db", "must be an address"),
        ("mongodb://u:SECRET@h", "must name a database"),
        ("mongodb+srv://u:SECRET@/db", "must be an address"),
        ("mongodb://u:SECRET@h/db?authMechanism=SECRET", "must be an address"),
        ("mongodb://u:SECRET@h/db?tls=true&ssl=false", "must be an address"),
    ],
)
def test_an_address_that_is_none_is_not_repeated(url: str, rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule) as caught:
        MongoEngine(PLAIN, url, "people")
    assert "SECRET" not in f"{caught.value} {caught.value.as_dict()}"


@pytest.mark.parametrize(
    ("code", "kind", "rule"),
    [
        (50, SourceUnavailable, r"did not answer in time.*limit is 120 s"),
        (13, SourceUnavailable, "does not let this user read"),
        (239, SourceUnavailable, "has dropped the snapshot"),
        (292, DataError, "refused the query, got '292'"),
    ],
)
def test_what_the_server_says_stays_private(server: MongoServer, code: int, kind: Any, rule: str) -> None:
    engine = MongoEngine(PLAIN, server.url("test"), "people", timeout=120)
    server.refuse["aggregate"] = (code, "somebody's value")
    with pytest.raises(kind, match=rule) as caught:
        engine.project(["x"])
    assert "somebody" not in f"{caught.value.as_dict()} {caught.value.private}"
    assert server.commands[-2].get("maxTimeMS", 120_000) == 120_000
    del server.refuse["aggregate"]
    assert engine.project(["x"]).values.tolist() == [2, 1]


def test_a_server_that_says_nothing(server: MongoServer) -> None:
    engine = MongoEngine(PLAIN, server.url("test") + "?socketTimeoutMS=60&retryReads=false", "people", checked=True)
    gate = threading.Event()
    server.before_aggregate = lambda: gate.wait(120) and None
    with pytest.raises(SourceUnavailable, match="did not answer in time"):
        engine.project(["x"])
    gate.set()


@pytest.mark.parametrize("timeout", [0, -1, math.nan, math.inf])
def test_limits_are_checked(timeout: float) -> None:
    with pytest.raises(InvalidInput, match="timeout"):
        MongoEngine(PLAIN, "mongodb://h/db", "people", timeout=timeout)


def test_what_is_missing_says_how_to_get_it() -> None:
    with pytest.raises(InvalidInput, match=r'pip install "tacita\[mongo\]"'):
        driver.load("no_such_driver")


def test_codes_that_the_server_got_wrong_are_not_counted(server: MongoServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for cells in (99, 0):
        engine = MongoEngine(PLAIN, server.url("test"), "people", grouped_cells=cells)
        for wrong in (-1, 7, 300):
            monkeypatch.setattr(compile, "code_of", lambda *_, wrong=wrong: {"$literal": wrong})
            with pytest.raises(InternalError, match="x: a code lies outside the domain"):
                engine.project(["x"])
        monkeypatch.undo()


def test_nothing_is_written(server: MongoServer) -> None:
    engine = MongoEngine(PLAIN, server.url("test"), "people")
    engine.check()
    engine.project(["x"])
    assert sum(batch.num_rows for batch in engine.rows(["x"])) == 3
    harmless = {"hello", "ismaster", "listCollections", "aggregate", "getMore", "endSessions", "ping"}
    assert {next(iter(command)) for command in server.commands} <= harmless
    stages = {name for command in server.commands for stage in command.get("pipeline", ()) for name in stage}
    assert stages <= {"$project", "$group", "$match", "$sort", "$unwind"}
    assert all(command["allowDiskUse"] for command in server.commands if "aggregate" in command)

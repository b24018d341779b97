"""Sums in MongoDB: values whose numbers the server cannot compute are streamed, and never summed wrongly."""

from __future__ import annotations

from typing import Any

import pytest
from bson.datetime_ms import DatetimeMS
from bson.decimal128 import Decimal128
from bson.int64 import Int64
from bson.objectid import ObjectId
from tests.support.mongo import MongoServer

from tacita.domain import Attribute, Boolean, Categorical, Date, Domain, Identifier, Numeric
from tacita.engines.mongo import MongoEngine
from tacita.query import Aggregate
from tacita.query.summing import exact_sums, request_of
from tacita.query.where import OneOf
from tacita.testing.sums import Streaming, plan_of

from .conftest import Place

NUMBER = Numeric(name="x", bounds=(0, 10), bins=2, missing=True)
LEVELS = Categorical(name="g", levels=("a", "1"), other=True, missing=True)


def statistics(name: str) -> list[Aggregate]:
    kinds: Any = ("count", "sum", "var")
    found = [Aggregate(kind=kind, column=name) for kind in kinds]
    return [*found, Aggregate(kind="quantile", column=name, q=0.5)]


def pushed(place: Place, documents: list[dict[str, Any]], attributes: list[Attribute], plan: Any) -> bool:
    """Whether the server adds up; the sums are those of streaming in any case."""
    place.put("values", documents)
    engine = MongoEngine(plan.domain, place.url, "values", checked=True)
    request = request_of(plan)
    assert request is not None
    for mine, theirs in zip(exact_sums(plan, engine), exact_sums(plan, Streaming(engine)), strict=True):  # type: ignore[arg-type]
        assert mine.tolist() == theirs.tolist()
    return engine.sums(request) is not None


def of_values(place: Place, attribute: Attribute, *values: Any) -> bool:
    domain = Domain(attributes=[attribute])
    documents = [{} if value is ... else {attribute.name: value} for value in values]
    numbers = isinstance(attribute, Numeric | Date | Boolean)
    wanted = statistics(attribute.name) if numbers else [Aggregate(kind="count", column=attribute.name)]
    return pushed(place, documents, [attribute], plan_of(domain, wanted))


def test_numbers_of_all_types(place: Place) -> None:
    plain = [1, Int64(2**53 + 1), 2.5, -0.0, float("nan"), float("inf"), None, ..., 5e-324]
    assert of_values(place, NUMBER, *plain)
    assert of_values(place, NUMBER, True, False, None)
    for stranger in (True, Decimal128("2.5"), Decimal128("NaN"), "3", b"4", DatetimeMS(5), ObjectId(), [1], {"y": 1}):
        assert not of_values(place, NUMBER, *plain, stranger)
    assert not of_values(place, NUMBER, True, "3")  # read as texts, `true` is no number


def test_dates_and_truth_values(place: Place) -> None:
    days = Date(name="x", bounds=("2020-01-01", "2020-12-31"), by="month", missing=True)
    assert of_values(place, days, *map(DatetimeMS, (0, -1, 1_590_000_000_000, 2**62, -(2**62))), None, ...)
    assert not of_values(place, days, DatetimeMS(0), "2020-05-05")
    assert of_values(place, Boolean(name="x", missing=True), True, False, None, ...)
    assert not of_values(place, Boolean(name="x", missing=True), "yes", "no")


def test_levels(place: Place) -> None:
    assert of_values(place, LEVELS, "a", "1", "q", "", None, ...)
    assert of_values(place, LEVELS, 1, Int64(1), 2)
    assert not of_values(place, LEVELS, 1.0, 2.5)
    many = Categorical(name="g", levels=tuple(map(str, range(1500))))
    assert not of_values(place, many, "7", "x")


def test_groups_whose_codes_are_computed_here(place: Place) -> None:
    domain = Domain(attributes=[NUMBER, LEVELS])
    documents = [{"x": i % 11, "g": (1.0, 1, Decimal128("1"), 2.5)[i % 4]} for i in range(40)]
    assert pushed(place, documents, [], plan_of(domain, statistics("x"), ["g"]))
    # a condition on such codes is not left to the server
    assert not pushed(place, documents, [], plan_of(domain, statistics("x"), [], OneOf("g", (1,))))
    texts = [{"x": i % 11, "g": "a1q"[i % 3]} for i in range(40)]
    assert pushed(place, texts, [], plan_of(domain, statistics("x"), ["g"], OneOf("g", (0, 2))))
    assert pushed(place, texts, [], plan_of(domain, statistics("x"), [], OneOf("g", ())))


def test_types_of_rows_that_a_condition_leaves_out_count(place: Place) -> None:
    domain = Domain(attributes=[NUMBER, LEVELS])
    documents: list[dict[str, Any]] = [{"x": True, "g": "a"}, {"x": "4", "g": "1"}]
    assert not pushed(place, documents, [], plan_of(domain, statistics("x"), [], OneOf("g", (0,))))


def test_fields_inside_documents(place: Place) -> None:
    domain = Domain(attributes=[NUMBER.model_copy(update={"name": "a.x"}), LEVELS.model_copy(update={"name": "a.g"})])
    documents = [{"a": {"x": i, "g": "a1"[i % 2]}} for i in range(12)] + [{"a": None}, {}]
    assert pushed(place, documents, [], plan_of(domain, statistics("a.x"), ["a.g"]))


def test_persons_are_streamed(place: Place) -> None:
    domain = Domain(person="who", attributes=[Identifier(name="who"), NUMBER])
    documents = [{"who": f"p{i % 3}", "x": i} for i in range(9)]
    assert not pushed(place, documents, [], plan_of(domain, statistics("x"), max_rows=2))


def test_one_pipeline_reads_one_state() -> None:
    with MongoServer() as server:
        server.store("test", "people", [{"x": i, "g": "a"} for i in range(9)])
        domain = Domain(attributes=[NUMBER, LEVELS])
        engine = MongoEngine(domain, server.url("test"), "people", checked=True)
        server.commands.clear()
        wanted = [*statistics("x"), Aggregate(kind="count", column="g"), Aggregate(kind="count")]
        exact_sums(plan_of(domain, wanted, ["g"]), engine)
        assert [name for command in server.commands for name in command if name == "aggregate"] == ["aggregate"]


@pytest.mark.parametrize("cells", [0, 3])
def test_too_many_groups_are_streamed(place: Place, cells: int) -> None:
    place.put("values", [{"x": 1, "g": "a"}])
    domain = Domain(attributes=[NUMBER, LEVELS])
    plan = plan_of(domain, [Aggregate(kind="sum", column="x")], ["g"])
    request = request_of(plan)
    assert request is not None
    assert MongoEngine(domain, place.url, "values", grouped_cells=cells).sums(request) is None
    assert MongoEngine(domain, place.url, "values").sums(request) is not None

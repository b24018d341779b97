from __future__ import annotations

from typing import Any

import pytest

from tacita.domain import Boolean, Domain, Identifier
from tacita.engines.mongo import MongoEngine
from tacita.engines.mongo.names import MOST_DEPTH, check_collection, check_fields
from tacita.errors import DataError, InvalidInput

from .conftest import Place


def domain(*names: str, person: str | None = None) -> Domain:
    keys = [Identifier(name=person)] if person else []
    return Domain(person=person, attributes=[*keys, *(Boolean(name=name) for name in names)])


@pytest.mark.parametrize(
    "name",
    ["$where", "$$ROOT", "$x", "a.$b", "$a.b", "a..b", ".a", "a.", "a\0b", ".".join("a" * (MOST_DEPTH + 1))],
)
def test_a_name_that_could_be_more_than_a_field_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_fields(domain(name), None)
    assert caught.value.field == name


def test_a_field_is_not_a_document_as_well() -> None:
    with pytest.raises(InvalidInput, match=r"a\.b\.c: lies inside 'a'"):
        check_fields(domain("a", "a.b.c"), None)
    check_fields(domain("a", "ab.c", "b.a"), None)


def test_the_name_of_a_document_is_never_counted() -> None:
    for name in ("_id", "_id.part"):
        with pytest.raises(InvalidInput, match="never counted"):
            check_fields(domain(name), None)
    check_fields(domain("x", person="_id"), None)


@pytest.mark.parametrize(
    "name", ["", ".", "a.", "a..b", "system.users", "$cmd", "a$b", '{"$ne": 1}', "a\0", None, 7, ("a", "b")]
)
def test_names_that_no_collection_has(name: Any) -> None:
    with pytest.raises(InvalidInput, match="table: must be the name of a collection"):
        check_collection(name)


@pytest.mark.parametrize("name", ["people; db.dropDatabase()", "people'", '{"ne": 1}', "People", "people.x"])
def test_no_name_is_more_than_a_name(place: Place, name: str) -> None:
    place.put("people", [{"x": True}])
    with pytest.raises(DataError, match="table: no such collection"):
        MongoEngine(domain("x"), place.url, name)
    assert MongoEngine(domain("x"), place.url, "people").check().rows == 1


@pytest.mark.parametrize(
    ("unwind", "names", "person", "rule"),
    [
        ("visits", ["visits.ok"], None, "must name the person"),
        ("visits", ["visits.ok"], "visits.who", "must be beside the list"),
        ("visits", ["ok"], "who", "no attribute lies in this list"),
        ("$visits", ["visits.ok"], "who", "cannot be the name of a field"),
    ],
)
def test_lists_are_declared_with_care(unwind: str, names: list[str], person: str | None, rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        check_fields(domain(*names, person=person), unwind)

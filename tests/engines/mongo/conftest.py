"""Where collections are kept: our server over the wire, or a real one whose address is in TACITA_TEST_MONGODB."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pymongo
import pytest
from bson.datetime_ms import DatetimeMS
from bson.decimal128 import Decimal128
from tests.support.mongo import MongoServer

REAL = "TACITA_TEST_MONGODB"
EPOCH = dt.date(1970, 1, 1)


class Place:
    """A database that tests write to through pymongo."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.client: Any = pymongo.MongoClient(url)
        self.database = self.client.get_default_database()

    def put(self, collection: str, documents: Iterable[Mapping[str, Any]]) -> None:
        listed = [dict(document) for document in documents]
        self.database.drop_collection(collection)
        self.database.create_collection(collection, check_exists=False)
        if listed:
            self.database[collection].insert_many(listed)


@pytest.fixture(scope="session")
def place() -> Iterator[Place]:
    real = os.environ.get(REAL)
    if real:
        found = Place(real)
        yield found
        found.client.close()
        return
    with MongoServer() as server:
        found = Place(server.url("test"))
        yield found
        found.client.close()


def documents_of(table: pa.Table) -> list[dict[str, Any]]:
    """Rows as documents: `a.b` is a field of a document inside; nulls are null in one row and left out in the next."""
    names = table.column_names
    columns = [_values(column) for column in table.columns]
    documents = []
    for number, row in enumerate(zip(*columns, strict=True)):
        document: dict[str, Any] = {}
        for name, value in zip(names, row, strict=True):
            if value is not None or number % 2 == 0:
                _set(document, name.split("."), value)
        documents.append(document)
    return documents


def _set(document: dict[str, Any], parts: list[str], value: Any) -> None:
    for part in parts[:-1]:
        document = document.setdefault(part, {})
    document[parts[-1]] = value


def _values(column: pa.ChunkedArray) -> list[Any]:
    kind = column.type
    if pa.types.is_date32(kind):
        return [None if day is None else DatetimeMS(day * 86_400_000) for day in column.cast(pa.int32()).to_pylist()]
    if pa.types.is_timestamp(kind):
        assert kind.unit == "us"
        return [None if tick is None else DatetimeMS(tick // 1000) for tick in column.cast(pa.int64()).to_pylist()]
    values = column.to_pylist()
    return [Decimal128(value) if isinstance(value, Decimal) else value for value in values]


def as_held(table: pa.Table) -> pa.Table:
    """The rows as MongoDB holds them: days and times are milliseconds."""
    columns = []
    for column in table.columns:
        if pa.types.is_date32(column.type) or pa.types.is_timestamp(column.type):
            ticks = [None if value is None else int(value) for value in _values(column)]
            columns.append(pa.array(ticks, pa.int64()).cast(pa.timestamp("ms", "UTC")))
        else:
            columns.append(column)
    return pa.table(columns, names=table.column_names)

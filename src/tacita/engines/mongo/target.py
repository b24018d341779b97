"""A new collection in MongoDB, filled by bulk inserts under another name and renamed when it is whole.

A server cannot take back many inserts together, so rows are written to a collection beside the new one. It is dropped
when writing fails; one that a killed process leaves is named NAME.unfinished.… and can be dropped. Renaming is one step
and refuses a collection that is there.

    a.b                 the field b of the document a, as in sources
    dates, times        dates of milliseconds at UTC
    decimals            Decimal128;   whole numbers beyond 64 bits too
"""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from itertools import chain
from typing import Any

import pyarrow as pa

from tacita.common.progress import step
from tacita.engines.mongo.driver import Server, load
from tacita.engines.mongo.names import check_collection, check_path, prefixes
from tacita.engines.targets import Progress
from tacita.errors import DataError, InvalidInput, SourceUnavailable, TacitaError

__all__ = ["MongoTarget"]

_AT_ONCE = 1 << 12  # documents of one insert
_MOST_BYTES = 200  # of a collection's name: the server has 255 with the database's
_EXISTS, _NO_RIGHT, _NOT_PRIMARY = 48, 13, (10107, 13435)
_WHOLE = 1 << 63


class MongoTarget:
    """A collection that does not exist yet.

    Args:
        url: Address of the database, `mongodb://…/database`. It never appears in a message.
        collection: The collection.
    """

    def __init__(self, url: str, collection: str) -> None:
        load("pymongo")
        try:
            check_collection(collection)
        except InvalidInput as error:
            raise InvalidInput(error.rule, field="into", value=collection) from None
        if len(collection.encode(errors="replace")) > _MOST_BYTES:
            raise InvalidInput(f"must have at most {_MOST_BYTES} bytes", field="into", value=collection)
        self._collection, self._server = collection, Server(url)

    @property
    def name(self) -> str:
        """Database and collection, without credentials."""
        return f"{self._server.place}: {self._collection}"

    @property
    def path(self) -> None:
        """No file."""
        return None

    def check(self, names: Sequence[str] = ()) -> None:
        """Create a collection beside the new one and drop it, so that rights and a secondary are seen."""
        _check_names(names)
        with self._writing() as (database, unfinished):
            self._check_new(database)
            database.create_collection(unfinished)

    def write(self, batches: Iterator[pa.Table], progress: Progress | None = None) -> None:
        """Insert all rows, then rename the collection."""
        first = next(batches)
        _check_names(first.schema.names)
        step("writing rows")
        with self._writing() as (database, unfinished):
            self._check_new(database)
            made = database.create_collection(unfinished)
            rows = 0
            for batch in chain([first], batches):
                for start in range(0, batch.num_rows, _AT_ONCE):
                    made.insert_many(_documents(batch.slice(start, _AT_ONCE)), ordered=False)
                rows += batch.num_rows
                if progress is not None:
                    progress(rows)
            made.rename(self._collection, dropTarget=False)

    def _check_new(self, database: Any) -> None:
        if next(iter(database.list_collections(filter={"name": self._collection}, nameOnly=True)), None) is not None:
            raise self._exists()

    def _exists(self) -> InvalidInput:
        hint = "Rows are never added to a collection: give a new name, or drop it yourself"
        return InvalidInput("exists already", field="into", value=self._collection, hint=hint)

    @contextmanager
    def _writing(self) -> Iterator[tuple[Any, str]]:
        """Give the database and the name of a collection beside the new one, which is gone afterwards."""
        errors = (load("pymongo.errors").PyMongoError, load("bson.errors").BSONError)
        unfinished = f"{self._collection}.unfinished.{secrets.token_hex(8)}"
        try:
            with self._server.writing() as database:
                try:
                    yield database, unfinished
                finally:
                    with suppress(*errors):  # renamed, or not reached any more
                        database.drop_collection(unfinished)
        except TacitaError:
            raise
        except errors as error:
            raise self._explain(error) from None

    def _explain(self, error: Exception) -> TacitaError:
        """Convert an error by its code, because its text may quote a document."""
        code = getattr(error, "code", None)
        if code == _EXISTS:
            return self._exists()
        if code == _NO_RIGHT:
            rule = "the database does not let this user create the collection"
            return SourceUnavailable(rule, field="into", value=self._collection)
        if code in _NOT_PRIMARY or isinstance(error, load("pymongo.errors").NotPrimaryError):
            return SourceUnavailable("the database can only be read here", field="output", value=self._server.place)
        return self._server.explain(error)


def _check_names(names: Sequence[str]) -> None:
    """Refuse columns that cannot be fields of one document."""
    for name in names:
        check_path(name)
        if name.split(".", maxsplit=1)[0] == "_id":
            raise InvalidInput("is the name of a document's own key in MongoDB", field=name, hint="Rename the column")
        around = next((other for other in prefixes(name) if other in names), None)
        if around is not None:
            raise InvalidInput(f"lies inside {around!r}, which is a column itself", field=name)
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        raise InvalidInput("is the name of two columns", field="columns", value=twice)


def _documents(rows: pa.Table) -> list[dict[str, Any]]:
    columns = [_values(name, rows.column(name)) for name in rows.schema.names]
    paths = [name.split(".") for name in rows.schema.names]
    documents = []
    for values in zip(*columns, strict=True):
        document: dict[str, Any] = {}
        for path, value in zip(paths, values, strict=True):
            inner = document
            for part in path[:-1]:
                inner = inner.setdefault(part, {})
            inner[path[-1]] = value
        documents.append(document)
    return documents


def _values(name: str, column: pa.ChunkedArray) -> list[Any]:
    """Return the values of a column as MongoDB has them."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _values(name, column.cast(kind.value_type))
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        at = load("bson.datetime_ms").DatetimeMS
        try:
            ticks = column.cast(pa.date64() if pa.types.is_date(kind) else pa.timestamp("ms", kind.tz), safe=False)
        except pa.ArrowException:
            raise DataError("has times that MongoDB does not hold", field=name) from None
        return [None if tick is None else at(tick) for tick in ticks.cast(pa.int64()).to_pylist()]
    if pa.types.is_nested(kind) or pa.types.is_duration(kind) or pa.types.is_interval(kind):
        raise DataError("MongoDB has no such type", field=name, value=str(kind))
    return [_value(value) for value in column.to_pylist()]


def _value(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool) and not -_WHOLE <= value < _WHOLE:
        value = Decimal(value)
    if isinstance(value, Decimal):
        return load("bson.decimal128").Decimal128(value)
    return value.isoformat() if isinstance(value, dt.time) else value

"""Connections to MongoDB, and its errors in our words.

pymongo comes with an extra, so it loads when it is first needed. No message ever holds the address: it may hold a
password. Messages of the server may quote values and stay private.

One call is one session. On a replica set or a sharded cluster (MongoDB 5 and newer) all its reads see one state; a
single server has no snapshot reads, so there a call reads everything with one cursor.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, quote_plus, unquote_plus, urlsplit

from tacita.common.extras import load_module
from tacita.errors import DataError, InvalidInput, SourceUnavailable, TacitaError

__all__ = ["Reader", "Server", "load", "place_of"]

CONNECT_SECONDS = 10.0
SIMPLE = {"locale": "simple"}
"""Texts are compared byte by byte, whatever the collection's own rule is: else `Ann` and `ann` could be one group."""
_ADDRESS = "must be an address like mongodb://user@host:27017/database"
_SNAPSHOT_WIRE = 13  # MongoDB 5.0
_TOO_SLOW, _NO_RIGHT, _NO_LOGIN, _GONE = 50, 13, 18, (239, 246)  # the last two: a snapshot that the server has dropped


def load(module: str) -> Any:
    """Import an optional module, or raise an error that states how to install it."""
    return load_module(module, extra="mongo", what="MongoDB", field="source")


def place_of(url: str) -> tuple[tuple[str, ...], str]:
    """Return hosts and database of an address, without user and options."""
    wrong = InvalidInput(_ADDRESS, field="source")
    if url.startswith("mongodb+srv:"):  # the hosts of such a name are looked up only when connecting
        try:
            parts = urlsplit(url)
            hosts: tuple[str, ...] = ((parts.hostname or "").lower(),)
        except ValueError:
            raise wrong from None
        database = parts.path.removeprefix("/")
    else:
        try:
            found = load("pymongo.uri_parser").parse_uri(url, warn=False)
        except (ValueError, load("pymongo.errors").PyMongoError):  # their messages repeat the address
            raise wrong from None
        hosts = tuple(sorted(f"{host.rstrip('.')}:{port}" for host, port in found["nodelist"]))
        database = found["database"] or ""
    if not all(hosts):
        raise wrong
    if not database:
        raise InvalidInput("the address must name a database", field="source", value=",".join(hosts))
    return hosts, database


@dataclass(frozen=True)
class Server:
    """Address and timeout of a database. The address is never shown."""

    url: str
    timeout: float | None = None

    def __post_init__(self) -> None:
        if self.timeout is not None and not 0 < self.timeout < float("inf"):
            raise InvalidInput("must be a positive number of seconds", field="timeout", value=self.timeout)
        object.__setattr__(self, "_place", place_of(self.url))

    def __repr__(self) -> str:
        return f"Server({self.place})"

    @property
    def place(self) -> str:
        """Hosts and database: the part of the address that an error may show."""
        hosts, database = self.__dict__["_place"]
        return f"{','.join(hosts)}/{database}"

    @contextmanager
    def reading(self, collection: str) -> Iterator[Reader]:
        """Open a session that reads a collection and changes nothing."""
        codec = load("bson.codec_options")
        with self._errors(), self._client() as client:
            options = codec.CodecOptions(
                # every date and every text can be read, whatever it holds
                datetime_conversion=codec.DatetimeConversion.DATETIME_MS,
                unicode_decode_error_handler="surrogateescape",
            )
            database = client.get_database(self.__dict__["_place"][1], codec_options=options)
            hello = client.admin.command("hello")
            clustered = "setName" in hello or hello.get("msg") == "isdbgrid"
            snapshot = clustered and hello["maxWireVersion"] >= _SNAPSHOT_WIRE
            with client.start_session(snapshot=snapshot) as session:
                yield Reader(database=database, collection=collection, session=session, timeout=self.timeout)

    @contextmanager
    def writing(self) -> Iterator[Any]:
        """Open the database for writing, and leave errors to the caller.

        A write counts when the majority of the servers have it.
        """
        concern = load("pymongo").WriteConcern(w="majority")
        with self._client() as client:
            yield client.get_database(self.__dict__["_place"][1], write_concern=concern)

    def _client(self) -> Any:
        """Make a client with shorter timeouts than the driver's, unless the address sets them."""
        options: dict[str, Any] = {"appname": "tacita"}
        if "serverselectiontimeoutms" not in self.url.partition("?")[2].lower():
            seconds = min(CONNECT_SECONDS, self.timeout or CONNECT_SECONDS)
            options["serverSelectionTimeoutMS"] = max(int(seconds * 1000), 1)
        errors = load("pymongo.errors")
        # for debugging the driver would log what it reads: values of private rows
        logging.getLogger("pymongo").setLevel(logging.WARNING)
        try:
            return load("pymongo").MongoClient(self.url, **options)
        except (errors.InvalidURI, errors.ConfigurationError, ValueError, TypeError) as error:
            private = self._without_secrets(str(error))
            raise InvalidInput(_ADDRESS, field="source", value=self.place, private=private) from None

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (load("pymongo.errors").PyMongoError, load("bson.errors").BSONError) as error:
            raise self.explain(error) from None

    def explain(self, error: Exception) -> TacitaError:
        """Convert an error of the server by its code, because its text may quote a document."""
        code = getattr(error, "code", None)
        if code == _TOO_SLOW or isinstance(error, load("pymongo.errors").NetworkTimeout):
            return SourceUnavailable(
                "the database did not answer in time",
                field="source",
                value=self.place,
                hint=f"The limit is {self.timeout:g} s; give more" if self.timeout else None,
            ).while_reading()
        if isinstance(error, load("bson.errors").BSONError):
            return DataError("the database sent something that is no document", field="source")
        if code == _NO_RIGHT:
            return SourceUnavailable("the database does not let this user read it", field="table")
        if code in _GONE:
            return SourceUnavailable(
                "the database has dropped the snapshot that was being read",
                field="source",
                value=self.place,
                hint="Raise its minSnapshotHistoryWindowInSeconds",
            )
        if code is None or code == _NO_LOGIN:
            # before a connection there is no document
            connecting = isinstance(error, load("pymongo.errors").ServerSelectionTimeoutError)
            return SourceUnavailable(
                "the database cannot be reached",
                field="source",
                value=self.place,
                private=self._without_secrets(str(error)) if connecting else type(error).__name__,
            )
        return DataError("the database refused the query", field="source", value=code)

    def _without_secrets(self, text: str) -> str:
        userinfo = self.url.partition("://")[2].rpartition("@")[0]
        password = unquote_plus(userinfo.partition(":")[2])
        for hidden in (self.url, userinfo, password, quote(password), quote_plus(password)):
            if hidden:
                text = text.replace(hidden, "…")
        return text


@dataclass(frozen=True, kw_only=True)
class Reader:
    """One session over one collection."""

    database: Any
    collection: str
    session: Any
    timeout: float | None

    def describe(self, *, name_only: bool = True) -> Mapping[str, Any]:
        """Return the catalogue entry of the collection or view; some users may see its name only."""
        found = self.database.list_collections(
            session=None if self.session.options.snapshot else self.session,  # the catalogue has no snapshots
            filter={"name": self.collection},
            authorizedCollections=True,
            nameOnly=name_only,
        )
        described: Mapping[str, Any] | None = next(iter(found), None)
        if described is None:
            raise DataError("no such collection in the database", field="table", value=self.collection)
        return described

    def aggregate(self, pipeline: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        """Run a pipeline and yield its documents."""
        limit = {} if self.timeout is None else {"maxTimeMS": max(int(self.timeout * 1000), 1)}
        cursor = self.database[self.collection].aggregate(
            list(pipeline), session=self.session, allowDiskUse=True, collation=SIMPLE, **limit
        )
        with cursor:
            yield from cursor

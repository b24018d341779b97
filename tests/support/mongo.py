"""A server that speaks MongoDB's wire protocol and evaluates the pipelines that our engine sends.

    with MongoServer() as server:
        server.store("shop", "people", documents)
        url = server.url("shop")

There is no MongoDB to install everywhere, and replies written down by hand would prove nothing. This one keeps
documents as BSON and evaluates each operator by itself (`mongo_pipeline`). What it does not know, it refuses, as the
real one refuses what does not exist. It is for tests: it listens on this machine only and is slow.
"""

from __future__ import annotations

import itertools
import socketserver
import struct
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Self

import bson
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.int64 import Int64
from bson.objectid import ObjectId
from bson.timestamp import Timestamp
from tests.support.mongo_pipeline import Document, Refusal, run

__all__ = ["MongoServer"]

_OP_REPLY, _OP_QUERY, _OP_MSG = 1, 2004, 2013
_HEADER = struct.Struct("<iiii")
_CODEC: CodecOptions[dict[str, Any]] = CodecOptions(
    datetime_conversion=DatetimeConversion.DATETIME_MS, unicode_decode_error_handler="surrogateescape"
)
_FIRST_BATCH = 101
_NEXT_BATCH = 1000


class MongoServer:
    """Collections in memory, behind a socket that speaks MongoDB's protocol.

    Args:
        replica_set: Whether it says that it is one, and then reads states of the past, as MongoDB 5 and newer do.

    Attributes:
        commands: All that it was asked.
        refuse: Commands that it answers with an error, by name: MongoDB's number, and what it says.
        before_aggregate: Called before each aggregate, to disturb it.
    """

    def __init__(self, *, replica_set: bool = False) -> None:
        self.replica_set = replica_set
        self.refuse: dict[str, tuple[int, str]] = {}
        self.before_aggregate: Callable[[], None] | None = None
        self.commands: list[Document] = []
        self._states: dict[tuple[str, str], list[tuple[int, list[bytes]]]] = {}
        self._uuids: dict[tuple[str, str], bson.Binary] = {}
        self._clock = itertools.count(1)
        self._cursors: dict[int, Iterator[Document]] = {}
        self._numbers = itertools.count(1000)
        self._lock = threading.RLock()
        self._server: socketserver.ThreadingTCPServer | None = None
        self._thread: threading.Thread | None = None
        self._now = 0

    def __enter__(self) -> Self:
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                outer._talk(self.rfile, self.wfile)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, request: Any, client_address: Any) -> None:
                """A client that hangs up is no news."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        assert self._thread is not None
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        """Where it listens."""
        assert self._server is not None
        return int(self._server.server_address[1])

    def url(self, database: str) -> str:
        """Address of a database."""
        return f"mongodb://127.0.0.1:{self.port}/{database}"

    def store(self, database: str, collection: str, documents: Iterable[Mapping[str, Any]]) -> None:
        """Make these the documents of a collection, whatever it held before."""
        self.store_raw(database, collection, [bson.encode({"_id": ObjectId(), **document}) for document in documents])

    def store_raw(self, database: str, collection: str, documents: list[bytes]) -> None:
        """The same, for bytes that no driver would write."""
        with self._lock:
            self._now = next(self._clock)
            self._states.setdefault((database, collection), []).append((self._now, documents))
            self._uuids.setdefault((database, collection), bson.Binary(ObjectId().binary + b"0000", 4))

    # -- the protocol ----------------------------------------------------------------------------------------------

    def _talk(self, reads: Any, writes: Any) -> None:
        while len(header := reads.read(_HEADER.size)) == _HEADER.size:
            length, request, _, operation = _HEADER.unpack(header)
            body = reads.read(length - _HEADER.size)
            if operation == _OP_QUERY:  # how a driver says hello before it knows who is there
                name_end = body.index(b"\0", 4)
                command = bson.decode(body[name_end + 9 :], _CODEC)
                payload = struct.pack("<iqii", 8, 0, 0, 1) + _encode(self._answer(command))
                reply = _OP_REPLY
            else:
                payload = struct.pack("<IB", 0, 0) + _encode(self._answer(_command(body)))
                reply = _OP_MSG
            writes.write(_HEADER.pack(_HEADER.size + len(payload), 0, request, reply) + payload)
            writes.flush()

    def _answer(self, command: Document) -> Document:
        name = next(iter(command))
        with self._lock:
            self.commands.append(command)
        try:
            if name in self.refuse:
                code, message = self.refuse[name]
                raise Refusal(code, "Refused", message)
            known: dict[str, Callable[[Document], Document]] = {
                "hello": self._hello,
                "ismaster": self._hello,
                "isMaster": self._hello,
                "listCollections": self._list_collections,
                "aggregate": self._aggregate,
                "getMore": self._get_more,
                "create": self._create,
                "drop": self._drop,
                "insert": self._insert,
                "renameCollection": self._rename,
                "killCursors": lambda _: {"ok": 1.0},
                "endSessions": lambda _: {"ok": 1.0},
                "ping": lambda _: {"ok": 1.0},
            }
            if name not in known:
                raise Refusal(59, "CommandNotFound", f"no such command: '{name}'")
            return known[name](command)
        except Refusal as refusal:
            return refusal.reply

    def _hello(self, _: Document) -> Document:
        here = f"127.0.0.1:{self.port}"
        alone: Document = {
            "helloOk": True,
            "isWritablePrimary": True,
            "ismaster": True,
            "minWireVersion": 0,
            "maxWireVersion": 21,
            "maxBsonObjectSize": 16 << 20,
            "maxMessageSizeBytes": 48_000_000,
            "maxWriteBatchSize": 100_000,
            "logicalSessionTimeoutMinutes": 30,
            "readOnly": False,
            "ok": 1.0,
        }
        together = {"setName": "rs", "setVersion": 1, "hosts": [here], "primary": here, "me": here, "secondary": False}
        return alone | together if self.replica_set else alone

    def _list_collections(self, command: Document) -> Document:
        wanted = command.get("filter", {}).get("name")
        names = [name for database, name in self._states if database == command["$db"] and wanted in (None, name)]
        listed = [
            {"name": name, "type": "collection", "info": {"uuid": self._uuids[command["$db"], name]}} for name in names
        ]
        return {"cursor": {"id": Int64(0), "ns": f"{command['$db']}.$cmd", "firstBatch": listed}, "ok": 1.0}

    def _create(self, command: Document) -> Document:
        if (command["$db"], command["create"]) in self._states:
            raise Refusal(48, "NamespaceExists", "Collection already exists")
        self.store(command["$db"], command["create"], [])
        return {"ok": 1.0}

    def _drop(self, command: Document) -> Document:
        with self._lock:
            for kept in (self._states, self._uuids):
                kept.pop((command["$db"], command["drop"]), None)
        return {"ok": 1.0}

    def _rename(self, command: Document) -> Document:
        old, new = (tuple(command[name].split(".", 1)) for name in ("renameCollection", "to"))
        with self._lock:
            if old not in self._states:
                raise Refusal(26, "NamespaceNotFound", f"Source collection {old} does not exist")
            if new in self._states and not command.get("dropTarget"):
                raise Refusal(48, "NamespaceExists", "target namespace exists")
            for kept in (self._states, self._uuids):
                kept[new] = kept.pop(old)
        return {"ok": 1.0}

    def _insert(self, command: Document) -> Document:
        with self._lock:
            held = self._states.get((command["$db"], command["insert"]), [(0, [])])[-1][1]
            new = [bson.encode(document) for document in command["documents"]]
            self.store_raw(command["$db"], command["insert"], [*held, *new])
        return {"ok": 1.0, "n": len(new)}

    def _aggregate(self, command: Document) -> Document:
        if self.before_aggregate is not None:
            self.before_aggregate()
        if command.get("collation") != {"locale": "simple"}:
            raise Refusal(2, "BadValue", "texts would be compared by the collection's own rule")
        where = (command["$db"], command["aggregate"])
        states = self._states.get(where, [(0, [])])
        concern = command.get("readConcern", {})
        moment = None
        if concern.get("level") == "snapshot":
            if not self.replica_set:
                raise Refusal(246, "SnapshotUnavailable", "a single server has no snapshots")
            moment = concern["atClusterTime"].inc if "atClusterTime" in concern else self._now
        held = [documents for time, documents in states if moment is None or time <= moment][-1]
        found = iter(run(command["pipeline"], [bson.decode(document, _CODEC) for document in held]))
        number = next(self._numbers)
        self._cursors[number] = found
        cursor = self._batch(number, f"{where[0]}.{where[1]}", "firstBatch", _FIRST_BATCH)
        if moment is not None:
            cursor["atClusterTime"] = Timestamp(1, moment)
        return {"cursor": cursor, "ok": 1.0}

    def _get_more(self, command: Document) -> Document:
        number = int(command["getMore"])
        if number not in self._cursors:
            raise Refusal(43, "CursorNotFound", f"cursor id {number} not found")
        names = f"{command['$db']}.{command['collection']}"
        return {"cursor": self._batch(number, names, "nextBatch", _NEXT_BATCH), "ok": 1.0}

    def _batch(self, number: int, namespace: str, name: str, size: int) -> Document:
        batch = list(itertools.islice(self._cursors[number], size))
        if len(batch) < size:
            del self._cursors[number]
        return {"id": Int64(number if number in self._cursors else 0), "ns": namespace, name: batch}


def _encode(reply: Document) -> bytes:
    """A reply as BSON, also where a text is not UTF-8: what drivers cannot write, a server can hold."""
    broken: dict[bytes, bytes] = {}

    def mended(value: Any) -> Any:
        if isinstance(value, str) and any("\udc80" <= letter <= "\udcff" for letter in value):
            marked = "".join("\1" if "\udc80" <= letter <= "\udcff" else letter for letter in value)
            broken[marked.encode() + b"\0"] = value.encode(errors="surrogateescape") + b"\0"
            return marked
        if isinstance(value, list):
            return [mended(part) for part in value]
        return {name: mended(part) for name, part in value.items()} if isinstance(value, dict) else value

    encoded = bson.encode(mended(reply))
    for marked, raw in broken.items():
        encoded = encoded.replace(marked, raw)
    return encoded


def _command(body: bytes) -> Document:
    """The command of a message: its document, and sequences of documents beside it."""
    command: Document = {}
    at = 4  # after the flags, of which a driver sets none that matters here
    while at < len(body):
        kind = body[at]
        (size,) = struct.unpack_from("<i", body, at + 1)
        if kind == 0:
            command = {**bson.decode(body[at + 1 : at + 1 + size], _CODEC), **command}
        else:
            end = body.index(b"\0", at + 5)
            inside = body[end + 1 : at + 1 + size]
            command[body[at + 5 : end].decode()] = bson.decode_all(inside, _CODEC)
        at += 1 + size
    return command

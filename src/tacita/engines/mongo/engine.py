"""Counting in MongoDB, next to the data.

Each attribute becomes an expression that yields its code (`compile`). Tables of few cells are counted by the server,
with one $group over the codes of all attributes that a workload uses; all tables of the workload are summed from it
here. With more cells, there would be hardly fewer groups than rows, so the codes are streamed and counted with the
local engine's kernels. A call reads the collection once, with one cursor.

MongoDB's pipelines have no md5, so persons' rows are not bounded there: the server sends keys and codes sorted by key,
and each person's rows are chosen here, by the rule and the code that all engines share.

A collection has no declared types. They are read from all documents when the engine is made, and fields that are no
plain values (lists, documents, several types in one field) are refused with their path. Counting fails on no value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.common.progress import step
from tacita.domain import Domain
from tacita.engines.adding import Added, Sums
from tacita.engines.applying import apply_recoding
from tacita.engines.base import BATCH_ROWS, SourceCheck
from tacita.engines.checking import check_codes, check_reading, check_rebinned, column_check, may_be_outside
from tacita.engines.local.bound import Bound, key_texts
from tacita.engines.local.counter import Counter
from tacita.engines.local.layout import Layout
from tacita.engines.mongo import adding
from tacita.engines.mongo import compile as pipelines
from tacita.engines.mongo.driver import Reader, Server, load
from tacita.engines.mongo.flatten import ABSENT, array_of, arrow_type, check_kinds, code_of, raw
from tacita.engines.mongo.names import all_prefixes, check_collection, check_fields, prefixes
from tacita.errors import DataError
from tacita.privacy.unit import Unit
from tacita.tables.recoding import Recoding
from tacita.tables.table import Table
from tacita.tables.workload import Tables, Workload

__all__ = ["MongoEngine"]

GROUPED_CELLS = 1 << 20
"""Most cells that the server counts itself."""
_STREAMED_ROWS = 1 << 16  # rows that are counted at once

Key = tuple[str, ...]
Codes = dict[str, NDArray[np.int64]]
Document = Mapping[str, Any]


class MongoEngine:
    """A collection or view in MongoDB.

    Args:
        domain: The schema; the attribute `a.b` is the field b of the document a.
        url: Address of the database, `mongodb://…/database`. It never appears in a message.
        collection: The collection, spelled as in the database.
        unwind: The list whose elements are the rows, if they are: its elements' fields are `LIST.field`, and the
            schema must name the person, because a document has many rows then.
        timeout: Seconds that one pipeline may take; no limit by default.
        checked: Whether `check` has accepted the collection before; then its types are not read again. Later values
            that do not fit are out of domain: no query fails on them, so that no failure reveals a person.
        grouped_cells: Most cells that the server counts itself; for more, it streams codes.
    """

    def __init__(
        self,
        domain: Domain,
        url: str,
        collection: str,
        *,
        unwind: str | None = None,
        timeout: float | None = None,
        checked: bool = False,
        grouped_cells: int = GROUPED_CELLS,
    ) -> None:
        load("pymongo")
        self._collection = check_collection(collection)
        check_fields(domain, unwind)
        self._domain, self._unwind, self._grouped_cells = domain, unwind, grouped_cells
        self._server = Server(url, timeout)
        with self._reading() as reader:
            reader.describe()
            if not checked:
                self._check_types(reader)

    @property
    def domain(self) -> Domain:
        """Public description of the data."""
        return self._domain

    def tables(self, workload: Workload, unit: Unit) -> Tables:
        """Count the exact tables of a workload. See `Engine.tables`."""
        workload.check(self._domain)
        unit.check(self._domain)
        step("counting rows")
        with self._reading() as reader:
            return Tables(self._domain, self._count(reader, workload.keys, unit.max_rows if unit.person else None))

    def project(self, attributes: Iterable[str]) -> Table:
        """Count one exact table over all rows, without bounding contributions: for the owner and for tests."""
        key = self._domain.check_countable(attributes)
        with self._reading() as reader:
            return self._count(reader, [key], None)[key]

    def supports(self, attributes: Iterable[str]) -> bool:
        """Return whether the domain has all of these as countable attributes."""
        return set(attributes) <= set(self._domain.countable)

    def rows(self, columns: Iterable[str], batch_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """Return the raw columns, in batches of at most `batch_rows`."""
        names = check_reading(self._domain, columns, batch_rows)
        step("reading rows")
        return self._rows(names, batch_rows)

    def _rows(self, names: list[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
        with self._reading() as reader:
            _, kinds = self._types(reader, names, self._unwind)
            persons = [name == self._domain.person for name in names]
            types = [
                arrow_type(self._domain[name], kinds[name], person=person)
                for name, person in zip(names, persons, strict=True)
            ]
            documents = reader.aggregate(pipelines.raw_rows(names, self._unwind))
            while batch := list(islice(documents, batch_rows)):
                arrays = [
                    array_of(self._domain[name], kind, [document.get(f"c{i}") for document in batch], person=person)
                    for i, (name, kind, person) in enumerate(zip(names, types, persons, strict=True))
                ]
                yield pa.RecordBatch.from_arrays(arrays, names=names)

    def sums(self, request: Sums) -> Added | None:
        """Add up formulas next to the data, with one pipeline. See `Adds.sums`.

        Pipelines have no md5, so that persons' rows are streamed. So are values whose numbers the server cannot compute
        exactly: text, decimals.
        """
        request.unit.check(self._domain)
        combinations = math.prod(self._domain[name].size + 1 for name in request.names)
        cells = combinations * (1 + sum(formula.high - formula.low + 1 for _, formula in request.counts))
        if request.unit.person is not None or cells > self._grouped_cells:
            return None
        step("adding up rows")
        with self._reading() as reader:
            documents = list(reader.aggregate(adding.pipeline_of(request, self._domain, self._unwind)))
        if not adding.is_exact(request, self._domain, documents):
            return None
        coder = _Coder(self._domain, request.names)

        def codes_of(found: Sequence[Document]) -> NDArray[np.int64]:
            columns = coder.columns(found)
            return (
                np.array([columns[name] for name in request.names], np.int64).reshape(len(request.names), len(found)).T
            )

        return adding.added_of(request, documents, codes_of)

    def apply(
        self, recoding: Recoding, columns: Iterable[str], batch_rows: int = BATCH_ROWS
    ) -> Iterator[pa.RecordBatch]:
        """Return the rows under a recoding. See `Recodes.apply`."""
        return apply_recoding(recoding, self._domain, columns, batch_rows, self.rows)

    def with_bins(self, domain: Domain) -> MongoEngine:
        """Return an engine over the same source with other bins. See `Rebins.with_bins`."""
        return MongoEngine(
            check_rebinned(self._domain, domain),
            self._server.url,
            self._collection,
            unwind=self._unwind,
            timeout=self._server.timeout,
            checked=True,  # the types of values do not depend on bins
            grouped_cells=self._grouped_cells,
        )

    def check(self) -> SourceCheck:
        """Check how well the data fits its schema."""
        names, rows = self._domain.countable, 0
        totals = {name: np.zeros(self._domain[name].size + 1, np.int64) for name in names}
        with self._reading() as reader:
            reader.describe()
            rows = self._check_types(reader)
            for codes, _ in self._coded(reader, names):
                for name in names:
                    totals[name] += np.bincount(codes[name], minlength=len(totals[name]))
        columns = tuple(column_check(self._domain, name, totals[name]) for name in names)
        return SourceCheck(rows=rows, columns=columns)

    # -- counting --------------------------------------------------------------------------------------------------

    def _count(self, reader: Reader, keys: Sequence[Key], max_rows: int | None) -> dict[Key, Table]:
        used = {name for key in keys for name in key}
        names = tuple(name for name in self._domain.countable if name in used)
        cells = math.prod(self._domain[name].size + 1 for name in names)
        if max_rows is None and (cells <= self._grouped_cells or not names):
            return self._grouped(reader, keys, names)
        blocks = self._coded(reader, names)
        if max_rows is not None:
            names = self._domain.countable
            blocks = self._bounded(reader, max_rows)
        layout = Layout(self._domain, names)
        counter = Counter(layout, keys, may_be_outside(self._domain, names), None)
        for codes, rows in blocks:
            counter.add(layout.split(codes, rows))
        return counter.tables()

    def _grouped(self, reader: Reader, keys: Sequence[Key], names: Key) -> dict[Key, Table]:
        """Return tables whose cells the server counts; cells outside the domain are cut off."""
        coder = _Coder(self._domain, names)
        documents = list(reader.aggregate(pipelines.grouped_codes(self._domain, names, self._unwind)))
        codes = coder.columns([document["_id"] or {} for document in documents])
        counts = np.array([document["n"] for document in documents], np.int64)
        tables = {}
        for key in keys:
            domain = self._domain.project(key)
            inside = np.ones(len(counts), np.bool_)
            for name in key:
                inside &= codes[name] < domain[name].size
            cells = np.zeros(domain.shape, np.int64)
            np.add.at(cells, tuple(codes[name][inside] for name in key), counts[inside] if key else counts.sum())
            tables[key] = Table(domain, cells)
        return tables

    def _coded(self, reader: Reader, names: Sequence[str]) -> Iterator[tuple[Codes, int]]:
        """Yield the codes of all rows, batch by batch."""
        coder = _Coder(self._domain, names)
        documents = reader.aggregate(pipelines.coded_rows(self._domain, names, self._unwind)) if names else iter(())
        while batch := list(islice(documents, _STREAMED_ROWS)):
            yield coder.columns(batch), len(batch)

    def _bounded(self, reader: Reader, max_rows: int) -> Iterator[tuple[Codes, int]]:
        """Yield the codes of the rows that count: at most `max_rows` of each person."""
        person, names = self._domain.person, self._domain.countable
        assert person is not None
        coder = _Coder(self._domain, names)
        for batch in _whole_persons(reader.aggregate(pipelines.bounded_rows(self._domain, person, self._unwind))):
            texts = pa.array([raw(document["key"]) for document in batch], pa.binary())
            keys = key_texts(texts.view(pa.string()), self._domain.nulls, person)
            columns = coder.columns(batch)
            codes = np.array([columns[name] for name in names], np.int64).reshape(len(names), len(batch))
            over = [key for key, rows in Bound.count_persons([keys]).items() if rows > max_rows]
            bound = Bound.find(over, max_rows, [(keys, codes)]) if over else Bound({})
            (mask,) = bound.keep([(keys, codes)])
            yield {name: column[mask] for name, column in columns.items()}, int(mask.sum())

    # -- types -----------------------------------------------------------------------------------------------------

    def _check_types(self, reader: Reader) -> int:
        """Return the number of rows; refuse fields that are no plain values, with their path."""
        names = self._domain.names
        if self._unwind is not None:
            _, around = self._types(reader, prefixes(self._unwind), None)
            self._check_documents(around)
        rows, kinds = self._types(reader, (*all_prefixes(names), *names), self._unwind)
        self._check_documents({path: kinds[path] for path in all_prefixes(names)})
        for name in names:
            if name == self._unwind and "array" in kinds[name]:
                raise _too_deep(name)
            check_kinds(self._domain[name], kinds[name], person=name == self._domain.person)
            if rows and kinds[name] == {"missing"}:
                raise DataError(
                    "the schema has this field and no document does",
                    field=name,
                    hint="Write document.field for a field of a document inside",
                )
        return rows

    def _check_documents(self, kinds: Mapping[str, set[str]]) -> None:
        for path, found in kinds.items():
            if "array" in found and self._unwind is not None:
                raise _too_deep(path)
            if "array" in found:
                raise DataError(
                    "holds lists, which are not declared",
                    field=path,
                    hint=f"If its elements are the rows, pass unwind={path!r}",
                )
            if not found <= ABSENT | {"object"}:
                raise DataError(
                    "holds values where a document is expected",
                    field=path,
                    value=", ".join(sorted(found - ABSENT - {"object"})),
                )

    def _types(self, reader: Reader, paths: Sequence[str], unwind: str | None) -> tuple[int, dict[str, set[str]]]:
        """Return the number of rows, and the types that fields have in them."""
        rows, kinds = 0, {path: set[str]() for path in paths}
        for document in reader.aggregate(pipelines.types_of(paths, unwind)):
            rows += document["n"]
            for i, path in enumerate(paths):
                kinds[path].add(document["_id"][f"c{i}"])
        return rows, kinds

    def _reading(self) -> Any:
        return self._server.reading(self._collection)


class _Coder:
    """Codes of documents that hold them as c0, c1, ...; values that the server did not encode are encoded here."""

    def __init__(self, domain: Domain, names: Sequence[str]) -> None:
        self._domain, self._names = domain, tuple(names)
        self._texts: dict[tuple[str, str], int] = {}

    def columns(self, documents: Sequence[Document]) -> Codes:
        """Return a column of codes for each attribute."""
        found = {}
        for i, name in enumerate(self._names):
            place = f"c{i}"
            codes = [document[place] for document in documents]
            try:
                found[name] = np.array(codes, np.int64)
            except TypeError:  # some are values that the server did not encode
                found[name] = np.array([self._code(name, code) for code in codes], np.int64)
            check_codes(name, found[name], self._domain[name].size + 1)
        return found

    def _code(self, name: str, code: Any) -> int:
        if not isinstance(code, Mapping):
            return int(code)
        value = code["v"]
        if not isinstance(value, str):
            return code_of(self._domain[name], value, self._domain.nulls)
        if len(self._texts) > _STREAMED_ROWS:
            self._texts.clear()
        known = self._texts.get((name, value))
        if known is None:
            known = self._texts[name, value] = code_of(self._domain[name], value, self._domain.nulls)
        return known


def _whole_persons(documents: Iterator[Document]) -> Iterator[list[Document]]:
    """Yield batches of sorted rows in which all rows of a person are in one batch."""
    batch: list[Document] = []
    last = b""
    for document in documents:
        key = raw(document["key"])
        if key != last:
            if key < last:  # a person's rows must be contiguous, or they would not be bounded
                raise DataError("the database did not sort the rows as it was asked to", field="source")
            if len(batch) >= _STREAMED_ROWS:
                yield batch
                batch = []
            last = key
        batch.append(document)
    if batch:
        yield batch


def _too_deep(path: str) -> DataError:
    return DataError(
        "a list inside a list, or a second list, is too deep to be a table",
        field=path,
        hint="Make a view that unwinds it",
    )

"""An engine over the rows of those who consented; nobody else is counted or streamed.

Consent is asked for when data is read, not when the engine is made, so who opts out is out of the next answer. One
state of the consents and one reading of the rows serve a whole call. The rows come from the engine inside as they are,
are held for the call and counted here: no engine knows of consent, and no count over everybody is ever handed out.

Whether somebody's rows are in depends on that person's own consent alone, so what is promised about one person's rows
holds as before.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacita.domain import Domain
from tacita.engines.applying import apply_recoding
from tacita.engines.base import BATCH_ROWS, Engine, SourceCheck
from tacita.engines.checking import check_reading
from tacita.engines.consent.filter import ConsentFilter, Who
from tacita.engines.local.bound import key_texts
from tacita.engines.local.engine import LocalEngine
from tacita.errors import InternalError, InvalidInput
from tacita.privacy.unit import Unit
from tacita.store import now
from tacita.tables.recoding import Recoding
from tacita.tables.recoding.render import plain
from tacita.tables.table import Table
from tacita.tables.workload import Tables, Workload

__all__ = ["ConsentedEngine"]


class ConsentedEngine:
    """The rows of an engine whose persons agreed to a purpose.

    Args:
        engine: Where the data is. Its domain must name the person, because consent is a person's.
        consent: Who may be used for what.
        purpose: What the data is used for.
        clock: What time it is.
    """

    def __init__(
        self,
        engine: Engine,
        consent: ConsentFilter,
        purpose: str,
        *,
        clock: Callable[[], dt.datetime] = now,
    ) -> None:
        if engine.domain.person is None:
            raise InvalidInput("persons consent, and the schema names none", field="person")
        self._engine, self._consent, self._purpose, self._clock = engine, consent, purpose, clock
        self._person = engine.domain.person
        self._who()  # a purpose or a file that is wrong is told now

    @property
    def domain(self) -> Domain:
        """What is public about the data."""
        return self._engine.domain

    def tables(self, workload: Workload, unit: Unit) -> Tables:
        """Exact tables of a workload. See `Engine.tables`."""
        workload.check(self.domain)
        unit.check(self.domain)
        return self._held().tables(workload, unit)

    def project(self, attributes: Iterable[str]) -> Table:
        """One exact table over all rows that may be used, unbounded: for the owner and for tests."""
        return self._held().project(self.domain.check_countable(attributes))

    def supports(self, attributes: Iterable[str]) -> bool:
        """Whether the domain has all of these as countable attributes."""
        return self._engine.supports(attributes)

    def rows(self, columns: Iterable[str], batch_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """The raw columns of the rows that may be used."""
        names = check_reading(self.domain, columns, batch_rows)
        return self._rows(names, batch_rows)

    def _rows(self, names: list[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
        who = self._who()
        read = list(dict.fromkeys([*names, self._person]))
        for batch in self._engine.rows(read, batch_rows):
            kept = batch.filter(pa.array(self._mask(batch.column(self._person), who))).select(names)
            # a dictionary would still hold what those said who did not agree
            yield pa.RecordBatch.from_arrays([plain(column) for column in kept.columns], names=kept.schema.names)

    def apply(
        self, recoding: Recoding, columns: Iterable[str], batch_rows: int = BATCH_ROWS
    ) -> Iterator[pa.RecordBatch]:
        """The rows under a recoding. See `Engine.apply`."""
        return apply_recoding(recoding, self.domain, columns, batch_rows, self.rows)

    def check(self) -> SourceCheck:
        """How well the rows that may be used fit their schema.

        The whole source is read as well, so that what is broken shows; what that counts goes nowhere.
        """
        advice = self._engine.check().advice
        return dataclasses.replace(self._held().check(), advice=advice)

    def _who(self) -> Who:
        return self._consent.who(self._purpose, self._clock())

    def _mask(self, keys: pa.Array, who: Who) -> NDArray[np.bool_]:
        """Which rows may be used: those of nobody may not."""
        persons = key_texts(keys, self.domain.nulls, self._person)
        texts = persons.dictionary.to_pylist()
        known = [text for text in texts if text is not None]
        answers = list(who(known))
        if len(answers) != len(known):
            raise InternalError("consent was not told for each person", field="consent")
        allowed = {text for text, answer in zip(known, answers, strict=True) if answer}
        table = np.array([text in allowed for text in texts] + [False])
        places = pc.fill_null(persons.indices.cast(pa.int64()), len(texts)).to_numpy(zero_copy_only=False)
        return np.asarray(table[places])

    def _held(self) -> LocalEngine:
        """The rows that may be used, read once and held: a second reading could meet other rows."""
        names = list(self.domain.names)
        batches = list(self._rows(names, BATCH_ROWS))
        empty = pa.table({name: pa.nulls(0) for name in names})
        return LocalEngine(self.domain, pa.Table.from_batches(batches) if batches else empty)

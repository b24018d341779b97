"""An engine over the rows of people who consented; no other rows are counted or streamed.

Consent is looked up when data is read, not when the engine is made, so a person who opts out is left out of the next
answer. A whole call uses one state of the consents and one reading of the rows. The rows come unchanged from the inner
engine, are held for the call and counted here: no other engine handles consent, and no count over all people is ever
returned.

Whether a person's rows are used depends on that person's own consent alone, so guarantees about one person's rows hold
as before.
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
from tacita.engines.base import BATCH_ROWS, Engine, Rebins, SourceCheck
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
        engine: The engine with the data. Its domain must name the person, because persons consent.
        consent: The consent manager.
        purpose: The purpose of the use.
        clock: Returns the current time.
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
            raise InvalidInput("consent needs `person:` in the schema", field="person")
        self._engine, self._consent, self._purpose, self._clock = engine, consent, purpose, clock
        self._person = engine.domain.person
        self._who()  # a wrong purpose or file is refused now

    @property
    def domain(self) -> Domain:
        """Public description of the data."""
        return self._engine.domain

    def tables(self, workload: Workload, unit: Unit) -> Tables:
        """Count the exact tables of a workload. See `Engine.tables`."""
        workload.check(self.domain)
        unit.check(self.domain)
        return self._held().tables(workload, unit)

    def project(self, attributes: Iterable[str]) -> Table:
        """Count one exact table over all rows that may be used, without bounds: for the owner and for tests."""
        return self._held().project(self.domain.check_countable(attributes))

    def supports(self, attributes: Iterable[str]) -> bool:
        """Return whether the domain has all of these as countable attributes."""
        return self._engine.supports(attributes)

    def rows(self, columns: Iterable[str], batch_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """Return the raw columns of the rows that may be used."""
        names = check_reading(self.domain, columns, batch_rows)
        return self._rows(names, batch_rows)

    def _rows(self, names: list[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
        who = self._who()
        read = list(dict.fromkeys([*names, self._person]))
        for batch in self._engine.rows(read, batch_rows):
            kept = batch.filter(pa.array(self._mask(batch.column(self._person), who))).select(names)
            # a dictionary would still hold values of people who did not consent
            yield pa.RecordBatch.from_arrays([plain(column) for column in kept.columns], names=kept.schema.names)

    def apply(
        self, recoding: Recoding, columns: Iterable[str], batch_rows: int = BATCH_ROWS
    ) -> Iterator[pa.RecordBatch]:
        """Return the rows under a recoding. See `Recodes.apply`."""
        return apply_recoding(recoding, self.domain, columns, batch_rows, self.rows)

    def with_bins(self, domain: Domain) -> ConsentedEngine:
        """Return the same with other bins. See `Rebins.with_bins`."""
        if not isinstance(self._engine, Rebins):
            raise InvalidInput("this engine counts its rows in no other bins", field="engine")
        return ConsentedEngine(self._engine.with_bins(domain), self._consent, self._purpose, clock=self._clock)

    def check(self) -> SourceCheck:
        """Check how well the rows that may be used fit their schema.

        The whole source is read as well, so that broken data is found; counts over the whole source are dropped.
        """
        advice = self._engine.check().advice
        return dataclasses.replace(self._held().check(), advice=advice)

    def _who(self) -> Who:
        return self._consent.who(self._purpose, self._clock())

    def _mask(self, keys: pa.Array, who: Who) -> NDArray[np.bool_]:
        """Flag the rows that may be used; rows without a person may not."""
        persons = key_texts(keys, self.domain.nulls, self._person)
        texts = persons.dictionary.to_pylist()
        known = [text for text in texts if text is not None]
        answers = list(who(known))
        if len(answers) != len(known):
            raise InternalError("the consent manager did not answer for each person", field="consent")
        allowed = {text for text, answer in zip(known, answers, strict=True) if answer}
        table = np.array([text in allowed for text in texts] + [False])
        places = pc.fill_null(persons.indices.cast(pa.int64()), len(texts)).to_numpy(zero_copy_only=False)
        return np.asarray(table[places])

    def _held(self) -> LocalEngine:
        """Return an engine over the rows that may be used, read once: a second reading could return other rows."""
        names = list(self.domain.names)
        batches = list(self._rows(names, BATCH_ROWS))
        empty = pa.table({name: pa.nulls(0) for name in names})
        return LocalEngine(self.domain, pa.Table.from_batches(batches) if batches else empty)

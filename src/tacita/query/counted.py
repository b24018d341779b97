"""The rows that count: all of them, or at most so many of each person.

Privacy:  of a person with more rows than the unit allows, the rows that `Engine.tables` would count are kept, chosen by
          a rule that looks at that person's rows alone. Of rows with equal codes the first ones are: they may differ
          inside a bin, which changes no bound.
Cost:     one pass, so that a change of the source cannot slip in between; for persons, the codes and the columns that
          are asked for are held in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from tacita.engines.base import Engine
from tacita.engines.local.bound import Bound, key_texts
from tacita.privacy.unit import Unit

__all__ = ["counted_rows"]


def counted_rows(engine: Engine, columns: Sequence[str], unit: Unit) -> Iterator[pa.RecordBatch]:
    """Raw columns of the rows that count, batch by batch."""
    domain = engine.domain
    unit.check(domain)
    if unit.person is None:
        yield from engine.rows(columns)
        return
    keyed, kept = [], []
    for batch in engine.rows(dict.fromkeys([*columns, *domain.countable, unit.person])):
        codes = [code.astype(np.uint32) for code in domain.encode(batch).values()]
        keyed.append((key_texts(batch.column(unit.person), domain.nulls, unit.person), np.array(codes)))
        kept.append(batch.select(columns))
    persons = Bound.count_persons(keys for keys, _ in keyed)
    over = [key for key, rows in persons.items() if rows > unit.max_rows]
    bound = Bound.find(over, unit.max_rows, keyed)
    for batch, mask in zip(kept, bound.keep(keyed), strict=True):
        yield batch.filter(pa.array(mask))

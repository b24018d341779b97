"""Refusal of released rows as data: they hold labels of several values where the schema has values.

`17..24`, `{a, b}` and `*` mean several values, as in anonymized rows and in synthetic rows with `--decode label`. To a
schema they are out of domain, so every count of them would be 0 and still be charged. A file is therefore refused
before anything is charged.

Privacy: reads exact rows, and the refusal depends on them. Only the command line and comparisons do this, for the owner
who holds the file; a service does not. A column is refused when more than half of the rows that are read hold labels;
no value is named.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tacita.domain import Binned, Domain
from tacita.errors import InvalidInput

__all__ = ["check_values"]

_RANGE = r"^(\(missing\) or )?.+\.\..+$"
_SET = r"^\{.*\}$"


def check_values(domain: Domain, rows: pa.Table | pa.RecordBatch) -> None:
    """Refuse rows whose columns mostly hold labels of several values, and not values of the schema.

    >>> from tacita.domain import Numeric
    >>> check_values(Domain(attributes=[Numeric(name="age", bounds=(0, 9), bins=2)]), pa.table({"age": ["7", "8"]}))
    """
    for name in domain.countable:
        if name not in rows.schema.names or not rows.num_rows:
            continue
        column = rows.column(name)
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            continue
        texts = column.cast(pa.string())
        attribute = domain[name]
        known = set() if isinstance(attribute, Binned) else set(attribute.labels)
        ordered = isinstance(attribute, Binned) or attribute.kind == "ordinal"
        pattern = f"{_RANGE}|{_SET}|^\\*$" if ordered else f"{_SET}|^\\*$"
        found = pc.match_substring_regex(texts, pattern)
        if known:
            found = pc.and_(found, pc.invert(pc.is_in(texts, value_set=pa.array(sorted(known)))))
        held = pc.sum(found).as_py() or 0
        if 2 * held > rows.num_rows:
            raise InvalidInput(
                "holds labels that stand for several values, as releases do, and not values of the schema",
                field=name,
                hint=(
                    "Draw synthetic rows with --decode uniform; assess, or fit on, anonymized rows as a release "
                    "(`tacita assess`, `fit_on_release`)"
                ),
            )

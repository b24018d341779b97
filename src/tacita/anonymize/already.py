"""Find sets of columns that are k-anonymous as they are, so that they can be released without generalisation.

When a set of columns is not k-anonymous, no larger one is, so sets are built from the bottom and only of what held.
Each such release is k-anonymous by itself. Two of them together need not be: a recipient of both can join them on
shared columns, so `together` computes the k of all released columns.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from tacita.anonymize.criteria.conditions import Achieved, Conditions
from tacita.anonymize.quasi import DistinctRows, distinct_rows, read_distinct_rows
from tacita.anonymize.recount import classes_of, recount
from tacita.domain import Domain
from tacita.errors import InternalError, InvalidInput

__all__ = ["MOST_COLUMNS", "already_anonymous", "project_rows", "together"]

MOST_COLUMNS = 20
"""More columns are refused: there are too many sets of them."""
_MOST_SETS = 100_000


def already_anonymous(domain: Domain, table: pa.Table, columns: Sequence[str], k: int) -> tuple[str, ...]:
    """The largest set of these columns that is k-anonymous as it is; empty when not even one column is.

    Args:
        domain: Public description of the rows; its person's key identifies the person of each row.
        table: The rows.
        columns: Those that are wanted, the most important first: of sets of the same size the first in this order wins.
        k: Least people with the same values.
    """
    distinct = _distinct(domain, table, columns)
    asked = Conditions(k=k)
    if distinct.people < k:
        return ()
    held: list[tuple[int, ...]] = [(j,) for j in range(len(columns)) if _found(distinct, (j,)).k >= asked.k]
    best: list[tuple[int, ...]] = held
    while held:
        best = held
        known = set(held)
        longer = sorted({(*one, other[-1]) for one, other in itertools.combinations(held, 2) if one[:-1] == other[:-1]})
        if len(longer) > _MOST_SETS:
            raise InvalidInput("has too many sets to try", field="columns", value=len(columns), hint="Give fewer")
        candidates = [s for s in longer if all(s[:i] + s[i + 1 :] in known for i in range(len(s)))]
        held = [chosen for chosen in candidates if _found(distinct, chosen).k >= k]
    return tuple(columns[j] for j in best[0]) if best else ()


def together(domain: Domain, table: pa.Table, releases: Iterable[Sequence[str]]) -> Achieved:
    """Measure several releases joined on their rows, as if their recipient could match the rows."""
    columns = tuple(dict.fromkeys(name for release in releases for name in release))
    return _found(_distinct(domain, table, columns), tuple(range(len(columns))))


def project_rows(
    domain: Domain, table: pa.Table, columns: Sequence[str], k: int, *, keep: Sequence[str] = ()
) -> pa.Table:
    """Return some columns, sorted by themselves; refuse when they are not k-anonymous.

    Values are released in one spelling: 1, 01.0 and +1 are the same number, and an unusual spelling would single out
    its author.

    Args:
        domain: Public description of the rows.
        table: The rows.
        columns: Columns that must be k-anonymous.
        k: Least people with the same values.
        keep: Other columns to release, unchanged, even if an attacker may know them.
    """
    if _found(_distinct(domain, table, columns), tuple(range(len(columns)))).k < k:
        raise InvalidInput("these columns are not k-anonymous as they are", field="k", value=k)
    distinct = _distinct(domain, table, (*columns, *keep))
    codes = distinct.codes[distinct.of_row]
    order = np.lexsort([codes[:, place] for place in reversed(range(codes.shape[1]))])
    spelled = [
        pa.array(axis.texts, pa.string()).take(pa.array(codes[order, j])) for j, axis in enumerate(distinct.axes)
    ]
    rows = pa.table(spelled, names=[*columns, *keep])
    persons = None if distinct.persons is None else distinct.persons[order]
    if recount(classes_of(rows, columns), {}, Conditions(k=1), persons=persons).k < k:
        raise InternalError("the columns do not meet the conditions and are not released", field="k")
    return rows


def _distinct(domain: Domain, table: pa.Table, columns: Sequence[str]) -> DistinctRows:
    if not columns or len(columns) > MOST_COLUMNS:
        raise InvalidInput(f"must be 1 to {MOST_COLUMNS} columns", field="columns", value=len(columns))
    for name in columns:
        if domain[name].kind == "identifier" or domain[name].role == "identifier":
            raise InvalidInput("an identifier is never released", field=name)
    if len(set(columns)) != len(columns):
        raise InvalidInput("must be distinct", field="columns", value=list(columns))
    return read_distinct_rows(domain, table, columns)


def _found(distinct: DistinctRows, chosen: tuple[int, ...]) -> Achieved:
    sizes = [len(distinct.axes[j]) for j in chosen]
    _, group = distinct_rows(distinct.codes[:, list(chosen)], sizes)
    return recount(group[distinct.of_row], {}, Conditions(k=1), persons=distinct.persons)

"""The relaxed and the legacy mode, against the published algorithm written down again."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.anonymize.slow_cuts import DOMAIN, QUICK, read, tables

from tacita.anonymize import Anonymize, Conditions, Mondrian, read_distinct_rows
from tacita.anonymize.kernels.published import relaxed
from tacita.anonymize.loss import gcp


@QUICK
@given(table=tables(), k=st.integers(1, 6))
def test_relaxed_classes_are_below_2k_unless_all_in_them_are_the_same(table, k):
    distinct, shape, _ = read(table, False)
    items = np.repeat(np.arange(len(distinct.codes)), distinct.weights)
    classes = relaxed(distinct.codes, items, k, shape)
    for number, size in Counter(classes.tolist()).items():
        assert size >= min(k, table.num_rows)
        assert size < 2 * k or len(set(items[classes == number].tolist())) == 1
    assert sorted(items.tolist()) == np.repeat(np.arange(len(distinct.codes)), distinct.weights).tolist()


def slow_legacy(rows, k):
    """Stale ranges, one cut only: written from the description, on rows of numbers."""
    wide = len(rows[0])
    order = [sorted({row[j] for row in rows}) for j in range(wide)]
    span = [values[-1] - values[0] for values in order]
    work, done = [(list(range(len(rows))), [v[0] for v in order], [v[-1] for v in order])], []
    while work:
        part, low, high = work.pop()
        allowed = list(range(wide))
        while allowed:
            j = max(allowed, key=lambda a: ((high[a] - low[a]) / span[a] if span[a] else 0, -a))
            values = sorted(rows[i][j] for i in part)
            low[j], high[j] = values[0], values[-1]
            half = len(part) // 2
            allowed.remove(j)
            if half < k or low[j] == high[j]:
                continue
            cut = next(v for v in sorted(set(values)) if sum(1 for w in values if w <= v) >= half)
            left, right = [i for i in part if rows[i][j] <= cut], [i for i in part if rows[i][j] > cut]
            if cut == high[j] or min(len(left), len(right)) < k:
                continue
            above = min(rows[i][j] for i in right)
            work.append((left, list(low), [*high[:j], cut, *high[j + 1 :]]))
            work.append((right, [*low[:j], above, *low[j + 1 :]], list(high)))
            break
        else:
            done.append(part)
    return done


def legacy_gcp(rows, groups):
    wide = len(rows[0])
    span = [max(row[j] for row in rows) - min(row[j] for row in rows) for j in range(wide)]
    lost = 0.0
    for part in groups:
        for j in range(wide):
            values = [rows[i][j] for i in part]
            lost += len(part) * ((max(values) - min(values)) / span[j] if span[j] else 0)
    return lost / wide / len(rows)


@QUICK
@given(table=tables(least=2, most=60), k=st.integers(1, 6))
def test_legacy_is_the_published_algorithm(table, k):
    if table.num_rows < k:
        return
    first = {pet: place for place, pet in reversed(list(enumerate(table["pet"].to_pylist())))}
    codes = {pet: code for code, pet in enumerate(sorted(first, key=first.get))}
    rows = [(row["x"], codes[row["pet"]], row["y"]) for row in table.to_pylist()]
    groups = slow_legacy(rows, k)
    plan = Anonymize(conditions=Conditions(k=k), method=Mondrian(mode="legacy")).prepare(DOMAIN)
    found = plan.run_on(table)
    distinct = read_distinct_rows(DOMAIN, table, DOMAIN.names, by_appearance=True)
    assert gcp(distinct, found.recoding, "code range") == pytest.approx(legacy_gcp(rows, groups))
    assert found.achieved.classes == len(groups)


def test_legacy_labels_list_all_codes_in_between():
    table = pa.table({"x": [1] * 4, "pet": ["dog", "ant", "eel", "dog"], "y": [1.0] * 4})
    found = Anonymize(conditions=Conditions(k=4), method=Mondrian(mode="legacy")).prepare(DOMAIN).run_on(table)
    assert set(found.rows["pet"].to_pylist()) == {"dog~ant~eel"}

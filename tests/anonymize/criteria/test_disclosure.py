"""Log ratios of values by their definition, and what every method releases."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacita.anonymize import Anonymize, Conditions
from tacita.anonymize.criteria import Classes, Sensitive
from tacita.anonymize.criteria.disclosure import DeltaDisclosure
from tacita.anonymize.methods.registry import METHODS, make_method
from tacita.domain import Categorical, Domain, Numeric
from tacita.errors import InvalidInput

ILLS = ["flu", "cold", "gout"]
DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(0, 99), integer=True, role="quasi-identifier"),
        Categorical(name="ill", levels=ILLS, role="sensitive"),
    ]
)


def ratio_of(rows, table):
    """The largest log ratio of a value in a class, from nothing but the rows."""
    whole, groups = Counter(table["ill"].to_pylist()), defaultdict(Counter)
    for row in rows.to_pylist():
        groups[row["age"]][row["ill"]] += 1
    worst = 0.0
    for ills in groups.values():
        for ill, count in whole.items():
            share = ills[ill] / sum(ills.values())
            worst = max(worst, abs(math.log(share * table.num_rows / count)) if share else math.inf)
    return worst


@given(
    table=st.lists(st.lists(st.integers(0, 6), min_size=3, max_size=3).filter(any), min_size=1, max_size=4),
    rest=st.lists(st.integers(0, 9), min_size=3, max_size=3),
)
def test_the_figure_is_the_definition(table, rest):
    whole = np.sum([*table, rest], axis=0)
    people = np.sum(table, axis=1)
    classes = Classes(
        people=people,
        rows=people,
        population=people,
        counts=np.array(table),
        attribute=Sensitive(name="x", whole=whole),
    )
    for found, counts in zip(DeltaDisclosure(disclosure=1.0).measure(classes), table, strict=True):
        pairs = [(count / sum(counts), all_ / whole.sum()) for count, all_ in zip(counts, whole, strict=True) if all_]
        assert found == pytest.approx(max(abs(math.log(p / q)) if p else math.inf for p, q in pairs), abs=1e-12)


@pytest.mark.parametrize("delta", [0.6, 1.5])
@pytest.mark.parametrize("method", METHODS)
def test_what_leaves_has_no_larger_ratio(method, delta):
    shown = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        table = pa.table({"age": rng.integers(20, 26, 70), "ill": rng.choice(ILLS, 70, p=[0.6, 0.3, 0.1])})
        made = make_method(method, {"most": 300} if method == "bayardo" else {})
        asked = Conditions.of({"k": 2, "disclosure": delta})
        result = Anonymize(conditions=asked, method=made, suppress=0.1).prepare(DOMAIN).run_on(table)
        if result.rows.num_rows:
            found = ratio_of(result.rows, table)
            assert found <= delta + 1e-9
            assert result.achieved.more["disclosure"]["ill"] == pytest.approx(found)
        without = Anonymize(conditions=Conditions(k=2), method=made).prepare(DOMAIN).run_on(table)
        shown += ratio_of(without.rows, table) > delta
    assert shown


@pytest.mark.parametrize("delta", [0.0, -1.0, float("nan"), float("inf")])
def test_bounds_that_make_no_sense_are_refused(delta):
    with pytest.raises(InvalidInput):
        DeltaDisclosure(disclosure=delta)

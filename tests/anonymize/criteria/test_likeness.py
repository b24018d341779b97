"""Gains of values by their definition, and what every method releases."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacita.anonymize import Anonymize, Conditions
from tacita.anonymize.criteria import Classes, Sensitive
from tacita.anonymize.criteria.likeness import BetaLikeness
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


def gain_of(rows, table):
    """The largest relative gain of a value in a class, from nothing but the rows."""
    whole, groups = Counter(table["ill"].to_pylist()), defaultdict(list)
    for row in rows.to_pylist():
        groups[row["age"]].append(row["ill"])
    return max(
        (count / len(ills)) / (whole[ill] / table.num_rows) - 1
        for ills in groups.values()
        for ill, count in Counter(ills).items()
    )


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
    for found, counts in zip(BetaLikeness(beta=1.0).measure(classes), table, strict=True):
        gains = [
            count / sum(counts) / (all_ / whole.sum()) - 1 for count, all_ in zip(counts, whole, strict=True) if all_
        ]
        assert found == pytest.approx(max(gains))


@pytest.mark.parametrize("beta", [0.3, 1.0])
@pytest.mark.parametrize("method", METHODS)
def test_what_leaves_has_no_larger_gain(method, beta):
    shown = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        table = pa.table({"age": rng.integers(20, 26, 70), "ill": rng.choice(ILLS, 70, p=[0.6, 0.3, 0.1])})
        made = make_method(method, {"most": 300} if method == "bayardo" else {})
        asked = Conditions.of({"k": 2, "beta": beta})
        result = Anonymize(conditions=asked, method=made, suppress=0.1).prepare(DOMAIN).run_on(table)
        if result.rows.num_rows:
            found = gain_of(result.rows, table)
            assert found <= beta + 1e-9
            assert result.achieved.more["beta"]["ill"] == pytest.approx(found)
        without = Anonymize(conditions=Conditions(k=2), method=made).prepare(DOMAIN).run_on(table)
        shown += gain_of(without.rows, table) > beta
    assert shown


@pytest.mark.parametrize("beta", [0.0, -1.0, float("nan"), float("inf")])
def test_bounds_that_make_no_sense_are_refused(beta):
    with pytest.raises(InvalidInput):
        BetaLikeness(beta=beta)

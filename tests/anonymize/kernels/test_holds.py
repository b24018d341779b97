"""Whether a group may be a class, against counting people and values one by one."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacita.anonymize import Conditions, read_distinct_rows
from tacita.anonymize.kernels.holds import fits, fits_all, fits_each, stamps
from tacita.anonymize.methods.judge import Judge
from tacita.domain import Categorical, Domain, Identifier

ILLS = ["flu", "cold", "gout"]
DOMAIN = Domain(
    attributes=[
        Identifier(name="who"),
        Categorical(name="x", levels=list("abcd")),
        Categorical(name="ill", levels=ILLS),
    ],
    person="who",
)
ASKED = [
    {"k": 3},
    {"k": 1, "l": 2},
    {"k": 1, "l": 1.7, "l_kind": "entropy"},
    {"k": 1, "l": 2, "l_kind": "recursive", "c": 1.5},
    {"k": 1, "l": 5, "l_kind": "recursive", "c": 9.0},
    {"k": 1, "t": 0.25},
    {"k": 1, "alpha": 0.6},
    {"k": 1, "beta": 0.5},
    {"k": 1, "disclosure": 0.8},
    {"k": 2, "l": 2, "t": 0.4, "alpha": 0.7, "beta": 1.0},
]


def slow_fits(rows, whole, asked):
    """The conditions as the literature states them, in plain Python."""
    if len({who for who, _, _ in rows}) < asked["k"]:
        return False
    counts, every = (Counter(ill for _, ill in {(who, ill) for who, _, ill in some}) for some in (rows, whole))
    total, all_ = sum(counts.values()), sum(every.values())
    falling = sorted(counts.values(), reverse=True)
    kind, l = asked.get("l_kind", "distinct"), asked.get("l", 1)  # noqa: E741
    entropy = -sum(n / total * math.log(n / total) for n in falling)
    tail = sum(falling[int(l) - 1 :])
    gains = {ill: counts[ill] / total * all_ / n for ill, n in every.items()}
    return (
        (kind != "distinct" or len(counts) >= l)
        and (kind != "entropy" or entropy >= math.log(l) - 1e-12)
        and (kind != "recursive" or falling[0] < asked["c"] * tail)
        and sum(abs(counts[ill] / total - every[ill] / all_) for ill in ILLS) / 2 <= asked.get("t", 1) + 1e-12
        and falling[0] / total <= asked.get("alpha", 1) + 1e-12
        and max(gains.values()) - 1 <= asked.get("beta", math.inf) + 1e-12
        and ("disclosure" not in asked or all(g and abs(math.log(g)) <= asked["disclosure"] for g in gains.values()))
    )


@pytest.mark.parametrize("asked", ASKED, ids=str)
@settings(max_examples=40, deadline=None)
@given(rows=st.lists(st.tuples(st.sampled_from("pqrstu"), st.sampled_from("abcd"), st.sampled_from(ILLS)), min_size=2))
def test_groups_fit_by_definition(asked, rows):
    """People come back: each counts once in a group, and once for each value."""
    table = pa.table(dict(zip(("who", "x", "ill"), map(list, zip(*rows, strict=True)), strict=True)))
    distinct = read_distinct_rows(DOMAIN, table, ("x",), sensitive=("ill",))
    judge = Judge.of(distinct, Conditions.of(asked | {"t_distance": "equal"}))
    people, rules = judge.people, judge.rules
    count = len(distinct.codes)
    seen, mark = stamps(people, rules), np.zeros(count, np.int8)
    for chosen in range(1, 2**count):
        items = [item for item in range(count) if chosen >> item & 1]
        inside = [row for row, item in zip(rows, distinct.of_row.tolist(), strict=True) if item in items]
        wanted = slow_fits(inside, rows, asked)
        assert fits_all(people, rules, np.array(items)) == wanted
        mark[:] = 0
        mark[items] = 1
        assert fits(np.arange(count), mark, 1, 0, count, people, rules, seen) == wanted  # the stamps are used again
    each = fits_each(people, rules, np.arange(count))
    assert each.tolist() == [bool(fits_all(people, rules, np.array([item]))) for item in range(count)]

"""Groups of combinations, against a dictionary."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.anonymize.slow_cuts import QUICK, read, tables

from tacita.anonymize import Conditions
from tacita.anonymize.kernels.groups import judge, number_groups
from tacita.anonymize.methods.judge import rules_of


@QUICK
@given(table=tables(least=2), seed=st.integers(0, 99), k=st.integers(1, 5))
def test_combinations_that_become_the_same_are_one_group(table, seed, k):
    distinct, _, people = read(table, False)
    rng = np.random.default_rng(seed)
    becomes = [rng.integers(0, 3, len(axis)) for axis in distinct.axes]
    parts = np.concatenate([numbers * 3**j for j, numbers in enumerate(becomes)])
    at = np.cumsum([0, *(len(axis) for axis in distinct.axes[:-1])])
    of, count = number_groups(distinct.codes, parts, at)
    seen: dict[tuple[int, ...], int] = {}
    for codes, group in zip(distinct.codes.tolist(), of.tolist(), strict=True):
        key = tuple(int(numbers[code]) for numbers, code in zip(becomes, codes, strict=True))
        assert seen.setdefault(key, len(seen)) == group
    assert count == len(seen)
    order = np.argsort(of, kind="stable")
    good = judge(order, np.searchsorted(of[order], np.arange(count + 1)), people, rules_of(distinct, Conditions(k=k)))
    assert good.tolist() == [int(distinct.weights[of == group].sum()) >= k for group in range(count)]

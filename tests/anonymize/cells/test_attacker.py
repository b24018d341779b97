"""Inequalities of attackers: they cut off what does not protect, and no pattern that does."""

from __future__ import annotations

import numpy as np
import pytest
from tests.anonymize.cells.cases import problem_of

from tacita.anonymize.cells.attacker import MARGIN, Need
from tacita.anonymize.cells.audit import audit


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 2)])
def test_reach_agrees_with_the_audit_and_cuts_are_valid(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    problem = problem_of(rng.integers(1, 8, shape))
    sensitive = problem.protection.sensitive
    assert sensitive.any()
    cuts, meeting = [], []
    for _ in range(30):
        pattern = sensitive | (rng.random(len(sensitive)) < rng.uniform(0.1, 0.98))
        found = audit(problem.relations, problem.values, pattern, problem.floor)
        met = True
        for need in problem.needs:
            reach = problem.reach(pattern.astype(float), need)
            up, down = (
                found.high[need.cell] - problem.values[need.cell],
                problem.values[need.cell] - found.low[need.cell],
            )
            true = {"up": up, "down": down, "both": up + down}[need.way]
            assert reach.share == pytest.approx(min(1.0, true / need.level), abs=1e-5)
            if reach.share < 1 - MARGIN:
                met = False
                assert reach.cut @ pattern < 1 - 1e-9
                cuts.append((need, reach.cut))
        if met:
            meeting.append(pattern)
    assert cuts
    assert meeting
    for pattern in meeting:
        assert all(cut @ pattern >= 1 - 1e-6 for _, cut in cuts)


def test_cuts_of_fractional_patterns_are_valid() -> None:
    rng = np.random.default_rng(4)
    problem = problem_of(rng.integers(1, 8, (3, 3)))
    every = np.ones(len(problem.values))
    for need in problem.needs:
        s = np.where(problem.protection.sensitive, 1.0, rng.uniform(0, 0.3, len(every)))
        reach = problem.reach(s, need)
        assert 0 <= reach.share <= 1 + 1e-9
        assert reach.cut @ every >= 1 - 1e-6


def test_needs_are_merged_where_one_implies_the_other() -> None:
    problem = problem_of(np.array([[1, 9], [9, 9]]))
    assert {need.way for need in problem.needs} == {"up", "both"}
    assert problem.needs[0] == Need(int(np.flatnonzero(problem.protection.sensitive)[0]), "both", 3.0)

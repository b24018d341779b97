"""Cell suppression: the exact search beside all patterns of small tables, the heuristic beside it, audits and CPU.

All tables are generated with fixed seeds. Optima of small tables are proven by trying all patterns; those of larger
ones by the search itself, whose bound is stated where the work did not suffice.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from tests.anonymize.cells.cases import CLASSIC, cells_of, cheapest, problem_of

from bench.rows import Row
from tacita.anonymize.cells.attacker import Problem
from tacita.anonymize.cells.audit import audit, unprotected
from tacita.anonymize.cells.exact import Pattern, search
from tacita.anonymize.cells.rules import Protection
from tacita.errors import InvalidInput


def run(*, quick: bool) -> list[Row]:
    rows = [_classic()]
    rows += _brute("counts 3 x 3", [_counts((3, 3), 0.15, seed) for seed in range(5 if quick else 20)])
    rows += _brute("counts 3 x 2 x 2, margins published", _cubes(5 if quick else 12))
    rows += _brute("sums 3 x 3", [_sums(seed) for seed in range(5 if quick else 12)])
    rows += _gap("counts 8 x 8", [_counts((8, 8), 1 / 11, seed) for seed in range(4 if quick else 10)])
    rows += _gap("counts 5 x 5 x 3", [_counts((5, 5, 3), 1 / 16, seed) for seed in range(2 if quick else 5)])
    rows += _large("counts 30 x 30", _counts((30, 30), 1 / 41, 1), nodes=500)
    rows += _large("counts 10 x 10 x 6", _counts((10, 10, 6), 1 / 41, 1), nodes=0 if quick else 300)
    return rows


def _counts(shape: tuple[int, ...], p: float, seed: int) -> Problem:
    return problem_of(np.random.default_rng(seed).negative_binomial(1, p, shape))


def _cubes(many: int) -> list[Problem]:
    found = []
    for seed in range(many):
        inner = np.random.default_rng(100 + seed).integers(0, 9, (3, 2, 2)) + 1
        problem = problem_of(inner, margins=False)
        found.append(problem if np.isfinite(cheapest(problem)) else problem_of(inner + 2, margins=False, minimum=4))
    return found


def _sums(seed: int) -> Problem:
    rng = np.random.default_rng(200 + seed)
    inner = rng.lognormal(3, 2, (3, 3))
    _, values = cells_of(inner)
    secret = np.zeros(len(values), bool)
    secret[rng.choice(np.arange(7, 16), 2, replace=False)] = True
    level = np.where(secret, values * 0.2, 0.0)
    return problem_of(inner, Protection(sensitive=secret, lower=level, upper=level, width=0 * level))


def _classic() -> Row:
    relations, _ = cells_of(CLASSIC)
    secret = (relations.codes == [1, 2]).all(axis=1)
    needed = Protection(sensitive=secret, lower=secret * 5.0, upper=secret * 8.0, width=0.0 * secret)
    found = search(problem_of(CLASSIC, needed))
    return Row(bar="cost of the published 3 x 3 example", ours=found.cost, unit="", goal="= 59")


def _protected(problem: Problem, found: Pattern) -> tuple[int, int]:
    """Sensitive cells that the audit finds protected, and all of them."""
    intervals = audit(problem.relations, problem.values, found.suppressed, problem.floor)
    every = int(problem.protection.sensitive.sum())
    return every - len(unprotected(problem.values, problem.protection, intervals)), every


def _brute(name: str, problems: list[Problem]) -> list[Row]:
    solved, audits = 0, np.zeros(2, int)
    for problem in problems:
        best = cheapest(problem)
        try:
            found = search(problem)
        except InvalidInput:  # right if no pattern protects the table
            solved += not np.isfinite(best)
            continue
        solved += bool(found.how == "optimal" and np.isclose(found.cost, best))
        audits += _protected(problem, found)
    return [
        Row(bar=f"{name}: share with the optimum of all patterns", ours=solved / len(problems), unit="", goal="= 1"),
        _audited(name, audits),
    ]


def _audited(name: str, audits: Any) -> Row:
    share = audits[0] / max(audits[1], 1)
    return Row(bar=f"{name}: share of {audits[1]} sensitive cells protected", ours=share, unit="", goal="= 1")


def _gap(name: str, problems: list[Problem]) -> list[Row]:
    gaps, proven, audits = [], 0, np.zeros(2, int)
    for problem in problems:
        quick, best = search(problem, nodes=0), search(problem)
        gaps.append(quick.cost / best.cost - 1 if best.cost else 0.0)
        proven += best.how == "optimal"
        audits += _protected(problem, quick)
        audits += _protected(problem, best)
    return [
        Row(bar=f"{name}: mean gap of the heuristic", ours=float(np.mean(gaps)), unit=""),
        Row(bar=f"{name}: largest gap of the heuristic", ours=float(np.max(gaps)), unit=""),
        Row(bar=f"{name}: share proven optimal", ours=proven / len(problems), unit=""),
        _audited(name, audits),
    ]


def _large(name: str, problem: Problem, *, nodes: int) -> list[Row]:
    before = time.process_time()
    quick = search(problem, nodes=0)
    between = time.process_time()
    best = search(problem, nodes=nodes) if nodes else quick
    after = time.process_time()
    many = int(problem.protection.sensitive.sum())
    return [
        Row(bar=f"{name}, {many} sensitive: CPU of the heuristic", ours=between - before, unit="s"),
        Row(bar=f"{name}: CPU of the search with {nodes} nodes", ours=after - between, unit="s"),
        Row(bar=f"{name}: gap of the heuristic to the bound", ours=1 - best.bound / quick.cost, unit=""),
        Row(bar=f"{name}: gap of the search to the bound", ours=best.gap, unit=""),
        _audited(name, np.add(_protected(problem, quick), _protected(problem, best))),
    ]

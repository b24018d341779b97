"""Intervals of a model's shares: coverage and width, for measured tables and for those that never were.

Adult, Child, Alarm, Asia and Survey (`bench/frontier.py`) and generated tables (`bench/generated.py`); up to 20 pairs
and 20 triples of each, fixed. Truth is the table of the data. Intervals do not depend on the model, so mixtures are
fitted with a few steps here; rows about the model's own error fit it in full. Seeds are fresh noise on the same data.

    each        share of cells whose interval at 95 % holds the truth
    together    share of tables all of whose intervals at 95 % hold it together
    bootstrap   intervals that are not offered: the model is taken as the truth, rows are drawn from it, measured and
                fitted 40 times, and the 95 % quantile of the errors of each cell is taken around the model

The level is split by a union bound, so a figure of `each` should be 0.95 or more; the figures of `together` have a
sampling error of about 0.01.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from typing import Any
from unittest.mock import patch

import numpy as np

from bench.frontier import TABLES, Coded
from bench.generated import KINDS
from bench.rows import Row
from bench.synthesize import ADD, DATA, ROW, engine_of
from tacita.models.mixture_fit import fit_mixture
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.synthesize import Adaptive, Independent, Pairs, PrivBayes, SpanningTree, Synthesize, Targeted

REAL = ("survey", "asia", "child", "adult", "alarm")
METHODS: dict[str, Callable[[list[str], int], Any]] = {
    "independent": lambda names, rows: Independent(),
    "mst": lambda names, rows: SpanningTree(),
    "aim": lambda names, rows: Adaptive(rounds=min(8, len(names))),
    "privbayes": lambda names, rows: PrivBayes(),
    "targeted": lambda names, rows: Targeted(target=names[-1], people=rows, components=10, fits=1, steps=10),
    "pairs": lambda names, rows: Pairs(components=10, fits=1, steps=10),
}
BUDGETS = {"0.1": Budget.pure(0.1), "1, delta 1e-9": Budget.approx(1.0, 1e-9), "10": Budget.pure(10.0)}
_MOST_KEYS = 20
_MOST_CELLS = 20_000


def run(*, quick: bool) -> list[Row]:
    if not (DATA / "adult.data").is_file():
        return [Row(bar="tables", ours=float("nan"), unit="", note=f"no data in {DATA}: set TACITA_BENCH_DATA")]
    tables = dict(_tables(quick))
    return [*_coverage(tables, quick), *_beside_the_model(tables, quick), *_bootstrap(quick), *_sizes(quick)]


def _tables(quick: bool) -> Iterator[tuple[str, Coded]]:
    for name in REAL[:2] if quick else REAL:
        yield name, TABLES[name]()
    for kind in ("latent", "rare") if quick else KINDS:
        yield kind, _made(kind)


def _made(kind: str) -> Coded:
    rng = np.random.default_rng([78, list(KINDS).index(kind)])
    sizes = [int(size) for size in rng.integers(2, 7, 8)]
    return KINDS[kind](8000, sizes, rng), sizes


def _asked(columns: int, width: int) -> list[tuple[int, ...]]:
    keys: list[tuple[int, ...]] = list(combinations(range(columns), width))
    picked = np.random.default_rng(width).choice(len(keys), min(_MOST_KEYS, len(keys)), replace=False)
    return [keys[at] for at in sorted(picked)]


def shares_of(codes: np.ndarray, sizes: list[int], key: tuple[int, ...]) -> np.ndarray:
    shape = [sizes[at] for at in key]
    flat = np.ravel_multi_index([codes[:, at] for at in key], shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape) / len(codes)


@dataclass
class _Seen:
    """Sums over cells and tables."""

    cells: int = 0
    held: int = 0
    tables: int = 0
    whole: int = 0
    widths: list[float] = field(default_factory=list)
    widths_together: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    by_table: dict[str, list[float]] = field(default_factory=dict)

    def add(self, name: str, truth: np.ndarray, each: Any, together: Any) -> None:
        inside = _inside(each, truth)
        self.cells, self.held = self.cells + truth.size, self.held + int(inside.sum())
        self.tables, self.whole = self.tables + 1, self.whole + int(_inside(together, truth).all())
        self.widths.append(float(np.mean(each.high - each.low)))
        self.widths_together.append(float(np.mean(together.high - together.low)))
        self.shares.append(float(np.mean(truth)))
        self.by_table.setdefault(name, []).append(float(inside.mean()))


def _inside(found: Any, truth: np.ndarray) -> np.ndarray:
    return (found.low <= truth + 1e-12) & (truth <= found.high + 1e-12)


def _coverage(tables: dict[str, Coded], quick: bool) -> list[Row]:
    rows = []
    for method, make in METHODS.items():
        for words, budget in BUDGETS.items():
            if quick and words != "10":
                continue
            seen: dict[str, _Seen] = {}
            for name, (codes, sizes) in tables.items():
                if method == "aim" and len(sizes) > 20:
                    continue  # choosing takes as long as fitting does
                names = [f"c{at}" for at in range(len(sizes))]
                engine = engine_of(codes, sizes, names)
                plan = make(names, len(codes)).calibrate(engine.domain, budget, unit=ROW, neighbours=ADD)
                for seed in range(1 if quick else 3):
                    with patch("tacita.synthesize.select.fit_mixture", _few_steps):
                        made = plan.run(engine, SeededSource(seed))
                    _add(seen, name, made, codes, sizes)
            rows += _rows_of(f"{method}, epsilon {words}", seen)
    return rows


def _few_steps(*given: Any, **options: Any) -> Any:
    return fit_mixture(*given, **options | {"components": 10, "fits": 1, "steps": 20})


def _add(seen: dict[str, _Seen], name: str, made: Any, codes: np.ndarray, sizes: list[int]) -> None:
    for width in (2, 3):
        for key in _asked(len(sizes), width):
            if np.prod([sizes[at] for at in key]) > _MOST_CELLS:
                continue
            asked = [f"c{at}" for at in key]
            each = made.intervals(asked)
            kind = f"{'pairs' if width == 2 else 'triples'}, {'measured' if each.measured else 'not measured'}"
            truth = shares_of(codes, sizes, key)
            seen.setdefault(kind, _Seen()).add(name, truth, each, made.intervals(asked, together=True))


def _rows_of(bar: str, seen: dict[str, _Seen]) -> list[Row]:
    rows = []
    for kind, one in sorted(seen.items()):
        least = min(one.by_table, key=lambda name: float(np.mean(one.by_table[name])))
        note = (
            f"mean width {np.mean(one.widths):.4f}, together {np.mean(one.widths_together):.4f}, mean share "
            f"{np.mean(one.shares):.4f}; "
            f"lowest: {least} {np.mean(one.by_table[least]):.3f}; {one.tables} tables, {one.cells} cells"
        )
        rows.append(Row(bar=f"{bar}: {kind}, each", ours=one.held / one.cells, unit="held", goal=">= 0.95", note=note))
        rows.append(
            Row(bar=f"{bar}: {kind}, together", ours=one.whole / one.tables, unit="held", goal=">= 0.94", note=note)
        )
    return rows


def _beside_the_model(tables: dict[str, Coded], quick: bool) -> list[Row]:
    """How much nearer the model is than its intervals say."""
    rows = []
    for name in ("asia",) if quick else ("asia", "child", "adult"):
        codes, sizes = tables[name]
        names = [f"c{at}" for at in range(len(sizes))]
        engine = engine_of(codes, sizes, names)
        plan = Synthesize(people=len(codes)).calibrate(
            engine.domain, Budget.approx(1.0, 1e-9), unit=ROW, neighbours=ADD
        )
        made = plan.run(engine, SeededSource(1))
        for width in (2, 3):
            errors, halves, outside = [], [], []
            for key in _asked(len(sizes), width):
                found = made.intervals([f"c{at}" for at in key])
                errors.append(np.abs(found.estimate.values - shares_of(codes, sizes, key)).mean())
                halves.append((found.high - found.low).mean() / 2)
                outside.append(1 - _inside(found, found.estimate.values).mean())
            rows.append(
                Row(
                    bar=f"{name}, quality at epsilon 1, delta 1e-9: half-width, {width} attributes",
                    ours=float(np.mean(halves)),
                    unit="share",
                    note=f"mean error of the model {np.mean(errors):.5f}; outside its interval: {np.mean(outside):.3f}",
                )
            )
    return rows


def _parity(rows: int = 8000) -> Coded:
    """Columns of two levels; the last one of each three is the parity of the other two."""
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 2, (rows, 9))
    codes[:, 2::3] = codes[:, 0::3] ^ codes[:, 1::3]
    return codes, [2] * 9


def _bootstrap(quick: bool) -> list[Row]:
    """Coverage of intervals that take the model as the truth."""
    rows = []
    tables: dict[str, Callable[[], Coded]] = {"parity": _parity}
    tables |= {kind: partial(_made, kind) for kind in (("tree",) if quick else ("tree", "network", "latent", "blocks"))}
    if not quick:
        tables["adult"] = TABLES["adult"]
    for name, load in tables.items():
        codes, sizes = load()
        names = [f"c{at}" for at in range(len(sizes))]
        engine = engine_of(codes, sizes, names)
        for method in ("mst", "privbayes"):
            plan = METHODS[method](names, len(codes)).calibrate(
                engine.domain, Budget.pure(1.0), unit=ROW, neighbours=ADD
            )
            held: dict[str, list[float]] = {}
            guaranteed: dict[str, list[float]] = {}
            for seed in range(1 if quick else 3):
                made = plan.run(engine, SeededSource(seed))
                asked = [key for width in (2, 3) for key in _asked(len(sizes), width)]
                again = list(_refitted(plan, made, sizes, names, len(codes), 10 if quick else 40))
                for key in asked:
                    own, truth = made.intervals([names[at] for at in key]), shares_of(codes, sizes, key)
                    table = own.estimate.values
                    errors = [np.abs(one.project([names[at] for at in key]).values - table) for one in again]
                    ends = np.quantile(errors, 0.95, axis=0)
                    kind = f"{'pairs' if len(key) == 2 else 'triples'} {'measured' if own.measured else 'not measured'}"
                    held.setdefault(kind, []).append(float((np.abs(table - truth) <= ends + 1e-12).mean()))
                    guaranteed.setdefault(kind, []).append(float(_inside(own, truth).mean()))
            for kind, found in sorted(held.items()):
                rows.append(
                    Row(
                        bar=f"bootstrap, {name}, {method}, epsilon 1: {kind}",
                        ours=float(np.mean(found)),
                        unit="held",
                        note=f"not offered; those that are: {np.mean(guaranteed[kind]):.3f}; {len(found)} tables",
                    )
                )
    return rows


def _refitted(plan: Any, made: Any, sizes: list[int], names: list[str], rows: int, times: int) -> Iterator[Any]:
    for seed in range(times):
        drawn = made.model.sample(rows, np.random.default_rng(seed))
        codes = np.stack([drawn[name] for name in names], axis=1).astype(int)
        yield plan.run(engine_of(codes, sizes, names), SeededSource(1000 + seed))


def _sizes(quick: bool) -> list[Row]:
    """What the kept tables add to a model file."""
    rows = []
    for columns in (20,) if quick else (20, 100):
        rng = np.random.default_rng(1)
        codes, sizes = rng.integers(0, 8, (20_000, columns)), [8] * columns
        engine = engine_of(codes, sizes, [f"c{at}" for at in range(columns)])
        recipe = Pairs(fits=1, steps=20)
        made = recipe.calibrate(engine.domain, Budget.pure(1.0), unit=ROW, neighbours=ADD).run(engine, SeededSource(1))
        text, kept = len(made.to_json()), len(json.dumps(made.measured.as_dict()))
        rows.append(
            Row(
                bar=f"all pairs of {columns} columns of 8 levels: kept tables",
                ours=kept / 1e6,
                unit="MB",
                note=f"{made.measured.cells} cells; the file {text / 1e6:.2f} MB, in full fits more",
            )
        )
    return rows

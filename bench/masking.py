"""Masking: loss of microaggregation against published figures or a known optimum, and CPU time.

Published figures [Domingo-Ferrer, Mateo-Sanz 2002] are about the reference tables of the CASC project, which are not
part of this repository. With `CASC=FOLDER`, a folder with `CASCrefmicrodata.csv` or `tarragona.csv` (13 columns of
numbers, a header), MDAV is compared with them. Without, the optimum is known by construction: clusters of k rows that
lie far apart, and one attribute, where the shortest path is proved best.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from bench.rows import Row, cpu
from tacita.anonymize import Mask, Microaggregate, Pram, SuppressLocally
from tacita.anonymize.masking.microaggregate import group_rows
from tacita.domain import Domain
from tacita.noise import SecureSource, SeededSource

PUBLISHED = {
    "CASCrefmicrodata": {3: 5.69, 5: 9.09, 10: 14.16},
    "tarragona": {3: 16.93, 5: 22.46, 10: 33.19},
}
"""SSE/SST in percent of MDAV, by k."""
PAPER = "MDAV [Domingo-Ferrer, Mateo-Sanz 2002]"


def run(quick: bool) -> list[Row]:
    """All rows of the bench."""
    n = 20_000 if quick else 100_000
    return [*_published(), *_known_optimum(), *_blocks(5_000 if quick else 20_000), *_times(n)]


def _loss(points: np.ndarray, groups: np.ndarray) -> float:
    """SSE/SST in percent."""
    sizes = np.bincount(groups)
    means = np.stack([np.bincount(groups, column) / sizes for column in points.T], axis=1)
    return float(100 * ((points - means[groups]) ** 2).sum() / ((points - points.mean(axis=0)) ** 2).sum())


def _published() -> list[Row]:
    folder = os.environ.get("CASC")
    rows = []
    for name, figures in PUBLISHED.items():
        path = Path(folder or ".") / f"{name}.csv"
        if folder is None or not path.is_file():
            why = "no data: set CASC to a folder with the table"
            rows.append(Row(bar=f"published losses compared, {name}", ours=0, unit="figures", peer_name=why))
            continue
        table = pa_csv.read_csv(path)
        matrix = np.stack([column.to_numpy().astype(np.float64) for column in table.columns], axis=1)[:, -13:]
        points = (matrix - matrix.mean(axis=0)) / matrix.std(axis=0)
        for k, figure in figures.items():
            ours = _loss(points, group_rows(points, k)[0])
            rows.append(
                Row(
                    bar=f"loss of MDAV, {name}, k {k}",
                    ours=ours,
                    peer=figure,
                    peer_name=PAPER,
                    unit="%",
                    goal="<= 1.05",
                )
            )
    return rows


def _known_optimum() -> list[Row]:
    rng = np.random.default_rng(1)
    rows = []
    for k in (3, 5, 10):
        centres = rng.permutation(200)[:, None] * 1e4 * np.array([1.0, 0.0, 0.0]) + rng.permutation(200)[:, None] * 1e3
        points = np.repeat(centres, k, axis=0) + rng.normal(size=(200 * k, 3))
        order = rng.permutation(len(points))
        best = _loss(points[order], order // k)
        ours = _loss(points[order], group_rows(points[order], k)[0])
        note = "200 clusters of k rows that lie far apart: the clusters are the best groups"
        rows.append(
            Row(
                bar=f"loss of MDAV, separated clusters, k {k}",
                ours=ours,
                peer=best,
                peer_name="the optimum, by construction",
                unit="%",
                goal="<= 1.000001",
                note=note,
            )
        )
        values = rng.lognormal(size=(1080, 1))
        exact = _loss(values, group_rows(values, k, optimal=True)[0])
        mdav = _loss(values, group_rows(values, k)[0])
        rows.append(
            Row(
                bar=f"loss for one attribute, shortest path, k {k}",
                ours=exact,
                peer=mdav,
                peer_name="MDAV of ours on the same values",
                unit="%",
                goal="<= 1",
                note="one attribute: the shortest path is the optimum; 1,080 log-normal values",
            )
        )
    return rows


def _blocks(n: int) -> list[Row]:
    """Loss in blocks against the loss without."""
    rng = np.random.default_rng(2)
    points = rng.normal(size=(n, 4)) @ rng.normal(size=(4, 4))
    points /= points.std(axis=0)
    whole = _loss(points, group_rows(points, 5, block=n)[0])
    parts = _loss(points, group_rows(points, 5, block=n // 4)[0])
    return [
        Row(
            bar=f"loss of MDAV in 4 blocks, {n:,} rows, 4 attributes, k 5",
            ours=parts,
            peer=whole,
            peer_name="MDAV of ours without blocks",
            unit="%",
            goal="<= 1.1",
        )
    ]


def _times(n: int) -> list[Row]:
    rng = np.random.default_rng(3)
    names = ("income", "debt", "rent", "age")
    levels = [f"job{i}" for i in range(20)]
    attributes = [{"name": name, "kind": "numeric", "bounds": [0, 1e6], "bins": 10} for name in names]
    attributes += [
        {"name": "job", "kind": "categorical", "levels": levels, "role": "quasi-identifier"},
        {"name": "year", "kind": "numeric", "bounds": [1920, 2010], "integer": True, "role": "quasi-identifier"},
        {"name": "sex", "kind": "categorical", "levels": ["f", "m"], "role": "quasi-identifier"},
        {"name": "town", "kind": "categorical", "levels": levels, "role": "quasi-identifier"},
    ]
    domain = Domain.from_dict({"tacita": 1, "attributes": attributes})
    table = pa.table(
        {name: np.round(rng.lognormal(10, 1, n), 2) for name in names}
        | {
            "job": rng.choice(levels, n),
            "year": rng.integers(1920, 2010, n),
            "sex": rng.choice(["f", "m"], n),
            "town": rng.choice(levels, n),
        }
    )
    plans = {
        "microaggregation of 4 attributes, k 5": Mask(steps=(Microaggregate(attributes=names, k=5),)),
        "microaggregation of 1 attribute, optimum, k 5": Mask(steps=(Microaggregate(attributes=("income",), k=5),)),
        "PRAM of 20 levels": Mask(steps=(Pram(attributes=("job",), keep=0.8),)),
        "local suppression of 4 keys, k 3": Mask(steps=(SuppressLocally(k=3),)),
    }
    rows, goal = [], "<= 5" if n >= 100_000 else "shown"
    for name, recipe in plans.items():
        plan = recipe.prepare(domain)
        plan.run_on(table.slice(0, 1000), SeededSource(1))  # compile
        spent, _ = cpu(lambda plan=plan: plan.run_on(table, SecureSource()), 1)
        rows.append(Row(bar=f"{name}, {n:,} rows", ours=spent, unit="cpu_s", goal=goal))
    return rows

"""Commands beside themselves in the tree before rooms were moved and homes were merged: CPU of the same work.

Both sides run the same command line on the same generated files, in turns, each in a process of its own. A figure is
the smallest CPU time (user and system, children included) of some turns. `tacita schema check` of a small file is
nearly only the start.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from bench.rows import Row

HERE = Path(__file__).resolve().parent.parent
BEFORE = "8d2b5e4"
RUN = "import sys; from tacita.cli import main; main()"
SCHEMA = """
tacita: 1
attributes:
- {name: age, kind: numeric, bounds: [0, 99], bins: 10, integer: true, role: quasi-identifier}
- {name: zip, kind: numeric, bounds: [0, 999], bins: 10, integer: true, role: quasi-identifier}
- {name: sex, kind: categorical, levels: [f, m], role: quasi-identifier}
- {name: school, kind: ordinal, levels: [none, basic, high, college]}
- {name: job, kind: categorical, levels: [j0, j1, j2, j3, j4, j5]}
- {name: smokes, kind: boolean}
- {name: income, kind: numeric, bounds: [0, 100000], bins: 10}
- {name: ill, kind: categorical, levels: ["no", flu, gout], role: sensitive}
"""
PAID = ("-s", "people.yaml", "-a", "people")
COMMANDS: dict[str, tuple[str, ...]] = {
    "start and a schema": ("schema", "check", "small.csv", "-s", "people.yaml"),
    "query, tables of pairs": ("query", "people.csv", *PAID, "--by", "age,job", "--by", "zip,ill", "--epsilon", "0.1"),
    "query, SQL by groups": (
        "query", "SELECT job, AVG(income), MEDIAN(age) FROM people GROUP BY job", "--data", "people.csv", *PAID,
        "--epsilon", "0.1", "--fresh",
    ),
    "anonymize, k 10 and l 2": ("anonymize", "people.csv", "-s", "people.yaml", "--k", "10", "--l", "2", "-o", "k.csv"),
    "synthesize, privbayes": (
        "synthesize", "people.csv", *PAID, "--epsilon", "1", "--method", "privbayes", "-o", "s.csv",
    ),
    "synthesize, mst": ("synthesize", "people.csv", *PAID, "--epsilon", "1", "--method", "mst", "-o", "s.csv"),
    "synthesize, pairs": ("synthesize", "people.csv", *PAID, "--epsilon", "1", "--method", "pairs", "-o", "s.csv"),
    "learn, a line": ("learn", "fit", "people.csv", *PAID, "--target", "income", "--epsilon", "1", "-o", "m.json"),
    "learn, trees": (
        "learn", "fit", "people.csv", *PAID, "--target", "smokes", "--kind", "trees", "--epsilon", "1", "-o", "m.json",
    ),
    "collect, simulate": (
        "collect", "simulate", "people.csv", "-s", "people.yaml", "--by", "school,smokes", "--by", "sex,ill",
        "--epsilon", "1", "--respondents", "2000",
    ),
    "assess, small": ("assess", "other.csv", "--real", "small.csv", "-s", "people.yaml"),
}  # fmt: skip


def run(*, quick: bool) -> list[Row]:
    people, turns = (20_000, 2) if quick else (200_000, 4)
    with tempfile.TemporaryDirectory() as folder:
        before = _unpack(Path(folder) / "before")
        if before is None:
            return []
        work = Path(folder) / "work"
        work.mkdir()
        _write(work, people)
        rows = []
        for name, command in COMMANDS.items():
            ours, peer = [], []
            for turn in range(turns + 1):  # the first compiles, and is not counted
                for tree, found in ((HERE, ours), (before, peer)):
                    seconds = _cpu(tree, work, command)
                    if turn:
                        found.append(seconds)
            rows.append(
                Row(
                    bar=name,
                    ours=min(ours),
                    peer=min(peer),
                    peer_name=f"commit {BEFORE}",
                    unit="CPU s",
                    goal="<= 1.05",
                    note=f"{people:,} rows, the smallest of {turns} turns",
                )
            )
        return rows


def _unpack(folder: Path) -> Path | None:
    """The tree before, where this is a clone that has it."""
    done = subprocess.run(["git", "archive", BEFORE, "src"], cwd=HERE, capture_output=True, check=False)
    if done.returncode:
        return None
    with tarfile.open(fileobj=BytesIO(done.stdout)) as packed:
        packed.extractall(folder, filter="data")
    return folder


def _write(work: Path, people: int) -> None:
    rng = np.random.default_rng(11)

    def table(rows: int) -> pa.Table:
        school = rng.integers(0, 4, rows)
        age = rng.integers(16, 95, rows)
        income = np.clip(rng.gamma(2.0, 9000.0, rows) * (1 + school / 3), 0, 99_999).round(2)
        return pa.table(
            {
                "age": age,
                "zip": rng.integers(0, 1000, rows),
                "sex": np.array(["f", "m"])[rng.integers(0, 2, rows)],
                "school": np.array(["none", "basic", "high", "college"])[school],
                "job": np.array([f"j{i}" for i in range(6)])[(school + rng.integers(0, 3, rows)) % 6],
                "smokes": np.array(["false", "true"])[(rng.random(rows) < 0.2 + 0.1 * (school < 2)).astype(int)],
                "income": income,
                "ill": np.array(["no", "flu", "gout"])[np.where(age > 60, 2, 1) * (rng.random(rows) < 0.3)],
            }
        )

    for name, rows in (("people", people), ("small", 2000), ("other", 2000)):
        pa_csv.write_csv(table(rows), work / f"{name}.csv")
    (work / "people.yaml").write_text(SCHEMA)


def _cpu(tree: Path, work: Path, command: tuple[str, ...]) -> float:
    """CPU seconds of a command, with an account of its own."""
    with tempfile.TemporaryDirectory() as home:
        opened = ("budget", "open", "people", "--unit", "row", "--epsilon", "1000")
        _run(tree, work, home, opened)
        before = os.times()
        _run(tree, work, home, command)
        after = os.times()
    return (after.children_user + after.children_system) - (before.children_user + before.children_system)


def _run(tree: Path, work: Path, home: str, command: tuple[str, ...]) -> None:
    environment = os.environ | {
        "PYTHONPATH": str(tree / "src"),
        "TACITA_HOME": home,
        "XDG_STATE_HOME": home,
        "HOME": home,
        "NUMBA_CACHE_DIR": str(work / f"kernels-{tree.name}"),
    }
    done = subprocess.run(
        [sys.executable, "-c", RUN, *command], cwd=work, env=environment, check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[:3])} in {tree}: {done.stderr[-500:]}")

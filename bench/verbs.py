"""Verbs of the command line on a text file of two million rows and ten columns: CPU seconds and memory.

Each verb runs in a process of its own, after one run on a small file that compiles. CPU is user and system time of the
process and its children, the smallest of some turns; memory is the largest resident set (`VmHWM`: what `getrusage` has
for a new process begins with that of the one that started it).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from bench.rows import Row

RUN = (
    "import resource, sys, atexit\n"
    "def say_used():\n"
    "    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]\n"
    "    peak = next(int(line.split()[1]) for line in open('/proc/self/status') if line.startswith('VmHWM'))\n"
    "    print(sum(u.ru_utime + u.ru_stime for u in used), max(peak, used[1].ru_maxrss), file=open('used', 'w'))\n"
    "atexit.register(say_used)\n"
    "from tacita.cli import main; main()"
)
PAID = ("-s", "people.yaml", "-a", "people")
VERBS: dict[str, tuple[float, tuple[str, ...]]] = {
    "infer": (3.0, ("schema", "infer", "{data}", "-o", "draft.yaml", "--force")),
    "check": (2.0, ("schema", "check", "{data}", "-s", "people.yaml")),
    "query": (1.5, ("query", "{data}", *PAID, "--by", "age,job", "--by", "school,ill", "--epsilon", "0.1", "--fresh")),
    "anonymize": (20.0, ("anonymize", "{data}", "-s", "people.yaml", "--k", "10", "--l", "2", "-o", "k.csv")),
    "synthesize and write": (20.0, ("synthesize", "{data}", *PAID, "--epsilon", "1", "-o", "s.csv")),
}
SCHEMA = """
tacita: 1
attributes:
- {name: age, kind: numeric, bounds: [0, 99], bins: 10, integer: true, role: quasi-identifier}
- {name: zip, kind: numeric, bounds: [0, 999], bins: 10, integer: true, role: quasi-identifier}
- {name: sex, kind: categorical, levels: [f, m], role: quasi-identifier}
- {name: region, kind: categorical, levels: [north, south, east, west]}
- {name: school, kind: ordinal, levels: [none, basic, high, college]}
- {name: job, kind: categorical, levels: [j0, j1, j2, j3, j4, j5]}
- {name: smokes, kind: boolean}
- {name: hours, kind: numeric, bounds: [0, 80], bins: 8, integer: true}
- {name: income, kind: numeric, bounds: [0, 100000], bins: 10}
- {name: ill, kind: categorical, levels: ["no", flu, gout], role: sensitive}
"""


def run(*, quick: bool) -> list[Row]:
    people, turns = (100_000, 1) if quick else (2_000_000, 3)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for name, count in (("people", people), ("small", 2_000)):
            pa_csv.write_csv(table_of(count), work / f"{name}.csv")
        (work / "people.yaml").write_text(SCHEMA)
        rows = []
        for verb, (goal, command) in VERBS.items():
            used_by(work, command, "small.csv")
            used = [used_by(work, command, "people.csv") for _ in range(turns)]
            note = f"{people:,} rows and 10 columns, the smallest of {turns} turns"
            rows.append(Row(bar=verb, ours=min(cpu for cpu, _ in used), unit="CPU s", goal=f"<= {goal}", note=note))
            memory = min(memory for _, memory in used)
            rows.append(Row(bar=f"{verb}, memory", ours=memory, unit="MB", goal="<= 1000", note=note))
        return rows


def table_of(rows: int) -> pa.Table:
    rng = np.random.default_rng(11)
    school, age = rng.integers(0, 4, rows), rng.integers(16, 95, rows)
    return pa.table(
        {
            "age": age,
            "zip": rng.integers(0, 1000, rows),
            "sex": np.array(["f", "m"])[rng.integers(0, 2, rows)],
            "region": np.array(["north", "south", "east", "west"])[rng.integers(0, 4, rows)],
            "school": np.array(["none", "basic", "high", "college"])[school],
            "job": np.array([f"j{i}" for i in range(6)])[(school + rng.integers(0, 3, rows)) % 6],
            "smokes": np.array(["false", "true"])[(rng.random(rows) < 0.2 + 0.1 * (school < 2)).astype(int)],
            "hours": np.clip(rng.normal(36, 12, rows), 0, 80).astype(int),
            "income": np.clip(rng.gamma(2.0, 9000.0, rows) * (1 + school / 3), 0, 99_999).round(2),
            "ill": np.array(["no", "flu", "gout"])[np.where(age > 60, 2, 1) * (rng.random(rows) < 0.3)],
        }
    )


def used_by(work: Path, command: tuple[str, ...], data: str, unit: str = "row") -> tuple[float, float]:
    """CPU seconds and megabytes of a command, with an account of its own."""
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {"TACITA_HOME": home, "XDG_STATE_HOME": home, "HOME": home}
        environment["NUMBA_CACHE_DIR"] = str(work / "kernels")
        opened = ("budget", "open", "people", "--unit", unit, "--epsilon", "1000", "--delta", "1e-3")
        for each in (opened, tuple(part.format(data=data) for part in command)):
            done = subprocess.run(
                [sys.executable, "-c", RUN, *each], cwd=work, env=environment, check=False, capture_output=True
            )
            if done.returncode:
                raise RuntimeError(f"{' '.join(each[:3])}: {done.stderr.decode()[-800:]}")
        cpu, kilobytes = (work / "used").read_text().split()
    return float(cpu), float(kilobytes) / 1000

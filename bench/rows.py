"""Rows of a bench: printed as a table, and written as JSON with the machine that they were measured on."""

from __future__ import annotations

import json
import operator
import os
import platform
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

OUT = Path(__file__).parent / "out"
_RELATIONS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt, "=": operator.eq}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One figure.

    Args:
        bar: What is measured. ours: Our figure. peer: The peer's, or None if there is none. peer_name: Who
        the peer is, with its version; or why there is none. unit: What the figures are in. goal: A relation
        and a number, as in "<= 0.125", for ours / peer (for ours alone if there is no peer); or
            "shown" for a figure that is stated without a goal.
        note: How it was measured.
    """

    bar: str
    ours: float
    peer: float | None = None
    peer_name: str = ""
    unit: str
    goal: str = "shown"
    note: str = ""

    @property
    def figure(self) -> float:
        """What the goal is about."""
        return self.ours if self.peer is None else self.ours / self.peer

    @property
    def holds(self) -> bool:
        """Whether the goal is met."""
        if self.goal == "shown":
            return True
        relation, number = self.goal.split()
        return bool(_RELATIONS[relation](self.figure, float(number)))

    def as_dict(self) -> dict[str, Any]:
        """The row as it is written."""
        return asdict(self) | {"holds": self.holds}


def cpu(work: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """CPU and wall seconds of the best of some repeats; CPU counts all threads of this process."""
    best = (float("inf"), float("inf"))
    for _ in range(repeats):
        wall, start = time.perf_counter(), time.process_time()
        work()
        best = min(best, (time.process_time() - start, time.perf_counter() - wall))
    return best


def machine() -> dict[str, Any]:
    """What figures depend on besides the code: processor, memory, system and versions."""
    cpuinfo, memory = Path("/proc/cpuinfo"), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=OUT.parent, capture_output=True, text=True, check=False
    )
    packages = ("tacita", "numpy", "numba", "scipy", "pyarrow", "opendp", "scikit-learn")
    return {
        "processor": models[0] if models else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "memory": f"{memory / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}",
        "commit": commit.stdout.strip() or "unknown",
        "versions": {"python": platform.python_version()} | {name: version(name) for name in packages},
    }


def report(name: str, rows: Sequence[Row], *, quick: bool = False, seconds: float = 0.0) -> bool:
    """Print and write the rows of a bench; says whether all goals are met.

    `NAME.json` has the rows, `runs.json` when, where and how long each bench ran.
    """
    table = Table(title=f"bench {name}", title_justify="left")
    for column in ("bar", "ours", "peer", "ratio", "unit", "peer name", "goal", "holds"):
        table.add_column(column, justify="right" if column in ("ours", "peer", "ratio") else "left")
    for row in rows:
        peer = "-" if row.peer is None else f"{row.peer:.4g}"
        ratio = "-" if row.peer is None else f"{row.figure:.4f}"
        holds = "[green]yes" if row.holds else "[bold red]NO"
        table.add_row(row.bar, f"{row.ours:.4g}", peer, ratio, row.unit, row.peer_name, row.goal, holds)
    console = Console(width=160)
    console.print(table)
    for note in dict.fromkeys(row.note for row in rows if row.note):
        console.print(f"  {note}")
    OUT.mkdir(exist_ok=True)
    text = json.dumps([row.as_dict() for row in rows], indent=2, ensure_ascii=False)
    (OUT / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    runs = OUT / "runs.json"
    known = json.loads(runs.read_text(encoding="utf-8")) if runs.is_file() else {}
    known[name] = {"when": time.strftime("%Y-%m-%d"), "seconds": round(seconds), "quick": quick} | machine()
    runs.write_text(json.dumps(known, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return all(row.holds for row in rows)

"""First commands on a machine, with kernels that were compiled by `tacita warm` and without.

Each command runs in a process of its own on 600 simulated rows: once with an empty cache of kernels, once with the
cache that `tacita warm` left. CPU seconds, imports included.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.rows import Row

FIRST = {
    "noisy tables": "query rows.csv -s rows.yaml -a rows --by age,town --by ill --epsilon 1 --quiet",
    "k-anonymous rows": "anonymize rows.csv -s rows.yaml --k 3 --l 2 -o k.csv --quiet",
    "masked rows": "mask rows.csv -s rows.yaml --microaggregate pay,age=5 -o masked.csv --quiet",
    "synthetic rows": "synthesize rows.csv -s rows.yaml -a rows --epsilon 1 --delta 1e-7 -o s.csv --quiet",
    "simulated survey": "collect simulate rows.csv -s rows.yaml --respondents 600 --epsilon 1 --by ill --quiet",
    "risk of k-anonymous rows": "assess k.csv --real rows.csv -s rows.yaml --attempts 50 --quiet",
}


def run(*, quick: bool) -> list[Row]:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        home, ready = Path(folder), Path(folder) / "ready"
        subprocess.run([sys.executable, "-c", _DATA], cwd=home, check=True)
        _seconds(home, ready, "budget open rows --epsilon 100 --delta 1e-6")
        warming = _seconds(home, ready, "warm --quiet")
        for number, (name, line) in enumerate(list(FIRST.items())[: 2 if quick else None]):
            cold = _seconds(home, home / f"cold-{number}", line)
            rows.append(
                Row(
                    bar=f"first command: {name}",
                    ours=_seconds(home, ready, line),
                    peer=cold,
                    peer_name="without `tacita warm`",
                    unit="CPU s",
                    goal="<= 1.0",
                )
            )
    return [*rows, Row(bar="tacita warm", ours=warming, unit="CPU s", note="once for each machine and version")]


_DATA = """
from tacita.cli.service.warm import write_rows
write_rows()
"""


def _seconds(folder: Path, cache: Path, line: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache), "TACITA_HOME": str(folder / "home")}
    subprocess.run(
        [sys.executable, "-m", "tacita", *line.split()],
        cwd=folder,
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=900,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

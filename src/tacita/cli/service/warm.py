"""`tacita warm`: compile all kernels, so that no first command waits for them.

Kernels are compiled by the first call that needs them, for about a minute in all, and cached on disk for the machine.
This runs the commands themselves on a small simulated table in a folder of its own, which is removed: what is compiled
is what a user will need.

Privacy: none; no data but the simulated table is read, and the ledger is one of the folder's own.
"""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from shlex import split
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from tacita.cli.parts import show
from tacita.cli.parts.options import Json
from tacita.common.compiled import KERNELS
from tacita.common.progress import watched_by
from tacita.errors import InternalError

__all__ = ["COMMANDS", "warm", "write_rows"]

_ROWS = 600
_SCHEMA = """
tacita: 1
{person}attributes:
- {{name: who, kind: identifier}}
- {{name: age, kind: numeric, bounds: [0, 99], bins: 5, integer: true, role: quasi-identifier}}
- {{name: town, kind: categorical, levels: [a, b, c, d], role: quasi-identifier}}
- {{name: job, kind: categorical, levels: [x, y, z], role: quasi-identifier}}
- {{name: ill, kind: categorical, levels: ["no", flu, cold], role: sensitive}}
- {{name: pay, kind: numeric, bounds: [0, 5000], bins: 5, role: sensitive}}
"""
_METHODS = ("mondrian", "local", "datafly", "samarati", "ola", "incognito", "bayardo")
_SYNTHESIZERS = ("privbayes", "mst", "aim", "pairs", "independent")
_ORACLES = ("rr", "unary", "hash", "hadamard", "subset", "optimal")
_MEANS = ("duchi", "piecewise", "hybrid")

COMMANDS = (
    "schema infer rows.csv -o draft.yaml",
    "schema check rows.parquet -s rows.yaml",
    "budget open rows --epsilon 100 --delta 1e-6",
    "budget open people --epsilon 100 --delta 1e-6 --unit person:who:2",
    "query rows.csv -s rows.yaml -a rows --by age,town --by ill --epsilon 1",
    "query held.parquet -s people.yaml -a people --by age,town --epsilon 1 --delta 1e-7",
    "query 'SELECT town, AVG(pay), MEDIAN(age) FROM rows GROUP BY town' -d rows.csv -s rows.yaml --epsilon 1",
    "query 'SELECT town, SUM(pay) FROM people GROUP BY town' -d held.parquet -s people.yaml --epsilon 1 --delta 1e-7",
    "query rows.csv -s rows.yaml -a rows --by age,town,job,ill,pay --epsilon 1",  # samplers of many cells
    "query rows.csv -s rows.yaml -a rows --by age,town,job,ill,pay --epsilon 1 --delta 1e-7",
    "release clusters rows.csv -s rows.yaml -a rows --columns age,pay --clusters 2 --epsilon 1",
    "release network rows.csv -s rows.yaml -a rows --columns age,pay --epsilon 1",
    *(f"anonymize rows.csv -s rows.yaml --k 3 --method {name} -o k-{name}.csv" for name in _METHODS),
    *(f"anonymize rows.csv -s rows.yaml --k 3 --l 2 --t 0.6 --method {name} -o l-{name}.csv" for name in _METHODS[:2]),
    "anonymize rows.parquet -s people.yaml --k 3 -o people.csv",
    "mask rows.csv -s rows.yaml --microaggregate pay,age=5 --suppress-locally 2 -o masked.csv",
    "mask rows.csv -s rows.yaml --microaggregate pay=5:method=optimal --swap age=5 --pram town=0.8 -o swapped.csv",
    *(
        f"synthesize rows.csv -s rows.yaml -a rows --epsilon 1 --delta 1e-7 --method {name} -o s-{name}.csv"
        for name in _SYNTHESIZERS
    ),
    "synthesize rows.csv -s rows.yaml -a rows --epsilon 1 --for ill -o s-target.parquet",
    "learn fit rows.csv -s rows.yaml -a rows --kind linear --target pay --features age,job --epsilon 1 -o linear.json",
    "learn fit rows.csv -s rows.yaml -a rows --kind trees --target ill --features age,job --epsilon 1 -o trees.json",
    *(
        f"collect simulate rows.csv -s rows.yaml --respondents {_ROWS} --epsilon 1 --by ill --by town --channel {name}"
        for name in _ORACLES
    ),
    *(
        f"collect simulate rows.csv -s rows.yaml --respondents {_ROWS} --epsilon 1 --by pay --channel {name}"
        for name in ("matrix", "wave", *_MEANS)
    ),
    "log events rows.csv -s people.yaml --time age --values town --z 2 --window 10 -o events.csv",
    "log sets rows.csv -s people.yaml --item town --k 2 -o sets.csv",
    "assess s-pairs.csv --real rows.csv -s rows.yaml --control held.csv --attempts 50",
    "assess k-mondrian.csv --real rows.csv -s rows.yaml --control held.csv --attempts 50",
    "assess k-mondrian.csv --real rows.csv -s rows.yaml --scenario scenario.yaml --attempts 50 --same-order",
    "disclosure rows.csv -s rows.yaml",
    "mobility simulate -f city --cards 60 --held 60 --days 3",
    "budget open city --epsilon 100 --unit person:card:60",
    "mobility generate city/taps.csv -s city/schema.yaml --places city/places.csv -a city --epsilon 1 -o taps.csv",
    "mobility assess city/held.csv --real city/taps.csv -s city/schema.yaml --attempts 50 --places city/places.csv",
    "mobility communities city/taps.csv -s city/schema.yaml --places city/places.csv -k 2",
)
"""Command lines that together call every kernel that a first command could wait for."""


def warm(json: Json = False) -> None:
    """Compile all kernels now, so that no first command waits for them.

    It runs many commands on simulated rows, once for each machine and version, for a minute or two.

    [dim]tacita warm[/]
    """
    from tacita.cli.main import app  # knows this module

    advance = show.progress("compiling", len(COMMANDS))
    with _elsewhere():
        for done, line in enumerate(COMMANDS):
            _run(app, line)
            advance(done + 1)
    kernels = [kernel for kernel in KERNELS if kernel.signatures]
    if json:
        show.print_json({"commands": len(COMMANDS), "kernels": len(kernels)})
    else:
        show.say(f"{len(kernels)} kernels are compiled and cached; {len(COMMANDS)} commands on simulated rows ran.")


def _run(app: Any, line: str) -> None:
    words = io.StringIO()
    try:
        with contextlib.redirect_stdout(words), contextlib.redirect_stderr(words), watched_by(lambda *_: None):
            app(split(line), standalone_mode=False)
    except Exception as error:
        raise InternalError(f"`tacita {line}` failed on simulated rows: {error}") from error
    finally:
        show.forget_notes()  # about simulated rows


@contextlib.contextmanager
def _elsewhere() -> Iterator[None]:
    """Work in a temporary folder with data, a state and settings of its own."""
    before, here = dict(os.environ), Path.cwd()
    with tempfile.TemporaryDirectory(prefix="tacita-warm-") as folder:
        for name in [name for name in os.environ if name.startswith("TACITA_")]:
            del os.environ[name]
        os.environ["TACITA_HOME"] = str(Path(folder) / "home")
        os.chdir(folder)
        try:
            write_rows()
            yield
        finally:
            os.chdir(here)
            os.environ.clear()
            os.environ.update(before)


def write_rows() -> None:
    """Write two simulated tables and two schemas into the current folder."""
    rng = np.random.default_rng(0)
    for name in ("rows", "held"):
        age = rng.integers(18, 90, _ROWS)
        table = pa.table(
            {
                "who": np.arange(_ROWS) // 2,
                "age": age,
                "town": rng.choice(list("abcd"), _ROWS),
                "job": rng.choice(list("xyz"), _ROWS),
                "ill": rng.choice(["no", "flu", "cold"], _ROWS),
                "pay": 1000 + 10 * age + rng.integers(0, 500, _ROWS),
            }
        )
        pa_csv.write_csv(table, f"{name}.csv")
        pq.write_table(table, f"{name}.parquet")
    Path("scenario.yaml").write_text("exact: [town]\nwithin: {age: 2}\n", encoding="utf-8")
    Path("rows.yaml").write_text(_SCHEMA.format(person=""), encoding="utf-8")
    Path("people.yaml").write_text(_SCHEMA.format(person="person: who\n"), encoding="utf-8")

"""Growth of the commands: CPU seconds and memory against rows, columns, levels, k, epsilon, people and holders.

Each command runs in a process of its own, after one run on its smallest size that compiles. What it takes on the
smallest size is its fixed cost, start and compiled kernels, and is subtracted; all are the smaller of two turns. The
exponent is that of the two largest sizes: 1 is linear. A tenth of a second is noise here, so a command that takes less
than two seconds beyond its fixed cost runs on a file three times larger as well, if there is one. Where the fixed cost
is most of the time even then, size hardly matters and no exponent is stated.

Rows, people, holders and k may grow linearly. Columns and levels may grow as their pairs do, since most methods look at
all pairs, and a pair of attributes has the product of their levels as cells. With epsilon, methods choose larger tables
where noise allows: shown. Memory has no goal either: what a command takes for a million more rows is shown. A quick run
has no goals: its sizes differ too little.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.federated import seconds_of_holders
from bench.growing import write_chain, write_events, write_levels, write_people
from bench.rows import Row
from bench.verbs import PAID, used_by

_NOTICEABLE = 0.5  # CPU seconds of the larger size beyond the fixed cost
_CLEAR = 2.0
_SPENT = ("--epsilon", "1", "--delta", "1e-9", "--people", "{size}", "-n", "1000", "-o", "s.csv")
_OWN = ("-s", "schema{size}.yaml")
_PEOPLE = ("-s", "people.yaml")
_FIT = ("learn", "fit", "{data}", *PAID, "--epsilon", "1", "--delta", "1e-9", "-o", "fit.json", "--target")
_KANON = ("anonymize", "{data}", *_PEOPLE, "-o", "k.csv", "--k")
_SQL = "SELECT job, COUNT(*), AVG(hours), SUM(income) FROM people GROUP BY job"
_MEDIAN = "SELECT region, MEDIAN(income) FROM people GROUP BY region"


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Commands over files that grow in one thing.

    Attributes:
        over: What grows.
        sizes: The smallest, which is the fixed cost, and those that are compared.
        larger: One more size, for commands that hardly notice the others.
        quick: The same for a quick run.
        write: Writes the files of a size into a folder.
        goal: Of the exponent.
        commands: By name; `{data}` is the file, `{size}` the size.
        same: The size whose file all sizes read, if it is not the file that grows.
        unit: Of the account that pays.
    """

    over: str
    sizes: tuple[float, ...]
    quick: tuple[float, ...]
    larger: float | None = None
    write: Callable[[Path, int], None]
    goal: str
    commands: dict[str, tuple[str, ...]]
    same: int | None = None
    form: str = "csv"
    unit: str = "row"
    memory: bool = False


ROWS = Sweep(
    over="rows",
    sizes=(2_000, 200_000, 600_000, 1_800_000),
    larger=5_400_000,
    quick=(2_000, 20_000, 60_000),
    write=write_people,
    goal="<= 1.1",
    memory=True,
    commands={
        "schema infer": ("schema", "infer", "{data}", "-o", "draft.yaml", "--force"),
        "schema check": ("schema", "check", "{data}", *_PEOPLE),
        "query tables": (
            *("query", "{data}", *PAID, "--by", "age,job", "--by", "school,ill"),
            *("--epsilon", "0.1", "--fresh"),
        ),
        "query SQL": ("query", _SQL, "--data", "{data}", *PAID, "--epsilon", "0.1", "--fresh"),
        "query SQL, median": ("query", _MEDIAN, "--data", "{data}", *PAID, "--epsilon", "0.1", "--fresh"),
        "release clusters": (
            *("release", "clusters", "{data}", *PAID, "--columns", "age,hours", "--clusters", "4"),
            *("--epsilon", "1"),
        ),
        "release components": (
            *("release", "components", "{data}", *PAID, "--columns", "age,hours,income", "--epsilon", "1"),
            *("--delta", "1e-9"),
        ),
        "release bounds": ("release", "bounds", "{data}", *PAID, "--column", "income", "--epsilon", "1"),
        "anonymize, mondrian": (*_KANON, "10"),
        "anonymize, mondrian with l": (*_KANON, "10", "--l", "2"),
        "anonymize, local": (*_KANON, "10", "--method", "local"),
        "anonymize, full domain": (*_KANON, "10", "--method", "ola"),
        "mask, PRAM": ("mask", "{data}", *_PEOPLE, "--pram", "job=0.8", "-o", "m.csv"),
        "mask, microaggregation": ("mask", "{data}", *_PEOPLE, "--microaggregate", "hours=5", "-o", "m.csv"),
        "suppress": ("suppress", "{data}", *_PEOPLE, "--by", "region,job", "--minimum", "5", "-o", "t.csv"),
        "disclosure": ("disclosure", "{data}", *_PEOPLE, "--qi", "age,sex,zip"),
        "synthesize, quality": ("synthesize", "{data}", *PAID, *_SPENT),
        "synthesize, aim": ("synthesize", "{data}", *PAID, *_SPENT, "--method", "aim"),
        "synthesize, privbayes": ("synthesize", "{data}", *PAID, *_SPENT, "--method", "privbayes"),
        "synthesize, for a target": ("synthesize", "{data}", *PAID, *_SPENT, "--for", "ill"),
        "synthesize, numbers fine": ("synthesize", "{data}", *PAID, *_SPENT, "--numbers", "fine"),
        "learn, linear": (*_FIT, "hours"),
        "learn, logistic": (*_FIT, "smokes"),
        "learn, trees": (*_FIT, "smokes", "--kind", "trees"),
        "learn, bayes": (*_FIT, "smokes", "--kind", "bayes"),
        "function, density": (
            *("function", "release", "{data}", *PAID, "--name", "f", "--kind", "density", "--features", "age,hours"),
            *("--epsilon", "1", "--delta", "1e-9"),
        ),
        "network learn": ("network", "learn", "{data}", *_PEOPLE, "--binned", "-o", "net.json"),
        "impute": (
            *("impute", "{data}", *_PEOPLE, "-o", "{new}/made", "--replace", "income", "--m", "2", "--no-guarantee"),
            "--no-assessment",
        ),
        "assess": ("assess", "{data}", "--real", "{data}", *_PEOPLE),
        "collect simulate": (
            *("collect", "simulate", "{data}", *_PEOPLE, "--respondents", "{size}", "--epsilon", "2"),
            *("--by", "school,job", "--by", "region,smokes", "--mode", "tables"),
        ),
    },
)
EVENTS = Sweep(
    over="rows of a log",
    sizes=(2_000, 200_000, 600_000, 1_800_000),
    larger=5_400_000,
    quick=(2_000, 20_000, 60_000),
    write=write_events,
    goal="<= 1.1",
    unit="person:who:3",
    commands={
        "log events": (
            *("log", "events", "{data}", *_OWN, "--time", "minute", "--values", "page", "--z", "5", "--window", "60"),
            *("-o", "out.csv"),
        ),
        "log batches": (
            *("log", "batches", "{data}", *_OWN, "--time", "minute", "--deadline", "60", "--k", "5"),
            *("--qi", "page", "-o", "{new}/batches"),
        ),
        "log sets": ("log", "sets", "{data}", *_OWN, "--item", "page", "--k", "5", "--m", "2", "-o", "sets.csv"),
        "query tables": ("query", "{data}", *_OWN, "-a", "people", "--by", "page", "--epsilon", "0.1", "--fresh"),
    },
)
COLUMNS = Sweep(
    over="columns",
    sizes=(6, 30, 60, 120),
    quick=(6, 20, 40),
    write=write_chain,
    goal="<= 2.1",
    form="parquet",
    commands={
        "schema infer": ("schema", "infer", "{data}", "-o", "draft.yaml", "--force"),
        "schema check": ("schema", "check", "{data}", *_OWN),
        "anonymize, mondrian": ("anonymize", "{data}", *_OWN, "--k", "10", "-o", "k.csv"),
        **{
            f"synthesize, {method}": (
                *("synthesize", "{data}", *_OWN, "-a", "people", "--epsilon", "1", "--delta", "1e-9", "-n", "1000"),
                *("-o", "s.csv", "--method", method, "--people", "100000"),
            )
            for method in ("quality", "pairs", "aim", "mst", "privbayes")
        },
        "learn, linear": (
            *("learn", "fit", "{data}", *_OWN, "-a", "people", "--epsilon", "1", "--delta", "1e-9", "-o", "fit.json"),
            *("--target", "c0", "--kind", "linear"),
        ),
    },
)
LEVELS = Sweep(
    over="levels",
    sizes=(16, 128, 512, 2_048),
    quick=(16, 64, 256),
    write=write_levels,
    goal="<= 2.1",
    commands={
        "schema check": ("schema", "check", "{data}", *_OWN),
        "query pair": ("query", "{data}", *_OWN, "-a", "people", "--by", "a,b", "--epsilon", "1", "-o", "t.parquet"),
        "anonymize, mondrian": ("anonymize", "{data}", *_OWN, "--k", "10", "-o", "k.csv"),
        **{
            f"synthesize, {method}": (
                *("synthesize", "{data}", *_OWN, "-a", "people", "--epsilon", "1", "--delta", "1e-9", "-n", "1000"),
                *("-o", "s.csv", "--method", method, "--people", "200000"),
            )
            for method in ("quality", "aim", "privbayes")
        },
    },
)
K = Sweep(
    over="k",
    sizes=(2, 10, 100, 1_000),
    quick=(2, 10, 100),
    write=write_people,
    goal="<= 1.1",
    same=200_000,
    commands={
        "anonymize, mondrian": (*_KANON, "{size}"),
        "anonymize, local": (*_KANON, "{size}", "--method", "local"),
        "mask, microaggregation": ("mask", "{data}", *_PEOPLE, "--microaggregate", "hours={size}", "-o", "m.csv"),
    },
)
EPSILON = Sweep(
    over="epsilon",
    sizes=(0.1, 1, 4, 16),
    quick=(0.1, 1, 4),
    write=write_people,
    goal="shown",
    same=200_000,
    commands={
        **{
            f"synthesize, {method}": (
                *("synthesize", "{data}", *PAID, "--epsilon", "{size}", "--delta", "1e-9", "-n", "1000"),
                *("-o", "s.csv", "--method", method, "--people", "200000"),
            )
            for method in ("quality", "aim", "privbayes")
        },
        "learn, trees": (
            *("learn", "fit", "{data}", *PAID, "--epsilon", "{size}", "--delta", "1e-9", "-o", "fit.json"),
            *("--target", "smokes", "--kind", "trees"),
        ),
        "collect simulate": (
            *("collect", "simulate", "{data}", *_PEOPLE, "--respondents", "200000", "--epsilon", "{size}"),
            *("--by", "school,job", "--by", "region,smokes", "--mode", "tables"),
        ),
    },
)
SWEEPS = (ROWS, EVENTS, COLUMNS, LEVELS, K, EPSILON)


def run(*, quick: bool) -> list[Row]:
    grown = []
    for sweep in SWEEPS:
        with tempfile.TemporaryDirectory() as folder:
            grown += swept(Path(folder), sweep, quick=quick)
    with tempfile.TemporaryDirectory() as folder:
        grown += _wide(Path(folder), 200_000 if quick else 10_000_000)
    return [*grown, *_holders((2, 4, 8) if quick else (2, 8, 16, 32))]


def swept(work: Path, sweep: Sweep, *, quick: bool = False, only: Sequence[str] = ()) -> list[Row]:
    sizes, larger = (sweep.quick, None) if quick else (sweep.sizes, sweep.larger)
    for size in (*sizes, *([larger] if larger else [])) if sweep.same is None else [sweep.same]:
        if not (work / f"data{int(size)}.{sweep.form}").exists():
            sweep.write(work, int(size))
    return [
        row
        for name, command in sweep.commands.items()
        if not only or name in only
        for row in _grown(
            f"{name}, {sweep.over}",
            sizes,
            partial(_used, work, sweep, command),
            "shown" if quick else sweep.goal,
            larger=larger,
            memory=sweep.memory,
            turns=1 if quick else 2,
        )
    ]


def _used(work: Path, sweep: Sweep, command: Sequence[str], size: float) -> tuple[float, float]:
    written = f"{size:g}" if size < 1 else str(int(size))
    with tempfile.TemporaryDirectory(dir=work) as fresh:
        filled = tuple(part.replace("{size}", written).replace("{new}", fresh) for part in command)
        return used_by(work, filled, f"data{sweep.same or int(size)}.{sweep.form}", sweep.unit)


def _grown(
    bar: str,
    sizes: Sequence[float],
    used: Callable[[float], tuple[float, float]],
    goal: str,
    *,
    larger: float | None = None,
    memory: bool = False,
    turns: int = 1,
) -> list[Row]:
    used(sizes[0])  # compiles
    found = {size: min(used(size) for _ in range(turns)) for size in sizes}
    if larger and found[sizes[-1]][0] - found[sizes[0]][0] < _CLEAR:
        found[larger] = min(used(larger) for _ in range(turns))
    fixed, last, before = found[sizes[0]], max(found), sorted(found)[-2]
    beyond = {size: cpu - fixed[0] for size, (cpu, _) in found.items()}
    listed = ", ".join(f"{size:,.10g}: {cpu:.2f}" for size, (cpu, _) in found.items())
    rows = []
    if memory:
        extra = (found[last][1] - fixed[1]) / (last / 1e6)
        rows = [Row(bar=f"{bar}: memory for a million more", ours=extra, unit="MB")]
    if beyond[last] < _NOTICEABLE:
        note = f"CPU s: {listed}: hardly more than its fixed cost"
        return [Row(bar=f"{bar}: CPU beyond the fixed cost", ours=beyond[last], unit="s", note=note), *rows]
    slope = math.log(beyond[last] / max(beyond[before], 0.1)) / math.log(last / before)
    return [Row(bar=f"{bar}: exponent", ours=slope, unit="", goal=goal, note=f"CPU s: {listed}"), *rows]


def _wide(work: Path, rows: int) -> list[Row]:
    write_chain(work, 300, rows)
    write_chain(work, 299, 2_000)
    spent = ("-a", "people", "--epsilon", "1", "--delta", "1e-9", "-n", "1000", "-o", "s.csv", "--method", "quality")
    for columns in (299, 300):  # the first compiles
        command = ("synthesize", "{data}", "-s", f"schema{columns}.yaml", *spent, "--people", str(rows))
        seconds, memory = used_by(work, command, f"data{columns}.parquet")
    bar = f"synthetic rows of {rows:,} rows and 300 columns"
    return [
        Row(bar=bar, ours=seconds, unit="CPU s"),
        Row(bar=f"{bar}: memory", ours=memory, unit="MB", goal="<= 16000"),
    ]


def _holders(sizes: Sequence[int]) -> list[Row]:
    return [
        row
        for method in ("SL1", "SL2", "SL3")
        for row in _grown(f"federate {method}, holders", sizes, partial(_shared, method), "<= 1.1")
    ]


def _shared(method: str, holders: float) -> tuple[float, float]:
    return seconds_of_holders(method, int(holders)), 0.0

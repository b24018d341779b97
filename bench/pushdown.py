"""Sums next to the data: a query of sum, mean, variance and median by two attributes in PostgreSQL, against streaming.

Both ways run in one process, on the same table and the same plan, in turns; the sums are the same to the last step, or
the bench fails. CPU seconds are those of this process; wall time holds the server too, whose work is on the same cores.
Persons: at most two rows of each are counted, which the server finds with a window, and streaming by holding all rows.
The MongoDB of the tests is no MongoDB, so that it is not measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa
from tests.support.postgres import PostgresServer

from bench.rows import Row
from tacita.domain import Categorical, Date, Domain, Identifier, Numeric
from tacita.engines.postgres import PostgresEngine
from tacita.engines.targets import row_target
from tacita.query import Aggregate
from tacita.query.summing import exact_sums, request_of
from tacita.testing.sums import Streaming, plan_of

REGIONS = tuple(f"region {place}" for place in range(8))
ATTRIBUTES = (
    Numeric(name="income", bounds=(0, 200), bins=20, missing=True),
    Numeric(name="age", bounds=(0, 99), edges=(0, 18, 40, 65, 99), integer=True),
    Categorical(name="region", levels=REGIONS, other=True),
    Date(name="seen", bounds=("2020-01-01", "2020-12-31"), by="month"),
)
ROWS = Domain(attributes=ATTRIBUTES)
PERSONS = Domain(attributes=(Identifier(name="who"), *ATTRIBUTES), person="who")
TURNS = 3
_INSERTED = 20_000


def run(*, quick: bool) -> list[Row]:
    people = 400_000 if quick else 1_000_000
    table = made_up(people)
    with PostgresServer(fsync=True) as server:
        url = server.create_database()
        start = time.monotonic()
        row_target(url, "stays").write(iter(table.slice(at, 1 << 16) for at in range(0, people, 1 << 16)))
        copied = time.monotonic() - start
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE stays")
        goal = "<= 0.25" if quick else "<= 0.15"  # a statement costs the same for any number of rows
        found = _compared(url, ROWS, "rows", goal, median=False)
        found += _compared(url, ROWS, "rows", goal)
        found += _compared(url, PERSONS, "persons", goal)
        return [*found, _written(url, table, people / copied)]


def made_up(people: int) -> pa.Table:
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "who": pa.array(rng.integers(0, people // 3, people)),
            "income": pa.array(rng.gamma(4, 10, people), mask=rng.random(people) < 0.05),
            "age": rng.integers(0, 105, people),
            "region": np.array([*REGIONS, "elsewhere"])[rng.integers(0, 9, people)],
            "seen": pa.array((np.datetime64("2020-01-01") + rng.integers(0, 366, people)).astype("datetime64[D]")),
        }
    )


def _plan(domain: Domain, median: bool = True) -> Any:
    kinds: Any = ("sum", "mean", "var")
    wanted = [Aggregate(kind=kind, column="income") for kind in kinds]
    if median:
        wanted.append(Aggregate(kind="quantile", column="income", q=0.5))
    return plan_of(domain, wanted, ["region", "age"], max_rows=2)


def _compared(url: str, domain: Domain, unit: str, goal: str, *, median: bool = True) -> list[Row]:
    engine, plan = PostgresEngine(domain, url, "stays"), _plan(domain, median)
    request = request_of(plan)
    assert request is not None
    assert engine.sums(request) is not None
    streaming: Any = Streaming(engine)
    times: dict[str, list[tuple[float, float]]] = {"pushed": [], "streamed": []}
    for _ in range(TURNS):
        pushed = _timed(lambda: exact_sums(plan, engine), times["pushed"])
        streamed = _timed(lambda: exact_sums(plan, streaming), times["streamed"])
        assert all((mine == theirs).all() for mine, theirs in zip(pushed, streamed, strict=True))
    (cpu, wall), (cpu_streamed, wall_streamed) = (tuple(map(min, zip(*each, strict=True))) for each in times.values())
    what = f"sum, mean, variance{', median' if median else ''} by two attributes, {unit}"
    return [
        Row(
            bar=f"{what}: CPU seconds of this process",
            ours=cpu,
            peer=cpu_streamed,
            peer_name="streamed",
            unit="cpu_s",
            goal=goal,
        ),
        Row(
            bar=f"{what}: wall seconds, server included",
            ours=wall,
            peer=wall_streamed,
            peer_name="streamed",
            unit="s",
            # points by groups are hardly fewer than rows: the server hashes longer than a socket takes to stream
            goal="<= 1" if unit == "persons" or not median else "shown",
            note="the server has no network in front of it, which favours streaming",
        ),
    ]


def _timed(work: Callable[[], Any], into: list[tuple[float, float]]) -> Any:
    cpu, wall = time.process_time(), time.monotonic()
    found = work()
    into.append((time.process_time() - cpu, time.monotonic() - wall))
    return found


def _written(url: str, table: pa.Table, copied: float) -> Row:
    """Rows a second that are written back, against the driver's own way for many rows."""
    some = table.slice(0, _INSERTED).to_pylist()
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE inserted (LIKE stays)")
        start = time.monotonic()
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO inserted VALUES (%(who)s, %(income)s, %(age)s, %(region)s, %(seen)s)", some)
        connection.commit()
        inserted = len(some) / (time.monotonic() - start)
    return Row(
        bar="rows a second written back into PostgreSQL",
        ours=copied,
        peer=inserted,
        peer_name="psycopg executemany",
        unit="rows/s",
        goal=">= 3",
    )

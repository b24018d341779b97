"""Eight processes fight for one account of a thousand small charges, and some are killed on the way.

On both stores, with real processes and SIGKILL. Figures are counts, not times: what was charged beyond the budget,
and what was answered but is not in the ledger. The rate of charges is shown for orientation.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.support.postgres import PostgresServer

from bench.rows import Row
from tacita.testing.ledger import race

PROCESSES, KILLS = 8, 4


def run(*, quick: bool) -> list[Row]:
    charges = 200 if quick else 1000
    with tempfile.TemporaryDirectory() as folder, PostgresServer(fsync=True) as server:
        urls = {"SQLite": f"sqlite:///{folder}/state.db", "PostgreSQL": server.create_database()}
        return [row for store, url in urls.items() for row in _rows(store, url, charges)]


def _rows(store: str, url: str, charges: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        seen = race(url, Path(folder), processes=PROCESSES, charges=charges, kills=KILLS)
    lost = len(set(seen.answered) - seen.settled)
    note = f"{PROCESSES} processes, {KILLS} killed with SIGKILL and replaced, {charges} charges of 0.001"
    return [
        Row(
            bar=f"{store}: charges beyond the budget",
            ours=seen.charges - charges,
            unit="charges",
            goal="= 0",
            note=note,
        ),
        Row(bar=f"{store}: answers that the ledger has lost", ours=lost, unit="answers", goal="= 0"),
        Row(
            bar=f"{store}: answers handed out twice",
            ours=len(seen.answered) - len(set(seen.answered)),
            unit="answers",
            goal="= 0",
        ),
        Row(
            bar=f"{store}: charges left open by kills",
            ours=seen.charges - len(seen.settled),
            unit="charges",
            goal=f"<= {KILLS}",
        ),
        Row(bar=f"{store}: charges a second, reserve and settle", ours=seen.charges / seen.seconds, unit="1/s"),
    ]

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from tacita.collect.campaigns import intake
from tacita.store import Database


def test_ids_are_looked_up_one_by_one_and_never_all_reports_of_a_campaign(tmp_path: Path) -> None:
    """The planner has no statistics of the table: without help it read every report of a campaign for each id."""
    database = Database(f"sqlite:///{tmp_path}/state.db")
    parts = {"campaign": 1, "ids": bytes(160), "places": "[1, 17, 33]"}
    with database.reading() as connection:
        plan = connection.execute(sa.text("EXPLAIN QUERY PLAN " + intake._KNOWN_SQLITE), parts).all()
    database.close()
    steps = [step.detail for step in plan]
    assert "json_each" in steps[0]
    assert "SEARCH" in steps[1]
    assert "(campaign=? AND report=?)" in steps[1]

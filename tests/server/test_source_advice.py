from __future__ import annotations

import io
import json
import logging
from typing import Any

import psycopg
import pytest

from tacita.server.http import logs

pytestmark = pytest.mark.postgres

SCHEMA: dict[str, Any] = {"attributes": [{"name": "smokes", "kind": "boolean"}]}


def test_a_role_that_can_write_is_told_to_who_runs_the_server(world_of, postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE people (smokes bool)")
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs._Json())
    logs.LOGGER.addHandler(handler)
    before, logs.LOGGER.disabled = (logs.LOGGER.level, logs.LOGGER.disabled), False
    logs.LOGGER.setLevel(logging.INFO)  # whatever an earlier test has set
    try:
        made = world_of(sources={"patients": {"url": postgres_url, "table": "people"}}).register(schema=SCHEMA)
    finally:
        logs.LOGGER.removeHandler(handler)
        logs.LOGGER.level, logs.LOGGER.disabled = before
    assert made.status_code == 201
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    (advice,) = [line for line in lines if line["event"] == "advice"]
    assert "superuser" in advice["advice"]
    assert advice["source"] == "patients"
    assert postgres_url not in stream.getvalue()
    assert "superuser" not in made.text

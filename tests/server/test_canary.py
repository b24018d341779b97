"""No answer, log line or state of the server holds a value of a private row."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from tests.support.hostile_files import BROKEN, CANARY, SCHEMA


def test_no_answer_log_or_state_of_the_server_holds_a_row(
    world: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    media = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}
    steward, refused = world.token("steward"), 0
    options = json.dumps({"quasi": ["who"], "keep": ["pay"], "k": 2})
    for at, (kind, content) in enumerate(BROKEN.values()):
        name = f"broken{at}"
        answers = [
            world.call(
                "PUT", f"/v1/sources/{name}", token=steward, content=content, headers={"Content-Type": media[kind]}
            )
        ]
        refused += answers[0].status_code == 422
        # what came in is broken afterwards: registering and counting meet it too
        home = tmp_path / "home" / "sources"
        home.mkdir(parents=True, exist_ok=True)
        (home / f"{name}.{kind}").write_bytes(content)
        answers += [
            world.register(name, source=name, schema=SCHEMA),
            world.call(
                "POST",
                "/v1/anonymize",
                token=steward,
                files={"file": ("rows", content)},
                data={"schema": json.dumps(SCHEMA), "options": options},
            ),
        ]
        for answer in answers:
            assert answer.status_code < 500, answer.text
            if answer.status_code >= 400:
                assert CANARY not in answer.text
        assert CANARY not in caplog.text
    assert refused >= 4
    for kept in (tmp_path / "home").glob("*"):  # the state, not the folder of sources
        assert not kept.is_file() or CANARY.encode() not in kept.read_bytes()

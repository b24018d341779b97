"""Synthetic headlines over HTTP: planned, paid for once, trained by a job, drawn again from the model."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacita.report.statement import Statement, verify
from tacita.synthesize.text.example import example_headlines, example_vocabulary
from tacita.synthesize.text.released import HeadlineGenerator

pytest.importorskip("torch").set_num_threads(1)

WORDS = example_vocabulary()
BODY: dict[str, Any] = {
    "dataset": "news",
    "budget": {"epsilon": 8.0, "delta": 1e-5},
    "vocabulary": {"words": list(WORDS.words), "topics": list(WORDS.topics)},
    "kind": "clstm",
    "hidden": 8,
    "steps": 3,
    "sample": 30,
    "people": 200,
    "count": 5,
}
SCHEMA = {
    "attributes": [
        {"name": "text", "kind": "identifier"},
        {"name": "topic", "kind": "categorical", "levels": list(WORDS.topics)},
    ]
}


@pytest.fixture
def news(world_of, tmp_path):
    raw = example_headlines(200, seed=1)
    rows = pa.table({"text": [" ".join(each.words) for each in raw], "topic": [each.topic for each in raw]})
    pq.write_table(rows, tmp_path / "news.parquet")
    world = world_of(sources={"news": {"path": tmp_path / "news.parquet"}})
    budget = {"epsilon": 10.0, "delta": 1e-4}
    made = world.register("news", source="news", schema=SCHEMA, unit="row", budget=budget)
    assert made.status_code == 201, made.text
    return world


def test_from_plan_to_headlines(news, tmp_path) -> None:
    with news.client("analyst") as client:
        plan = client.plan_release("headlines", **BODY)
        assert plan["affordable"]
        assert plan["training"]["steps"] == 3
        job = client.release("headlines", **BODY, key="once")
        news.work()
        assert client.release("headlines", **BODY, key="once").id == job.id
        found = client.wait_release(job.id)
        assert (found.guarantee, found.kind, found.rows) == ("central", "clstm", 5 * len(WORDS.topics))
        (tmp_path / "rows.parquet").write_bytes(client.rows(job.id, "parquet"))
        rows = pq.read_table(io.BytesIO(client.rows(job.id, "parquet")))
        assert set(rows["topic"].to_pylist()) == set(WORDS.topics)
        known = set(WORDS.words) | {"unknown"}
        assert {word for text in rows["text"].to_pylist() for word in text.split()} <= known
        statement = Statement.from_json(client.statement(job.id).model_dump_json())
        assert all(each.good for each in verify(statement, files={"rows.parquet": tmp_path / "rows.parquet"}))
        model = HeadlineGenerator.from_json(client.synthetic_model(job.id))
        assert len(model.generate(2, WORDS.topics[0], np.random.default_rng(1))) == 2
        left = client.budget("news")
        assert left.spent > 0


def test_what_cannot_be_trained_is_named(news) -> None:
    token = news.token("analyst")

    def refused(**changes: Any) -> dict[str, Any]:
        answer = news.call("POST", "/v1/releases/headlines/plan", token=token, json=BODY | changes)
        assert answer.status_code in (404, 422), answer.text
        return answer.json()

    assert refused(text_column="topic")["field"] == "text_column"
    assert refused(topic_column="text")["field"] == "topic_column"
    assert "nowhere" in refused(text_column="nowhere")["detail"]
    assert "lower-case" in refused(vocabulary={"words": ["Two words"], "topics": ["a"]})["detail"]
    assert refused(budget={"epsilon": 1.0})["status"] == 422

"""Synthetic tap records over HTTP: planned, paid for once, fetched, drawn again, assessed."""

from __future__ import annotations

import io
from collections import Counter
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from tacita.demo.city import build_city, simulate_taps
from tacita.report.statement import Statement, verify
from tacita.server.releasing import mobility
from tacita.synthesize.mobility.result import SyntheticMobility

CITY = build_city(lines=3, stations=5, stops=1)
PLACES = CITY.places.as_dict()
BODY: dict[str, Any] = {
    "dataset": "city",
    "budget": {"epsilon": 1.0},
    "people": 300,
    "cards": 200,
    "places": PLACES,
}


@pytest.fixture
def city(world_of, tmp_path):
    sources = {}
    for name, seed in (("city", 1), ("held", 2)):
        pq.write_table(simulate_taps(CITY, 300, seed=seed), tmp_path / f"{name}.parquet")
        sources[name] = {"path": tmp_path / f"{name}.parquet"}
    world = world_of(sources=sources)
    schema = CITY.schema.domain.as_dict()
    for name in sources:
        made = world.register(name, source=name, schema=schema, unit="person:card:20", budget={"epsilon": 4.0})
        assert made.status_code == 201, made.text
    return world


def spent(world) -> float:
    return float(world.call("GET", "/v1/datasets/city/budget", token=world.token("steward")).json()["spent"])


def test_from_plan_to_assessment(city, tmp_path) -> None:
    with city.client("steward") as client:
        plan = client.plan_release("mobility", **BODY)
        assert plan["affordable"]
        assert {"table", "cells", "std", "total_variation"} <= set(plan["predictions"][0])
        assert spent(city) == 0
        job = client.release("mobility", **BODY, key="once")
        city.work()
        assert client.release("mobility", **BODY, key="once").id == job.id
        assert spent(city) == pytest.approx(1, abs=1e-3)
        found = client.wait_release(job.id)
        assert (found.tacita, found.guarantee, found.cards) == ("mobility/1", "central", 200)
        (tmp_path / "rows.parquet").write_bytes(client.rows(job.id, "parquet"))
        rows = pq.read_table(tmp_path / "rows.parquet")
        assert (found.rows, found.columns) == (rows.num_rows, rows.column_names)
        statement = Statement.from_json(client.statement(job.id).model_dump_json())
        assert all(each.good for each in verify(statement, files={"rows.parquet": tmp_path / "rows.parquet"}))
        assert any(CITY.places.fingerprint in fact for fact in statement.public)
        pairs = Counter(zip(rows["origin"].to_pylist(), rows["destination"].to_pylist(), strict=True))
        names = [place.name for place in found.places]
        labels = dict(zip(CITY.places.ids, CITY.places.labels, strict=True))
        counted = {(labels[a], labels[b]): trips for (a, b), trips in pairs.items()}
        for flow in found.flows:
            assert counted[names[flow.origin], names[flow.destination]] == flow.trips
        assert found.flows[0].trips == max(counted.values())
        assert sum(found.hours) == rows.num_rows
        model = SyntheticMobility.from_json(client.synthetic_model(job.id))
        assert len(set(model.sample(5, np.random.default_rng(1))["card"].to_pylist())) <= 5
        assessed = client.assess(release=job.id, control="held", attempts=100)
        city.work()
        result = client.wait_assessment(assessed.id)
        assert {each["name"] for each in result.attacks if each["ran"]} >= {"trajectories", "trajectory-copies"}
        assert result.travel is not None


def test_what_cannot_be_asked_is_named(city) -> None:
    token = city.token("analyst")

    def refused(**changes: Any) -> dict[str, Any]:
        answer = city.call("POST", "/v1/releases/mobility", token=token, json=BODY | changes)
        assert answer.status_code == 422, answer.text
        return answer.json()

    assert "columns" in refused(columns={"origins": "from"})["detail"]
    for twice in ({"origin": "destination"}, {"entry_date": "exit_date"}, {"mode": "payment"}):
        assert "a column of its own" in refused(columns=twice)["detail"]
    assert "places" in refused(places={"ids": PLACES["ids"][1:]})["detail"]
    assert "places" in refused(places=PLACES | {"x": PLACES["x"][1:]})["detail"]
    submitted = city.call("POST", "/v1/releases/mobility", token=token, json=BODY)
    city.work()
    id = submitted.json()["id"]
    for path, body in (("draw", {"rows": 5}), ("shares", {"tables": [["mode"]]})):
        answer = city.call("POST", f"/v1/releases/{id}/{path}", token=token, json=body)
        assert answer.status_code == 409
        assert "tacita mobility draw" in answer.json()["hint"]


def test_a_job_that_is_killed_while_it_writes_is_charged_once(city, monkeypatch) -> None:
    token = city.token("analyst")
    id = city.call("POST", "/v1/releases/mobility", token=token, json=BODY).json()["id"]

    class Killed(BaseException):
        pass

    def die(*_: Any, **__: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(mobility, "_write", die)
        with pytest.raises(Killed):
            city.services.jobs.work(id, city.services)
    assert spent(city) == pytest.approx(1, abs=1e-3)
    city.services.jobs._move(id, ("running",), {"state": "queued"})  # what recovery does when the heart has stopped
    city.work()
    rows = city.call("GET", f"/v1/releases/{id}/rows?format=parquet", token=token)
    assert len(set(pq.read_table(io.BytesIO(rows.content))["card"].to_pylist())) == 200
    assert spent(city) == pytest.approx(1, abs=1e-3)

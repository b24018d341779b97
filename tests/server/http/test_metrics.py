from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from prometheus_client.parser import text_string_to_metric_families


def samples(world) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    text = world.call("GET", "/metrics").text
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_what_is_counted(both) -> None:
    both.register()
    token = both.token("analyst")
    both.query(token)
    both.query(token, 5.0)
    campaign = both.campaign()
    report = {"wire": 1, "campaign": campaign["id"], "question": "q1", "report": "0" * 32, "answer": 1}
    both.call("POST", f"/v1/campaigns/{campaign['id']}/reports", json={"reports": [report]})
    found = samples(both)
    query = (("method", "POST"), ("route", "/v1/datasets/{name}/query"))
    assert found["tacita_requests_total", (*query, ("status", "200"))] == 1
    assert found["tacita_requests_total", (*query, ("status", "403"))] == 1
    assert found["tacita_request_seconds_count", query] == 2
    assert found["tacita_refusals_total", (("code", "budget-exceeded"),)] == 1
    assert found["tacita_charges", (("state", "settled"),)] == 1
    assert found["tacita_reports_accepted_total", ()] == 1


def test_no_name_and_no_value(world) -> None:
    world.register()
    world.query(world.token("analyst"))
    world.call("GET", "/v1/datasets/needle4711", token=world.token())
    campaign = world.campaign()["id"]
    world.call("GET", f"/v1/campaigns/{campaign}/questions")
    job = {"kind": "query", "dataset": "patients", "tables": [["age"]], "budget": {"epsilon": 0.1}}
    world.call("POST", "/v1/jobs", token=world.token("analyst"), json=job)
    lines = (world.call("GET", "/metrics").text + world.call("GET", "/readyz").text).splitlines()
    text = "\n".join(line for line in lines if "_seconds_sum" not in line and "_created" not in line)  # of any digits
    for word in ("patients", "smokes", "age", "needle4711", "1234", campaign, "analyst", "Smoking"):
        assert word not in text


def test_alive_and_ready(world) -> None:
    for path in ("/healthz", "/readyz"):
        assert world.call("GET", path).json()["status"] == "ok"


@pytest.mark.postgres
def test_not_ready_when_the_state_is_away(world_of, postgres, postgres_url: str) -> None:
    world = world_of(state=postgres_url)
    assert world.call("GET", "/readyz").status_code == 200
    postgres.drop_database(urlsplit(postgres_url).path[1:])
    response = world.call("GET", "/readyz")
    assert (response.status_code, response.json()["code"]) == (503, "source-unavailable")
    assert "/tmp" not in response.text
    assert world.call("GET", "/healthz").status_code == 200
    assert "tacita_requests_total" in world.call("GET", "/metrics").text

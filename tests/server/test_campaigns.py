from __future__ import annotations

import threading
import uuid
from typing import Any

import pytest

from tacita.collect.client import Device
from tacita.release import Release


def reports(campaign: dict[str, Any], count: int, answer: int = 1) -> list[dict[str, Any]]:
    members = {"wire": 1, "campaign": campaign["id"], "question": "q1", "answer": answer}
    return [members | {"report": uuid.uuid4().hex} for _ in range(count)]


def post(world, campaign: dict[str, Any], batch: object):
    return world.call("POST", f"/v1/campaigns/{campaign['id']}/reports", json={"reports": batch})


def test_a_campaign_from_question_to_release(both, tmp_path) -> None:
    campaign = both.campaign()
    question = both.call("GET", f"/v1/campaigns/{campaign['id']}/question")
    assert question.json() == campaign["question"]
    for number in range(6):
        device = Device(ledger_path=tmp_path / f"device{number}", limit_total_epsilon=2.0, limit_question_epsilon=2.0)
        report, _ = device.answer(question.json(), "true")
        assert post(both, campaign, [report.to_dict()]).json() == {"accepted": 1, "replayed": []}
    analyst = both.token("analyst")
    seen = both.call("GET", f"/v1/campaigns/{campaign['id']}", token=analyst).json()
    assert (seen["received"], seen["state"]) == (6, "open")
    response = both.call("GET", f"/v1/campaigns/{campaign['id']}/release?about=respondents", token=analyst)
    release = Release.from_json(response.text)
    assert (release.trust, release.quantity) == ("local", "share")
    assert release.values.sum() == pytest.approx(1)


def test_below_the_minimum_nothing_is_released(world) -> None:
    campaign = world.campaign()
    post(world, campaign, reports(campaign, 4))
    response = world.call("GET", f"/v1/campaigns/{campaign['id']}/release", token=world.token("analyst"))
    assert (response.status_code, response.json()["code"]) == (409, "conflict")


def test_replayed(both) -> None:
    campaign = both.campaign()
    batch = reports(campaign, 3)
    assert post(both, campaign, batch).json()["accepted"] == 3
    again = post(both, campaign, batch)
    assert (again.status_code, again.json()["code"], again.json()["field"]) == (409, "conflict", "report")
    assert again.json()["hint"]
    mixed = post(both, campaign, [*reports(campaign, 1), batch[0]]).json()
    assert mixed == {"accepted": 1, "replayed": [batch[0]["report"]]}
    assert both.services.campaigns.get(campaign["id"]).received == 4


def test_closed(both) -> None:
    campaign = both.campaign()
    steward = both.token("steward")
    for _ in range(2):
        closed = both.call("POST", f"/v1/campaigns/{campaign['id']}/close", token=steward)
        assert (closed.status_code, closed.json()["state"]) == (200, "closed")
    late = post(both, campaign, reports(campaign, 1))
    assert (late.status_code, late.json()["field"]) == (409, "campaign")


def test_an_unknown_campaign(world) -> None:
    known = world.campaign()
    response = post(world, {"id": "cp_nothing"}, reports(known, 1))
    assert (response.status_code, response.json()["field"]) == (404, "campaign")
    assert known["id"] not in response.text  # respondents learn of no other campaign


@pytest.mark.parametrize(
    "change",
    [
        {"answer": 99},
        {"answer": -1},
        {"answer": "true"},
        {"report": "short"},
        {"campaign": "another"},
        {"wire": 2},
        {"name": "Ada"},
    ],
)
def test_a_malformed_report_is_named_and_nothing_counts(world, change: dict[str, Any]) -> None:
    campaign = world.campaign()
    batch = reports(campaign, 3)
    batch[1] |= change
    response = post(world, campaign, batch)
    assert response.status_code == 422
    assert response.json()["field"].startswith("reports[1]")
    assert "Ada" not in response.text
    assert world.services.campaigns.get(campaign["id"]).received == 0


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"{}", 422),
        (b'{"reports": 1}', 422),
        (b'{"reports": [1]}', 422),
        (b'{"reports": [], "extra": "4711"}', 422),
        (b'{"reports": []}', 422),
    ],
)
def test_malformed_batches(world, content: bytes, status: int) -> None:
    path = f"/v1/campaigns/{world.campaign()['id']}/reports"
    response = world.call("POST", path, content=content, headers={"Content-Type": "application/json"})
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert "4711" not in response.text


def test_many_senders_at_once(both) -> None:
    campaign = both.campaign()
    batches = [reports(campaign, 20, answer=n % 2) for n in range(12)]
    statuses: list[int] = []
    threads = [
        threading.Thread(target=lambda batch=batch: statuses.append(post(both, campaign, batch).status_code))
        for batch in [*batches, batches[0]]
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200] * 12 + [409]
    assert both.services.campaigns.get(campaign["id"]).received == 240


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"minimum": 0}, "minimum"),
        ({"title": ""}, "title"),
        ({"attribute": {"kind": "identifier", "name": "id"}}, "attribute"),
        ({"attribute": {"kind": "categorical", "name": "x", "levels": ["a", "a"]}}, "x"),
        ({"attribute": {"kind": "wrong", "name": "x"}}, "attribute"),
    ],
)
def test_bad_campaigns_are_explained(world, changes: dict[str, Any], field: str) -> None:
    body = {"title": "t", "attribute": {"kind": "boolean", "name": "x"}, "epsilon": 1.0}
    response = world.call("POST", "/v1/campaigns", token=world.token("steward"), json=body | changes)
    assert (response.status_code, response.json()["field"]) == (422, field), response.text

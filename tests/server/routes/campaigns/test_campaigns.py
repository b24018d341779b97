from __future__ import annotations

import threading
import uuid
from typing import Any

import pytest

from tacita.collect.device.blind import buy_token, report_id
from tacita.collect.device.device import Device
from tacita.tables.release import Releases


def reports(campaign: dict[str, Any], count: int, answer: int = 1) -> list[dict[str, Any]]:
    members = {"wire": 1, "campaign": campaign["id"], "question": "q1", "answer": answer}
    return [members | {"report": uuid.uuid4().hex} for _ in range(count)]


def post(world, campaign: dict[str, Any], batch: object):
    return world.call("POST", f"/v1/campaigns/{campaign['id']}/reports", json={"reports": batch})


PAIRS = {
    "schema": {
        "tacita": 1,
        "attributes": [
            {"kind": "categorical", "name": "smokes", "levels": ["never", "daily"]},
            {"kind": "categorical", "name": "town", "levels": [f"t{i}" for i in range(60)]},
        ],
    },
    "tables": [["smokes", "town"]],
    "mode": "tables",
}


def test_a_campaign_from_questions_to_tables(both, tmp_path) -> None:
    campaign = both.campaign(**PAIRS)
    assert {question["channel"] for question in campaign["questions"]} >= {"hash", "rr"}
    for number in range(12):
        sheet = both.call("GET", f"/v1/campaigns/{campaign['id']}/questions").json()["questions"]
        device = Device(
            service="https://survey.example",
            ledger_path=tmp_path / f"device{number}",
            limit_total_epsilon=2.0,
            limit_question_epsilon=2.0,
        )
        sent = device.answer_sheet(sheet, {"smokes": "never", "town": "t7"})
        batch = [report.to_dict() for report, _ in sent]
        assert post(both, campaign, batch).json() == {"accepted": 1, "replayed": []}
    analyst = both.token("analyst")
    seen = both.call("GET", f"/v1/campaigns/{campaign['id']}", token=analyst).json()
    assert (seen["received"], seen["state"]) == (12, "open")
    response = both.call("GET", f"/v1/campaigns/{campaign['id']}/releases", token=analyst)
    for release in Releases.from_json(response.text).values():
        assert (release.trust, release.quantity) == ("local", "share")
        assert release.event.epsilon <= 1.0


def test_below_the_minimum_nothing_is_released(world) -> None:
    campaign = world.campaign()
    post(world, campaign, reports(campaign, 4))
    response = world.call("GET", f"/v1/campaigns/{campaign['id']}/releases", token=world.token("analyst"))
    assert (response.status_code, response.json()["code"]) == (409, "conflict")


def test_a_plan_asks_nobody(world) -> None:
    body = PAIRS | {"epsilon": 1.0, "respondents": 5000}
    response = world.call("POST", "/v1/campaigns/plan", token=world.token("analyst"), json=body)
    assert response.status_code == 200, response.text
    assert len(response.json()["questions"]) == len(response.json()["predictions"]) == 3
    assert world.services.campaigns.list() == []


def test_a_draft_is_opened_later(world) -> None:
    campaign, steward = world.campaign(draft=True), world.token("steward")
    path = f"/v1/campaigns/{campaign['id']}"
    assert campaign["state"] == "draft"
    assert world.call("GET", f"{path}/questions").status_code == 409
    assert post(world, campaign, reports(campaign, 1)).status_code == 409
    assert world.call("POST", f"{path}/open", token=world.token("analyst")).status_code == 403
    assert world.call("POST", f"{path}/open", token=steward).json()["state"] == "open"
    assert world.call("GET", f"{path}/questions").status_code == 200


def test_rounds_and_a_stop_over_http(world) -> None:
    campaign = world.campaign(channel="rr", rounds={"size": 10}, stop={"half_width": 0.4}, minimum=5)
    assert campaign["terms"]["rounds"]["floor"] == 0.5
    post(world, campaign, reports(campaign, 12))
    seen = world.call("GET", f"/v1/campaigns/{campaign['id']}", token=world.token("analyst")).json()
    assert seen["block"] == 2 or seen["state"] == "closed"


def test_two_phases_over_http(world) -> None:
    schema = {"tacita": 1, "attributes": [{"kind": "boolean", "name": name} for name in "ab"]}
    body = {"schema": schema, "tables": [["a", "b"]], "mode": "tables", "phases": "two", "first": 0.5}
    plan = body | {"epsilon": 1.0, "respondents": 40}
    planned = world.call("POST", "/v1/campaigns/plan", token=world.token("analyst"), json=plan).json()
    assert (planned["phases"], planned["first"]) == (2, 0.5)
    campaign = world.campaign(**body, respondents=40, minimum=5)
    assert (campaign["phases"], campaign["first_respondents"], campaign["block"]) == (2, 20, 1)
    post(world, campaign, reports(campaign, 19))
    path, analyst = f"/v1/campaigns/{campaign['id']}", world.token("analyst")
    assert world.call("GET", path, token=analyst).json()["block"] == 1
    post(world, campaign, reports(campaign, 1))
    seen = world.call("GET", path, token=analyst).json()
    assert seen["block"] == 2
    assert seen["epsilon"] <= 1.0
    block = world.call("GET", f"{path}/block", token=world.token("steward")).json()
    assert len(block["tables"]) == len(block["questions"]) > 0
    assert world.call("POST", f"{path}/block", token=world.token("steward"), json=block).status_code == 409
    late = {"wire": 1, "campaign": campaign["id"], "question": "q1.2", "report": uuid.uuid4().hex, "answer": 1}
    assert post(world, campaign, [late]).status_code == 200
    assert world.call("GET", f"{path}/releases", token=analyst).status_code == 200


def test_a_series_over_http(world) -> None:
    body = {"tables": [["smokes"]], "waves": 3, "turns": 3, "epsilon": 3.0, "respondents": 60, "minimum": 5}
    campaign = world.campaign(**body, id="panel")
    assert campaign["series"] == {"id": "panel", "wave": 1, "waves": 3, "turns": 3, "epsilon": 3.0}
    post(world, campaign, reports(campaign, 10))
    path, analyst, steward = "/v1/campaigns/panel", world.token("analyst"), world.token("steward")
    assert world.call("POST", f"{path}/waves", token=analyst, json={}).status_code == 403
    scoped = world.token("steward", datasets=["panel"])
    assert world.call("POST", f"{path}/waves", token=scoped, json={"wave": 2}).status_code == 403
    made, again = (world.call("POST", f"{path}/waves", token=steward, json={"wave": 2}) for _ in range(2))
    assert again.json() == made.json()  # a request that is sent twice opens one wave
    assert (made.status_code, made.json()["id"], made.json()["series"]["wave"]) == (201, "panel.2", 2)
    assert world.call("GET", path, token=analyst).json()["reason"] == "the next wave has begun"
    listed = world.call("GET", f"{path}.2/waves", token=analyst).json()
    assert [each["id"] for each in listed] == ["panel", "panel.2"]
    assert world.call("GET", f"{path}.2/changes", token=analyst).status_code == 409  # no one has answered yet
    post(world, made.json(), reports(made.json(), 10))
    found = world.call("GET", f"{path}.2/changes", token=analyst).json()
    assert {tuple(each["attributes"]) for each in found} == {("smokes",)}
    assert all(each["low"] <= each["change"] <= each["high"] for each in found)
    asked = {"since": 1, "by": "smokes", "level": 0.9}
    narrow = world.call("GET", f"{path}.2/changes", token=analyst, params=asked).json()
    assert narrow[0]["high"] < found[0]["high"]
    for wrong in ({"since": 2}, {"since": 0}, {"by": "nothing"}, {"level": 1}):
        assert world.call("GET", f"{path}.2/changes", token=analyst, params=wrong).status_code == 422
    assert world.call("GET", f"{path}.2/changes", token=world.token("analyst", datasets=["panel.2"])).status_code == 403
    assert world.call("POST", f"{path}/waves", token=steward, json={"wave": 3}).status_code == 201
    two = world.token("analyst", datasets=["panel", "panel.2"])  # which later waves do not concern
    assert world.call("GET", f"{path}.2/changes", token=two).json() == found
    assert [each["id"] for each in world.call("GET", f"{path}/waves", token=two).json()] == ["panel", "panel.2"]
    release = world.call("GET", f"{path}.2/releases", token=analyst).json()["releases"][0]
    assert release["provenance"]["recipe"]["epsilon_series"] == 3.0
    sheet = world.call("GET", f"{path}.3/questions").json()
    assert sheet["questions"][0]["series"]["wave"] == 3


@pytest.mark.parametrize("wrong", [{"waves": 0}, {"waves": 2.5}, {"turns": 4}, {"phases": "two"}, {"epsilon": 9.0}])
def test_a_bad_series_over_http(world, wrong) -> None:
    body = PAIRS | {"waves": 3, "turns": 3, "epsilon": 1.0, "respondents": 5000, "title": "x"} | wrong
    response = world.call("POST", "/v1/campaigns", token=world.token("steward"), json=body)
    assert response.status_code == 422, response.text
    assert world.services.campaigns.list() == []


@pytest.mark.parametrize(
    "wrong", [{"phases": "three"}, {"first": 0.0}, {"first": "half"}, {"mode": "singles"}, {"rounds": {"size": 5}}]
)
def test_bad_phases_over_http(world, wrong) -> None:
    body = PAIRS | {"phases": "two", "epsilon": 1.0, "respondents": 5000, "title": "x"} | wrong
    response = world.call("POST", "/v1/campaigns", token=world.token("steward"), json=body)
    assert response.status_code == 422, response.text
    assert world.services.campaigns.list() == []


def test_matrices_are_refitted_in_blocks_over_http(world) -> None:
    schema = {
        "tacita": 1,
        "attributes": [{"kind": "ordinal", "name": "school", "levels": ["none", "basic", "high", "college"]}],
    }
    campaign = world.campaign(
        schema=schema, tables=[["school"]], channel="optimal", penalty="squared", rounds={"size": 10, "floor": 0.3},
        minimum=5,
    )  # fmt: skip
    first = world.call("GET", f"/v1/campaigns/{campaign['id']}/questions").json()["questions"][0]
    assert first["channel"]["kind"] == "matrix"
    post(world, campaign, reports(campaign, 12, answer=3))
    seen = world.call("GET", f"/v1/campaigns/{campaign['id']}", token=world.token("analyst")).json()
    assert seen["block"] == 2
    assert {question["channel"] for question in seen["questions"]} == {"matrix"}
    second = world.call("GET", f"/v1/campaigns/{campaign['id']}/questions").json()["questions"][0]
    assert second["channel"] != first["channel"]
    assert seen["epsilon"] <= 1.0


def packed(campaign: dict[str, Any], answers: list[int], question: str = "q1") -> bytes:
    head = b"TCR1" + bytes([len(question)]) + question.encode()
    return head + b"".join(uuid.uuid4().bytes + answer.to_bytes(4, "little") for answer in answers)


def test_packed_reports(both) -> None:
    campaign = both.campaign()
    path = f"/v1/campaigns/{campaign['id']}/reports"
    media = {"Content-Type": "application/vnd.tacita.reports"}
    body = packed(campaign, [0, 1, 1])
    assert both.call("POST", path, content=body, headers=media).json() == {"accepted": 3, "replayed": []}
    assert both.call("POST", path, content=body, headers=media).status_code == 409
    for wrong in (b"", b"TCR1", body[:-1], packed(campaign, [2]), packed(campaign, [0], "q9")):
        response = both.call("POST", path, content=wrong or b"x", headers=media)
        assert (response.status_code, response.json()["code"]) == (422, "invalid-input"), response.text
    assert both.services.campaigns.get(campaign["id"]).reports == 3
    elsewhere = both.call("POST", f"/v1/campaigns/{campaign['id']}/close", content=body, headers=media)
    assert elsewhere.status_code == 415


def test_merging_over_http(world) -> None:
    campaign, steward = world.campaign(), world.token("steward")
    post(world, campaign, reports(campaign, 3))
    path = f"/v1/campaigns/{campaign['id']}"
    tally = world.call("GET", f"{path}/tally", token=steward)
    assert tally.status_code == 200
    again = world.call("POST", f"{path}/merge", token=steward, json=tally.json())
    assert (again.status_code, again.json()["field"]) == (409, "tally")
    other = tally.json() | {"reports": [uuid.uuid4().hex for _ in range(3)]}
    assert world.call("POST", f"{path}/merge", token=steward, json=other).json()["received"] == 6
    assert world.call("GET", f"{path}/tally", token=world.token("analyst")).status_code == 403


def test_replayed(both) -> None:
    campaign = both.campaign()
    batch = reports(campaign, 3)
    assert post(both, campaign, batch).json()["accepted"] == 3
    again = post(both, campaign, batch)
    assert (again.status_code, again.json()["code"], again.json()["field"]) == (409, "conflict", "report")
    assert again.json()["hint"]
    mixed = post(both, campaign, [*reports(campaign, 1), batch[0]]).json()
    assert mixed == {"accepted": 1, "replayed": [batch[0]["report"]]}
    assert both.services.campaigns.get(campaign["id"]).reports == 4


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
    assert world.services.campaigns.get(campaign["id"]).reports == 0


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
    assert "4711" not in str(response.json() | {"request_id": None})


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
    assert both.services.campaigns.get(campaign["id"]).reports == 240


ONE = {"tacita": 1, "attributes": [{"kind": "boolean", "name": "x"}]}


def schema(**attribute: Any) -> dict[str, Any]:
    return {"schema": {"tacita": 1, "attributes": [{"name": "x"} | attribute]}}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"minimum": 0}, "minimum"),
        ({"title": ""}, "title"),
        ({"respondents": 0}, "respondents"),
        ({"tables": []}, "tables"),
        ({"tables": [["y"]]}, "y"),
        ({"rounds": {"size": 0}}, "rounds.size"),
        ({"stop": {"half_width": -1.0}}, "stop.half_width"),
        ({"closes": "2030-01-01T00:00:00"}, "closes"),
        (schema(kind="identifier"), "x"),
        (schema(kind="categorical", levels=["a", "a"]), "x"),
        (schema(kind="wrong"), "kind"),
    ],
)
def test_bad_campaigns_are_explained(world, changes: dict[str, Any], field: str) -> None:
    body = {"title": "t", "schema": ONE, "tables": [["x"]], "epsilon": 1.0, "respondents": 100}
    response = world.call("POST", "/v1/campaigns", token=world.token("steward"), json=body | changes)
    assert response.status_code in (404, 422), response.text
    assert field in str(response.json()["field"]) + str(response.json().get("value")), response.text


def test_one_address_cannot_outvote_everybody(world_of) -> None:
    world = world_of(anonymous_rate_limit=100)
    campaign = world.campaign()
    assert post(world, campaign, reports(campaign, 60)).status_code == 200
    assert post(world, campaign, reports(campaign, 60)).status_code == 429
    path = f"/v1/campaigns/{campaign['id']}/reports"
    batch = {"reports": reports(campaign, 500)}
    assert world.call("POST", path, json=batch, token=world.token("holder")).status_code == 200
    assert world.call("POST", path, json=batch, token=world.token("analyst")).status_code == 403
    assert world.call("POST", path, json=batch, token="tct_no_such").status_code == 401
    assert world.services.campaigns.get(campaign["id"]).reports == 560


def test_a_packed_batch_that_lies_about_its_length(world) -> None:
    campaign = world.campaign()
    media = {"Content-Type": "application/vnd.tacita.reports"}
    response = world.call("POST", f"/v1/campaigns/{campaign['id']}/reports", content=b"TCR1\xffq1", headers=media)
    assert (response.status_code, response.json()["field"]) == (422, "question")


def test_the_title_comes_with_the_questions(world) -> None:
    campaign = world.campaign(title="How do you smoke?")
    assert world.call("GET", f"/v1/campaigns/{campaign['id']}/questions").json()["title"] == "How do you smoke?"
    bad = {"title": "turned \u202earound"}
    with pytest.raises(AssertionError, match="screen"):
        world.campaign(**bad)


def test_an_invited_campaign_over_http(both) -> None:
    campaign = both.campaign(invited=True, minimum=1)
    assert (campaign["participation"], campaign["terms"]["invited"]) == ("invited", True)
    path, steward = f"/v1/campaigns/{campaign['id']}", both.token("steward")
    made = both.call("POST", f"{path}/invitations", token=steward, json={"count": 2})
    assert made.status_code == 201
    first, second = made.json()["codes"]
    (question,) = both.call("GET", f"{path}/questions").json()["questions"]

    def redeem(code: str, blinded: bytes) -> Any:
        return both.call("POST", f"{path}/invitations/redeem", json={"code": code, "blinded": blinded.hex()})

    token = buy_token(question["key"], lambda blinded: bytes.fromhex(redeem(first, blinded).json()["signature"]))
    named = {"wire": 1, "campaign": campaign["id"], "question": "q1"}
    good = named | {"report": report_id(token, 0), "answer": 1, "token": token}
    assert post(both, campaign, [named | {"report": "0" * 32, "answer": 1}]).status_code == 422
    assert post(both, campaign, [good]).json() == {"accepted": 1, "replayed": []}
    assert post(both, campaign, [good]).status_code == 409
    assert redeem(first, bytes(255) + b"\7").status_code == 409
    assert redeem("x" * 24, bytes(255) + b"\7").status_code == 403
    assert redeem(second, bytes(256)).status_code == 422
    assert both.call("GET", f"{path}/invitations", token=steward).json() == {"made": 2, "used": 1}
    for role in ("analyst", "holder"):
        assert both.call("POST", f"{path}/invitations", token=both.token(role), json={"count": 1}).status_code == 403
    releases = both.call("GET", f"{path}/releases", token=steward).json()["releases"]
    assert releases[0]["provenance"]["recipe"]["influence"]["participation"] == "invited"


def test_trading_codes_is_limited_by_address(world_of) -> None:
    world = world_of(anonymous_rate_limit=3)
    campaign = world.campaign(invited=True)
    body = {"code": "x" * 24, "blinded": "0" * 510 + "07"}
    tried = [world.call("POST", f"/v1/campaigns/{campaign['id']}/invitations/redeem", json=body) for _ in range(4)]
    assert [answer.status_code for answer in tried] == [403, 403, 403, 429]


@pytest.mark.parametrize("published", ["raw", "consistent", "modelled"])
def test_tables_of_an_open_campaign_state_what_one_sender_can_move(world, published) -> None:
    campaign = world.campaign()
    named = {"wire": 1, "campaign": campaign["id"], "question": "q1", "answer": 1}
    post(world, campaign, [named | {"report": f"{number:032x}"} for number in range(20)])
    params = {"published": published}
    found = world.call("GET", f"/v1/campaigns/{campaign['id']}/releases", token=world.token("analyst"), params=params)
    influence = found.json()["releases"][0]["provenance"]["recipe"]["influence"]
    assert (influence["participation"], influence["one_sender"]) == ("open", None)
    if published == "raw":
        assert 0 < influence["one_report"] < influence["one_minute"]
        assert influence["reports_a_minute"] == 6000
    else:  # what holds for cells as they were counted says nothing about these
        assert influence["one_report"] is None


def test_tables_are_published_alike_on_every_surface_unless_asked_otherwise(world) -> None:
    """By default `auto`, as the command line does; those about the respondents are as they were counted."""
    campaign = world.campaign()
    post(world, campaign, reports(campaign, 20))
    path, analyst = f"/v1/campaigns/{campaign['id']}/releases", world.token("analyst")

    def ask(**params: str) -> list[Any]:
        found = world.call("GET", path, token=analyst, params=params).json()
        return [(each["estimate"], each["provenance"]["recipe"]) for each in found["releases"]]

    assert ask() == ask(published="auto")
    assert "automatic" in ask()[0][1]
    assert ask(about="respondents") == ask(about="respondents", published="raw") != ask(published="raw")
    assert ask(about="respondents", by="smokes")[0][0] == ask(about="respondents")[0][0]
    refused = world.call("GET", path, token=analyst, params={"about": "respondents", "published": "auto"})
    assert (refused.status_code, refused.json()["field"]) == (422, "about")

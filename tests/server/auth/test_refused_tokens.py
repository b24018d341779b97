"""Refused tokens leave lines that tell enough, nothing that was sent, and few of them in a flood."""

import datetime as dt
import threading

import pytest

from tacita.errors import SourceUnavailable
from tacita.server.auth.refused_tokens import RefusedTokens
from tacita.server.events import Events
from tacita.store import Database, now

WRONG = "tct_0123456789abcdef_" + "ab" * 32
UNKNOWN = {"door": "api", "reason": "is not known", "route": "/v1/datasets", "tries": 1}


def lines(world):
    return [(line.principal, dict(line.detail)) for line in world.services.events.list(kind="token-refused")]


@pytest.mark.parametrize(
    ("method", "path", "route"),
    [
        ("GET", "/v1/datasets", "/v1/datasets"),
        ("GET", "/v1/datasets/secret-name", "/v1/datasets/{name}"),
        ("GET", "/kanon?data_source=secret-name&k=5", "/kanon"),
        ("POST", "/v1/campaigns/secret-name/reports", "/v1/campaigns/{id}/reports"),
    ],
)
def test_a_wrong_token_leaves_a_line_that_names_the_route_alone(world, method, path, route):
    assert world.call(method, path, token=WRONG, json=None if method == "GET" else {}).status_code == 401
    ((principal, detail),) = lines(world)
    assert (principal, detail) == ("unknown", UNKNOWN | {"route": route})


@pytest.mark.parametrize("header", ["Bearer hunter2", "Basic hunter2", "Bearer ", "hunter2", f"Bearer {WRONG}x"])
def test_what_is_no_token_leaves_a_line_and_is_not_repeated(world, header):
    assert world.call("GET", "/v1/datasets", headers={"Authorization": header}).status_code == 401
    ((principal, detail),) = lines(world)
    assert principal == "unknown"
    assert not any(part in str(world.services.events.list()) for part in ("hunter2", "0123456789", "abab"))
    assert set(detail) == set(UNKNOWN)


def test_a_token_in_the_address_is_a_token_too(world):
    assert world.call("GET", f"/kanon?data_source=x&k=5&token={WRONG}").status_code == 401
    assert lines(world) == [("unknown", UNKNOWN | {"route": "/kanon"})]
    assert world.call("GET", "/kanon?data_source=x&k=5").status_code == 401
    assert len(lines(world)) == 1


def test_who_shows_no_token_has_tried_none(world):
    assert world.call("GET", "/v1/datasets").status_code == 401
    assert lines(world) == []


def test_whose_it_was_is_told_of_a_token_that_has_ended_and_of_no_other(world, monkeypatch):
    issued = world.services.tokens.issue(name="Ada", role="analyst", expires=now() + dt.timedelta(hours=1))
    id, secret = issued.token.id, issued.text.split("_")[2]
    guess = f"tct_{id}_{'0' * 64}"
    assert world.call("GET", "/v1/datasets", token=guess).status_code == 401
    later = now() + dt.timedelta(hours=2)
    with monkeypatch.context() as patch:
        patch.setattr("tacita.server.auth.tokens.now", lambda: later)
        assert world.call("GET", "/v1/datasets", token=issued.text).status_code == 401
    world.services.tokens.revoke(id)
    answer = world.call("GET", "/v1/datasets", token=issued.text)
    assert answer.status_code == 401
    assert "Ada" not in answer.text
    assert [(who, detail["reason"]) for who, detail in lines(world)] == [
        (f"Ada ({id})", "has been revoked"),
        (f"Ada ({id})", "has expired"),
        ("unknown", "is not known"),
    ]
    assert secret not in str(world.services.events.list())


def test_a_flood_leaves_few_lines_and_its_count_when_the_log_is_read(world_of, monkeypatch):
    """Also what the rate limit answers with 429 is counted."""
    world = world_of(anonymous_rate_limit=10)
    seconds = [0.0]
    monkeypatch.setattr(world.services.refused_tokens, "_clock", lambda: seconds[0])
    codes = [world.call("GET", f"/v1/datasets/{n}", token=f"{WRONG[:-2]}{n:02d}").status_code for n in range(40)]
    assert set(codes) == {401, 429}
    assert [detail["tries"] for _, detail in lines(world)] == [1]
    seconds[0] = 61.0
    admin = world.token()
    for _ in range(2):
        world.call("GET", "/v1/audit", token=admin)
    assert [detail["tries"] for _, detail in lines(world)] == [39, 1]


def test_a_server_that_ends_writes_what_is_waiting(world):
    for _ in range(3):
        world.call("GET", "/v1/datasets", token=WRONG)
    world.services.refused_tokens.close()
    assert [detail["tries"] for _, detail in lines(world)] == [2, 1]


@pytest.fixture
def events(tmp_path):
    store = Database(f"sqlite:///{tmp_path}/state.db")
    yield Events(store)
    store.close()


def told(events):
    return [line.detail["tries"] for line in events.list(kind="token-refused")]


def test_one_line_a_minute_whatever_the_routes_are(events):
    seconds = [0.0]
    refused = RefusedTokens(events, clock=lambda: seconds[0])
    for number in range(1000):  # over ten minutes
        seconds[0] = 0.6 * number
        refused.note("api", "is not known", route=f"/v1/{number % 50}")
    refused.close()
    assert len(told(events)) == 11
    assert sum(told(events)) == 1000


def test_threads_lose_and_double_no_try(events):
    refused = RefusedTokens(events, clock=lambda: 0.0)
    threads = [
        threading.Thread(target=lambda: [refused.note("console", "is not known") for _ in range(200)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told(events) == [1]
    refused.close()
    assert told(events) == [799, 1]


@pytest.mark.parametrize(
    "error", [SourceUnavailable("the state database cannot be reached", field="state"), RuntimeError("broken")]
)
def test_a_database_that_is_away_does_not_change_the_refusal_and_is_told_later(world, monkeypatch, error):
    def away(*_, **__):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(type(world.services.events), "record", away)
        assert world.call("GET", "/v1/datasets", token=WRONG).status_code == 401
    assert lines(world) == []
    world.services.refused_tokens.close()
    assert lines(world) == [("unknown", UNKNOWN)]

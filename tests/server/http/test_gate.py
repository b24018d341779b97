"""What no route may see: every body, path and query passes one check."""

from __future__ import annotations

import errno
import json
from typing import Any

import pytest

from tacita.wire import NewToken

NUL, LONE = "a\u0000", "\ud800"


def bad_bodies() -> dict[str, bytes]:
    return {
        "invalid UTF-8": b'{"reports": ["\xff\xfe"]}',
        "deep nesting": b'{"reports": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "NUL": json.dumps({"reports": [NUL], "name": NUL}).encode(),
        "lone surrogate": json.dumps({"reports": [LONE], "name": LONE}).encode(),
        "huge integer": b'{"reports": [' + b"9" * 30 + b'], "name": "' + b"x" * 40 + b'"}',
    }


ROUTES = [
    ("POST", "/v1/campaigns/c/reports"),
    ("POST", "/v1/tokens"),
    ("POST", "/v1/datasets"),
    ("POST", "/v1/campaigns/plan"),
    ("POST", "/v1/datasets/patients/query"),
    ("PUT", "/v1/datasets/patients/policy"),
    ("POST", "/v1/jobs"),
]


@pytest.mark.parametrize("fault", bad_bodies())
def test_a_body_that_no_route_reads_breaks_no_answer_in_pieces(world, fault: str) -> None:
    world.register()
    with world.client("steward") as client:
        job = client.release("suppressed", dataset="patients", by=[["smokes"]], minimum=5)
        client.wait_release(job.id, every=0.01)
    media = {"Content-Type": "application/json"}
    path = f"/v1/releases/{job.id}/rows"
    answer = world.call("GET", path, token=world.token(), content=bad_bodies()[fault], headers=media)
    assert (answer.status_code, answer.text.splitlines()[0].split(",")[0]) == (200, '"smokes"')


@pytest.mark.parametrize("fault", bad_bodies())
def test_no_body_reaches_a_route_that_nothing_behind_could_store(world, fault: str) -> None:
    admin, media = world.token(), {"Content-Type": "application/json"}
    for method, path in ROUTES:
        token = None if path.endswith("/reports") else admin
        answer = world.call(method, path, token=token, content=bad_bodies()[fault], headers=media)
        assert answer.status_code == 422, (path, answer.text)
        assert answer.json()["field"] == "body"
        assert "value" not in answer.json()


def test_no_address_reaches_a_route_that_nothing_behind_could_store(both) -> None:
    admin = both.token()
    for noun in ("v1/datasets/", "v1/campaigns/", "v1/jobs/", "v1/models/", "v1/releases/", "v1/tokens/", ""):
        for address in ("a%00", "%00", "%ff", "a%0a", "a?x=%00", "a?x=%ff", "a?x=%ed%a0%80"):
            answer = both.call("GET", f"/{noun}{address}", token=admin)
            assert answer.status_code == 422, (noun, address, answer.text)
            assert answer.json()["field"] in ("path", "query")


def test_integers_of_a_query_fit_a_column(both) -> None:
    both.register()
    admin = both.token()
    for path in ("/v1/jobs", "/v1/models", "/v1/datasets/patients/charges"):
        for offset in (1 << 53, 1 << 63, 10**40):
            assert both.call("GET", f"{path}?offset={offset}", token=admin).status_code == 422, path
        assert both.call("GET", f"{path}?offset={(1 << 53) - 1}", token=admin).status_code == 200, path


def test_a_full_disk_is_no_fault_of_the_server(world, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(world.services.sources, "bring", full)
    answer = world.call(
        "PUT", "/v1/sources/x", token=world.token(), content=b"a\n1\n", headers={"Content-Type": "text/csv"}
    )
    assert answer.status_code == 503, answer.text
    assert answer.json()["field"] == "disk"


def test_ready_means_that_there_is_space(world_of) -> None:
    assert world_of().call("GET", "/readyz").status_code == 200
    answer = world_of(min_free_bytes=1 << 60).call("GET", "/readyz")
    assert (answer.status_code, answer.json()["field"]) == (503, "disk")


def test_a_list_is_checked_up_to_its_first_fault(world) -> None:
    body = {"name": "x", "role": "admin", "datasets": [1] * 100_000}
    answer = world.call("POST", "/v1/tokens", token=world.token(), json=body)
    assert answer.status_code == 422
    assert answer.json()["field"] == "datasets.0"
    assert "hint" not in answer.json()  # it was not counted how many more there are
    assert NewToken.model_validate({"name": "x", "role": "admin", "datasets": ["a", "b"]}).datasets == ["a", "b"]


@pytest.mark.parametrize("name", ["content-type", "content-length"])
def test_a_header_that_readers_could_read_in_two_ways_is_refused(world, name: str) -> None:
    """Before, the gate read the first Content-Type and the route the last: nesting passed unchecked."""
    body = b'{"reports": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    media = [("Content-Type", "application/vnd.tacita.reports"), ("Content-Type", "application/json")]
    length = [("Content-Type", "application/json"), ("Content-Length", "5"), ("Content-Length", str(len(body)))]
    sent = media if name == "content-type" else length
    answer = world.http("POST", "/v1/campaigns/c/reports", content=body, headers=sent)
    assert (answer.status_code, answer.json()["field"]) == (422, name)

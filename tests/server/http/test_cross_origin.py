from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "questions"), ("POST", "reports"), ("POST", "invitations/redeem")]
)
def test_pages_of_other_origins_may_use_what_needs_no_token(world, method: str, path: str) -> None:
    campaign = world.campaign()
    url = f"/v1/campaigns/{campaign['id']}/{path}"
    asked = world.call("OPTIONS", url, headers={"Origin": "https://host.example"})
    assert asked.status_code == 204
    assert asked.headers["access-control-allow-headers"] == "Content-Type"
    for answer in (asked, world.call(method, url, headers={"Origin": "https://host.example"})):
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in answer.headers
        assert "set-cookie" not in answer.headers


def test_nothing_else_is_open_to_them(world) -> None:
    campaign = world.campaign()
    for path in ("", "/releases", "/tally", "/invitations", "/close"):
        answer = world.call("GET", f"/v1/campaigns/{campaign['id']}{path}", headers={"Origin": "https://host.example"})
        assert "access-control-allow-origin" not in answer.headers
        asked = world.call("OPTIONS", f"/v1/campaigns/{campaign['id']}{path}")
        assert "access-control-allow-origin" not in asked.headers

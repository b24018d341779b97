"""The page's place among the routes, and the headers that it comes with."""

import pytest

from tacita.server.respond.files import load
from tacita.server.respond.routes import RESERVED

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def file(name: str) -> str:
    return f"/respond/{load().version}/{name}"


def test_the_page_is_the_same_for_everybody(world):
    pages = [world.call("GET", f"/{world.campaign()['id']}", headers=BROWSER) for _ in range(2)]
    assert pages[0].content == pages[1].content == load().page
    for page in pages:
        assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert page.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("name", load().content)
def test_files_may_be_kept_for_ever(world, name):
    answer = world.call("GET", file(name))
    assert answer.content == load().content[name][0]
    assert "immutable" in answer.headers["cache-control"]


def test_headers_keep_the_page_to_itself(world):
    for path in (f"/{world.campaign()['id']}", file("page.js"), file("worker.js")):
        headers = world.call("GET", path, headers=BROWSER).headers
        policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
        assert policy.pop("default-src") == "'none'"
        assert set(policy.values()) <= {"'self'", "'none'"}
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in headers


def test_only_the_worker_may_reach_above_its_folder(world):
    assert world.call("GET", file("worker.js")).headers["service-worker-allowed"] == "/"
    assert "service-worker-allowed" not in world.call("GET", file("page.js")).headers


@pytest.mark.parametrize("path", ["/respond/0123456789abcdef/page.js", file("nothing.js"), file("../files.py")])
def test_no_such_file(world, path):
    answer = world.call("GET", path)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


def test_no_such_campaign(world):
    told = world.call("GET", "/nothing-here", headers=BROWSER)
    assert (told.status_code, told.content) == (404, load().page)
    assert world.call("GET", "/nothing-here").json()["code"] == "not-found"
    for path in ("/-not-an-id", "/a/b", "/"):
        assert world.call("GET", path, headers=BROWSER).headers["content-type"] == "application/problem+json"
    assert world.call("POST", f"/{world.campaign()['id']}", headers=BROWSER).status_code == 404


def first_parts(world) -> set[str]:
    return {path.split("/")[1] for path in world.app.openapi()["paths"]}


def test_no_campaign_can_have_the_name_of_another_route(world):
    taken = first_parts(world) | {"respond", "openapi.json", "console"}
    assert taken <= RESERVED
    steward = world.token("steward")
    for name in sorted(RESERVED - {"_nicegui"}):  # that is no id
        body = {
            "id": name,
            "title": "Smoking",
            "schema": {"tacita": 1, "attributes": [{"kind": "boolean", "name": "smokes"}]},
            "tables": [["smokes"]],
            "epsilon": 1.0,
            "respondents": 100,
        }
        answer = world.call("POST", "/v1/campaigns", token=steward, json=body)
        assert (answer.status_code, answer.json()["field"]) == (422, "id"), name


def test_other_routes_come_first(world):
    """Also those that are added later, and also if a campaign of that name is there all the same."""
    world.app.add_api_route("/late", lambda: {"late": True}, methods=["GET"])
    world.campaign(id="late")
    for name in ("late", "healthz", "metrics"):
        assert world.call("GET", f"/{name}", headers=BROWSER).content != load().page


def test_it_is_limited_and_counted_without_the_name(world_of):
    world = world_of(anonymous_rate_limit=3)
    id = world.campaign()["id"]
    statuses = [world.call("GET", f"/{id}", headers=BROWSER).status_code for _ in range(5)]
    assert statuses == [200, 200, 200, 429, 429]
    counters = world.services.metrics.text()
    counters = counters.decode() if isinstance(counters, bytes) else counters
    assert 'route="/{campaign}"' in counters
    assert id not in counters

"""Every kind of release is on every surface, and a new one needs one entry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from tacita.cli import app
from tacita.client import Client
from tacita.server.jobs import jobs
from tacita.server.releasing.kind import ReleaseKind
from tacita.server.releasing.registry import KINDS
from tacita.server.routes.releases.making import routes_of
from tacita.wire.base import RequestModel, ResponseModel

ROOT = Path(__file__).parents[3]
CONTRACT = json.loads((ROOT / "spec" / "openapi.json").read_text())


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_kind_is_on_every_surface(kind: ReleaseKind[Any]) -> None:
    paths = CONTRACT["paths"]
    for path in (f"/v1/releases/{kind.name}", *kind.aliases):
        assert paths[path]["post"]["summary"] == kind.summary
        assert paths[f"{path}/plan"]["post"]["summary"] == kind.plan_summary
        body = paths[path]["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        assert body.endswith(f"/{kind.request.__name__}")
    assert jobs._KINDS[kind.job] == kind.run
    assert kind.name in (Client.plan_release.__doc__ or "")
    assert kind.name in (ROOT / "docs" / "reference" / "rest.md").read_text()
    assert f"## `tacita {kind.command}`" in (ROOT / "docs" / "reference" / "cli.md").read_text()


ELSEWHERE = {"dataset": "--account", "domain": "--schema", "budget": "--epsilon"}
"""Members of a request that the command line has under another name."""
WITHOUT = {"purpose", "name", "columns", "count"}
"""Members that the owner of a file does not need: files have names, and `--keep` and `--quasi` choose columns."""


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_member_of_a_request_is_an_option(kind: ReleaseKind[Any]) -> None:
    command: Any = get_command(app)
    for word in kind.command.split():
        command = command.get_command(None, word)
    options = {option for parameter in command.params for option in (*parameter.opts, f"--{parameter.name}")}
    for member in kind.request.model_fields:
        known = {f"--{member.replace('_', '-')}", ELSEWHERE.get(member)} & options
        assert known or member in WITHOUT, (kind.name, member)


def test_the_kinds_are_listed(world: Any) -> None:
    found = world.call("GET", "/v1/releases/kinds", token=world.token("analyst")).json()
    assert [each["name"] for each in found] == list(KINDS)
    assert all(each["request"]["properties"] for each in found)


class _Request(RequestModel):
    times: int


class _Plan(ResponseModel):
    noise: int


def test_a_new_kind_is_one_entry(world: Any) -> None:
    """Ten lines: routes, checks, jobs and their keys come with the pipeline."""
    example = ReleaseKind(
        name="example",
        job="example",
        summary="Release an example",
        plan_summary="Plan an example",
        request=_Request,
        planned=_Plan,
        find=lambda services, token, body: token.role,
        plan=lambda subject, body: body.times * 2,
        show=lambda services, subject, plan, body: {"noise": plan},
        make=lambda task, body: json.dumps({"times": body.times}),
        command="release example",
    )
    world.app.include_router(routes_of(example))
    token = world.token("analyst")
    assert world.call("POST", "/v1/releases/example/plan", token=token, json={"times": 4}).json() == {"noise": 8}
    wrong = world.call("POST", "/v1/releases/example/plan", token=token, json={"times": "four"})
    assert (wrong.status_code, wrong.json()["field"]) == (422, "times")
    assert world.call("POST", "/v1/releases/example", token=world.token("holder"), json={"times": 4}).status_code == 403
    first, again = (
        world.call("POST", "/v1/releases/example", token=token, key="once", json={"times": 4}) for _ in range(2)
    )
    assert (first.status_code, first.headers["Location"]) == (202, f"/v1/releases/{first.json()['id']}")
    assert first.json()["id"] == again.json()["id"]
    job = world.services.jobs.get(first.json()["id"])
    assert (job.kind, job.request) == (
        "example",
        {"times": 4, "principal": world.services.tokens.authenticate(token).principal},
    )
    task = jobs.Task(job=job, services=world.services, progress=jobs.Progress(world.services.jobs, job))
    assert json.loads(example.run(task)) == {"times": 4}

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
REST = (ROOT / "docs" / "reference" / "rest.md").read_text()


def operations(world) -> list[tuple[str, str, dict[str, Any]]]:
    paths = world.app.openapi()["paths"]
    return [(method.upper(), path, spec) for path, item in paths.items() for method, spec in item.items()]


def test_the_contract_is_up_to_date(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "tools" / "export_openapi.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_every_route_says_what_it_does(world) -> None:
    names = []
    for method, path, spec in operations(world):
        assert spec["summary"], path
        assert spec["description"], path
        assert len(spec["tags"]) == 1, path
        assert any(status.startswith("2") for status in spec["responses"]), path
        names.append(spec["operationId"])
        if path.startswith(("/v1", "/kanon", "/diffpriv")):
            for status in ("401", "403", "404", "413", "415", "422", "429", "500", "503"):
                assert "application/problem+json" in spec["responses"][status]["content"], (method, path)
    assert len(set(names)) == len(names)


def test_the_collecting_path_is_in_it(world) -> None:
    spec = world.app.openapi()["paths"]["/v1/campaigns/{id}/reports"]["post"]
    assert spec["requestBody"]["content"]["application/json"]["schema"]["$ref"].endswith("/ReportBatch")
    assert "security" not in spec


def test_only_respondents_and_operators_need_no_token(world) -> None:
    open_routes = {path for _, path, spec in operations(world) if not spec.get("security")}
    assert open_routes == {
        "/v1/campaigns/{id}/questions",
        "/v1/campaigns/{id}/reports",
        "/v1/campaigns/{id}/invitations/redeem",
        "/healthz",
        "/readyz",
        "/metrics",
    }


def test_every_route_is_documented(world) -> None:
    for method, path, _ in operations(world):
        assert f"`{method} {path}`" in REST, (method, path)


@pytest.mark.parametrize("path", ["/openapi.json"])
def test_it_is_served(world, path: str) -> None:
    assert world.call("GET", path).json()["info"]["title"] == "Tacita"

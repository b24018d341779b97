"""The two routes of the P-PPA service, without what was unsound in them."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

POLICY = {"quasi": ["age"], "sensitive": ["smokes"], "k": 5, "l": 1.0, "several": True}


@pytest.fixture
def buyer(world) -> str:
    world.register()
    put = world.call("PUT", "/v1/datasets/patients/policy", token=world.token("steward"), json=POLICY)
    assert put.status_code == 200
    return world.token("analyst")


def get(world, route: str, **params: Any) -> Any:
    return world.http("GET", route, params={"data_source": "patients"} | params)


def kanon(world, token: str | None, **params: Any) -> Any:
    return get(world, "/kanon", **({"k": 5} | params | ({} if token is None else {"token": token})))


def diffpriv(world, token: str, query: str = "mean", column: int = 1, epsilon: float = 0.2, **params: Any) -> Any:
    parts = {"token": token, "query": query, "column_indexes": column, "epsilon": epsilon}
    return get(world, "/diffpriv", **(parts | params))


def test_rows_in_both_shapes(world, buyer) -> None:
    response = kanon(world, buyer)
    assert response.status_code == 200, response.text
    rows = response.json()
    assert min(Counter(row["age"] for row in rows).values()) >= 5
    assert float(response.headers["x-tacita-gcp"]) < 1
    assert int(response.headers["x-tacita-k"]) >= 5
    rows = kanon(world, buyer, k=60).json()
    legacy = kanon(world, buyer, k=60, format="legacy").json()
    assert any(".." in row["age"] for row in rows)
    for row, old in zip(rows, legacy, strict=True):  # the document joins what stands for several values by ~
        assert old == [{"age": row["age"].replace("..", "~")}, {"smokes": row["smokes"]}]
    by_header = world.call("GET", "/kanon?k=60&data_source=csv&csv_path=patients", token=buyer)
    assert by_header.json() == rows


def test_what_the_owner_alone_may_choose(world, buyer) -> None:
    for name in ("qi_indexes", "whitelist", "user_choice_index"):
        refused = kanon(world, buyer, **{name: 0})
        assert (refused.status_code, refused.json()["field"]) == (403, name)
    assert kanon(world, buyer, k=2).status_code == 403
    steward = world.token("steward")
    rows = kanon(world, steward, qi_indexes=1, whitelist=0).json()
    assert set(rows[0]) == {"age", "smokes"}
    free = kanon(world, steward, user_choice_index="0").json()
    assert Counter(next(iter(row.values())) for row in free) == {"never": 822, "daily": 412}


def test_sets_in_the_format_of_the_document(world, buyer) -> None:
    rows = kanon(world, world.token("steward"), qi_indexes="0,1", k=700, format="legacy").json()
    assert {each["smokes"] for row in rows for each in row if "smokes" in each} == {"daily~never"}


@pytest.mark.parametrize("format", ["records", "legacy"])
def test_the_fast_path_has_the_whitelist_and_headers(world, buyer, format) -> None:
    steward = world.token("steward")
    answer = kanon(world, steward, user_choice_index="0", whitelist="1", format=format)
    rows = [{k: v for each in row for k, v in each.items()} if format == "legacy" else row for row in answer.json()]
    assert Counter(row["smokes"] for row in rows) == {"never": 822, "daily": 412}
    assert all(set(row) == {"smokes", "age"} and float(row["age"]) <= 99 for row in rows)
    assert answer.headers["x-tacita-k"] == "412"
    assert (answer.headers["x-tacita-gcp"], answer.headers["x-tacita-classes"]) == ("0.000000", "2")


def test_whoever_asks_is_warned_of_releases_that_can_be_joined(world, buyer) -> None:
    """The concerns were worked out for the log, and dropped."""
    steward = world.token("steward")
    first = kanon(world, steward, qi_indexes=1, whitelist=0)
    assert "x-tacita-warnings" not in first.headers
    for more in ({"qi_indexes": 1, "whitelist": 0, "k": 50}, {"user_choice_index": "0"}, {"k": 60}):
        told = json.loads(kanon(world, steward, **more).headers["x-tacita-warnings"])
        assert any("joined" in each or "intersected" in each for each in told), more


@pytest.mark.parametrize("name", ["host_data", "user_data", "pass_data", "server_data", "port_data", "db_data"])
def test_no_credential_is_taken(world, buyer, name) -> None:
    for route, more in (("/kanon", {"k": 5}), ("/diffpriv", {"query": "mean", "epsilon": 1, "column_indexes": 1})):
        refused = get(world, route, token=buyer, **more, **{name: "hunter2"})
        assert (refused.status_code, refused.json()["field"]) == (400, name)
        assert "hunter2" not in refused.text


def test_who_asks_and_for_what(world, buyer) -> None:
    assert kanon(world, None).status_code == 401
    assert kanon(world, "tct_wrong_token").status_code == 401
    assert kanon(world, world.token("holder")).status_code == 403
    assert kanon(world, buyer, data_source="nothing").status_code == 415
    assert kanon(world, buyer, data_source="").status_code == 400
    assert kanon(world, buyer, data_source="csv").status_code == 400
    assert kanon(world, buyer, k="many").status_code == 422


@pytest.mark.parametrize("query", ["sum", "nansum", "mean", "nanmean", "var", "nanvar", "std", "nanstd"])
def test_statistics(world, buyer, query) -> None:
    response = diffpriv(world, buyer, query, epsilon=0.5)
    assert response.status_code == 200, response.text
    assert isinstance(response.json(), float)
    again = diffpriv(world, buyer, query, epsilon=0.5, format="legacy").json()
    assert float(again) == response.json()  # the same question, the same answer, no second charge
    assert isinstance(again, str)


def test_histograms(world, buyer) -> None:
    counts, edges = diffpriv(world, buyer, "histogram", bounds="0,100", bins=4).json()
    assert (len(counts), edges) == (4, [0, 25, 50, 75, 100])
    assert abs(sum(counts) - 1234) < 300
    legacy = diffpriv(world, buyer, "histogram", bounds="0,100", bins=4, format="legacy").json()
    assert [json.loads(part) for part in legacy] == [counts, edges]
    dense, _ = diffpriv(world, buyer, "histogram", bounds="0,100", bins=4, density=True).json()
    assert sum(dense) * 25 == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(
    "params",
    [
        {"epsilon": -1},
        {"epsilon": "nan"},
        {"query": "max"},
        {"column": 9},
        {"column": "x"},
        {"column": 0},
        {"bounds": "9,1"},
        {"bounds": "1"},
        {"bounds": "a,b"},
        {"weights": "1"},
        {"axis": "1"},
        {"query": "histogram", "bins": "auto"},
        {"query": "histogram", "bins": "0"},
        {"query": "histogram2d"},
        {"query": "histogram", "column": 0},
    ],
)
def test_bad_requests_cost_nothing(world, buyer, params) -> None:
    response = diffpriv(world, buyer, **params)
    assert response.status_code in (404, 422), response.text
    assert response.headers["content-type"] == "application/problem+json"
    left = world.call("GET", "/v1/datasets/patients/budget", token=buyer).json()
    assert left["remaining"] == 1.0


def test_a_budget_that_is_spent(world, buyer) -> None:
    assert diffpriv(world, buyer, "mean", epsilon=0.9).status_code == 200
    refused = diffpriv(world, buyer, "sum", epsilon=0.9)
    assert (refused.status_code, refused.json()["code"]) == (403, "budget-exceeded")


def test_what_the_owner_takes_is_written_down_too(world, buyer) -> None:
    steward = world.token("steward")
    kanon(world, steward, qi_indexes=1, whitelist=0)
    kanon(world, steward, user_choice_index="0")
    kinds = [each.kind for each in world.services.release_log.history("patients")]
    assert kinds == ["k-anonymous", "unchanged columns"]


@pytest.mark.parametrize("bounds", ["0,1e-320", "0,1e-300", "0,1.7e308", "-1.7e308,1.7e308", "0,1e200"])
@pytest.mark.parametrize("query", ["sum", "mean", "var", "histogram"])
def test_bounds_beyond_reach_are_refused_before_they_cost(world, buyer, query, bounds) -> None:
    response = diffpriv(world, buyer, query, bounds=bounds)
    assert response.status_code == 422, response.text
    left = world.call("GET", "/v1/datasets/patients/budget", token=buyer).json()
    assert left["remaining"] == 1.0


def test_too_many_bins(world, buyer) -> None:
    assert diffpriv(world, buyer, "histogram", bounds="0,100", bins=3_000_000).status_code == 422


@pytest.mark.parametrize("path", ["/kanon", "/kanon?k=x", "/diffpriv", "/diffpriv?query=sum&epsilon=x"])
def test_without_a_token_nothing_else_is_said(world, path: str) -> None:
    assert world.call("GET", path).status_code == 401
    assert world.call("GET", path, token="tct_" + "0" * 16 + "_" + "0" * 64).status_code == 401
    assert world.call("GET", path, token=world.token("analyst")).status_code == 422

"""What can be read off a campaign over HTTP."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow.csv as pacsv
import pytest

from tacita.demo.survey import DOMAIN, simulate
from tacita.tables.release import Releases
from tacita.testing.respondents import answer_campaign


@pytest.fixture
def survey(world) -> tuple[Any, str]:
    campaign = world.campaign(
        schema=DOMAIN.as_dict(),
        tables=[["A", "E"], ["E", "O"], ["E", "R"], ["O", "T"], ["R", "T"], ["S", "E"]],
        epsilon=4.0,
        raised_limits=True,
        respondents=6000,
        mode="tables",
    )
    codes = DOMAIN.encode(simulate(6000, seed=1), DOMAIN.names)
    answer_campaign(world.services.campaigns, campaign["id"], codes)
    return world, f"/v1/campaigns/{campaign['id']}"


def test_all_findings(survey) -> None:
    world, path = survey
    analyst = world.token("analyst")

    def get(what: str) -> Any:
        response = world.call("GET", f"{path}/{what}", token=analyst)
        assert response.status_code == 200, response.text
        return response

    for published in ("raw", "pooled", "consistent", "singles", "modelled", "auto"):
        found = Releases.from_json(get(f"releases?published={published}").text)
        assert ("O", "T") in found
        low, high = found["O", "T"].interval(0.95)
        assert np.isfinite(high - low).all()
    assert found["O", "T"].provenance.recipe["automatic"]["way"] in ("consistent", "singles", "modelled", "averaged")
    larger = Releases.from_json(get("releases?published=consistent&by=A,E,O").text)["A", "E", "O"]
    assert np.isfinite(larger.std()).all()
    assert 0 <= get("test?by=E,A").json()["p_value"] <= 1
    assert "Monte Carlo" in get("test?by=E,A&simulations=19").json()["method"]
    assert set(get("network").json()["network"]["parents"]) == set(DOMAIN.names)
    assert isinstance(get("rules?lift=1").json(), list)
    assert {tuple(each["attributes"]) for each in get("integrity").json()} >= {("O", "T")}
    rows = pacsv.read_csv(io.BytesIO(get("synthetic?rows=50").content))
    assert rows.num_rows == 50


@pytest.mark.parametrize(
    ("what", "status"),
    [
        ("test?by=A", 422),
        ("test?by=A,T", 422),
        ("test?by=A,nothing", 422),
        ("test?by=E,A&simulations=3", 422),
        ("synthetic?rows=0", 422),
        ("synthetic?rows=100000000", 422),
        ("network?degree=9", 422),
        ("releases?published=exact", 422),
        ("releases?published=modelled&about=respondents", 422),
        ("releases?about=respondents", 422),
    ],
)
def test_what_cannot_be_asked(survey, what: str, status: int) -> None:
    world, path = survey
    response = world.call("GET", f"{path}/{what}", token=world.token("analyst"))
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"


def test_public_tables_as_a_prior(survey) -> None:
    world, path = survey
    analyst = world.token("analyst")

    def post(**body: Any) -> Any:
        return world.call("POST", f"{path}/releases", json=body, token=analyst)

    levels = DOMAIN["O"].all_labels
    shares = simulate(6000, seed=3)["O"].to_pylist()
    counts = [shares.count(level) for level in levels]
    rows = "\n".join(f"{level},{count}" for level, count in zip(levels, counts, strict=True))
    plain = Releases.from_json(world.call("GET", f"{path}/releases?published=modelled", token=analyst).text)
    for prior in (
        [{"csv": f"O,count\n{rows}\n"}],
        [{"attributes": ["O"], "levels": [list(levels)], "shares": counts}],
    ):
        response = post(prior=prior, published="modelled")
        assert response.status_code == 200, response.text
        found = Releases.from_json(response.text)
        assert 0 <= found["O", "T"].provenance.recipe["prior"]["trust"] <= 1  # the reports decide
        np.testing.assert_allclose(found["O", "T"].std(), plain["O", "T"].std())
    larger = Releases.from_json(post(prior=prior, by=["A", "E", "O"], published="modelled").text)
    assert larger["A", "E", "O"].values.sum() == pytest.approx(1)
    for wrong in (
        {"prior": []},
        {"prior": [{}]},
        {"prior": [{"csv": "O,count\nnowhere,1\n"}]},
        {"prior": [{"attributes": ["O"], "levels": [list(levels)], "shares": [-1.0, 2.0]}]},
        {"prior": [{"csv": "O\n", "attributes": ["O"], "levels": [["a"]], "shares": [1.0]}]},
        {"prior": [{"releases": {"tacita": "nothing"}}]},
        {"prior": prior, "published": "raw"},
    ):
        refused = post(**wrong)
        assert refused.status_code == 422, (wrong, refused.text)
        assert refused.headers["content-type"] == "application/problem+json"
    assert world.call("POST", f"{path}/releases", json={"prior": prior}).status_code == 401
    other = world.token("analyst", datasets=["x"])
    assert world.call("POST", f"{path}/releases", json={"prior": prior}, token=other).status_code == 403
    early = f"/v1/campaigns/{world.campaign()['id']}/releases"
    assert world.call("POST", early, json={"prior": prior}, token=analyst).status_code == 409


def test_findings_wait_for_the_minimum_and_need_a_token(world) -> None:
    path = f"/v1/campaigns/{world.campaign()['id']}"
    for what in ("releases", "test?by=smokes,x", "network", "rules", "integrity", "synthetic", "means"):
        assert world.call("GET", f"{path}/{what}", token=world.token("analyst")).status_code == 409, what
        assert world.call("GET", f"{path}/{what}").status_code == 401
        other = world.token("analyst", datasets=["x"])
        assert world.call("GET", f"{path}/{what}", token=other).status_code == 403


AGES = {"kind": "numeric", "name": "age", "bounds": [0, 100], "edges": [0, 20, 40, 60, 100], "integer": True}
NUMBERS = {"schema": {"tacita": 1, "attributes": [AGES]}, "tables": [["age"]], "respondents": 4000}


@pytest.mark.parametrize("channel", ["wave", "duchi", "piecewise", "hybrid"])
def test_the_mean_of_a_number_over_http(world, channel: str) -> None:
    campaign = world.campaign(**NUMBERS, channel=channel)
    assert [question["channel"] for question in campaign["questions"]] == [channel]
    codes = {"age": np.random.default_rng(2).choice(4, 4000, p=[0.2, 0.4, 0.3, 0.1])}
    answer_campaign(world.services.campaigns, campaign["id"], codes)
    path, analyst = f"/v1/campaigns/{campaign['id']}", world.token("analyst")
    (mean,) = world.call("GET", f"{path}/means?level=0.9", token=analyst).json()
    truth = 0.2 * 9.5 + 0.4 * 29.5 + 0.3 * 49.5 + 0.1 * 80
    assert abs(mean["mean"] - truth) < 5 * mean["std"] < 12
    assert (mean["level"], mean["respondents"], mean["bounds"]) == (0.9, 4000, [9.5, 80.0])
    assert mean["epsilon"] <= 1.0
    assert world.call("GET", f"{path}/integrity", token=analyst).json()[0]["one_report"] > 0
    releases = world.call("GET", f"{path}/releases", token=analyst)
    assert releases.status_code == (200 if channel == "wave" else 422), releases.text
    exported = world.call("GET", f"{path}/tally", token=world.token("steward")).json()
    assert sum(exported["received"].values()) == 4000


@pytest.mark.parametrize(
    "changes",
    [{"rounds": {"size": 10}}, {"stop": {"half_width": 0.1}}, {"mode": "views"}, {"channel": "no-such-channel"}],
)
def test_what_a_campaign_for_a_mean_cannot_have(world, changes: dict[str, Any]) -> None:
    body = NUMBERS | {"title": "Ages", "epsilon": 1.0, "minimum": 5, "channel": "hybrid"} | changes
    response = world.call("POST", "/v1/campaigns", token=world.token("steward"), json=body)
    assert response.status_code == 422, response.text

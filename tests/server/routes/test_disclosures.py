"""Disclosure risk over HTTP: for the steward who asked, and for no analyst."""

from __future__ import annotations

from typing import Any

import pytest

from tacita.errors import Forbidden, InvalidInput, UnknownName

ASKED: dict[str, Any] = {"qi": ["age", "smokes"], "people": 10_000}


def test_from_dataset_to_page(world: Any) -> None:
    world.register()
    with world.client("steward") as client:
        assert [each.name for each in client.risk_measures()][:2] == ["prosecutor", "journalist"]
        job = client.disclosure("patients", **ASKED)
        found = client.wait_disclosure(job.id, every=0.01)
        assert (found.dataset, found.rows, found.guarantee) == ("patients", 1234, "none")
        assert [each["name"] for each in found.measures] == ["prosecutor", "loglinear", "suda"]
        with pytest.raises(UnknownName):
            client.wait_assessment(job.id, every=0.01)  # another kind of job
    assert world.spent() == 0
    page = world.call("GET", f"/v1/disclosures/{job.id}/page", token=world.token("admin"))
    assert "Prosecutor risk" in page.text


def test_exact_figures_reach_no_one_else(world: Any) -> None:
    world.register()
    with world.client("steward") as client:
        job = client.disclosure("patients", **ASKED)
        client.wait_disclosure(job.id, every=0.01)
    with world.client("analyst") as other:
        for ask in (
            lambda: other.disclosure("patients", **ASKED),
            other.risk_measures,
            lambda: other.wait_disclosure(job.id, every=0.01),
        ):
            with pytest.raises((Forbidden, UnknownName)):
                ask()
    second = world.token("steward")
    assert world.call("GET", f"/v1/disclosures/{job.id}", token=second).status_code == 404
    for path in (f"/v1/disclosures/{job.id}", f"/v1/disclosures/{job.id}/page"):
        assert world.call("GET", path, token=world.token("analyst")).status_code == 403


@pytest.mark.parametrize(
    "wrong", [{"qi": ["shoe"]}, {"qi": []}, {"measures": ["luck"]}, {"weight": "shoe"}, {"threshold": 3}]
)
def test_faults_are_refused_before_the_job(world: Any, wrong: dict[str, Any]) -> None:
    world.register()
    with world.client("steward") as client, pytest.raises(InvalidInput):
        client.disclosure("patients", **ASKED | wrong)


def test_an_unknown_population(world: Any) -> None:
    world.register()
    with world.client("steward") as client, pytest.raises(UnknownName):
        client.disclosure("patients", **ASKED, population="everyone")

"""The server has no way to send an exact count: each serialiser that it uses refuses one."""

from __future__ import annotations

import inspect
import json
import pickle
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from fastapi.encoders import jsonable_encoder
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.responses import Response

from tacita import wire as models
from tacita.domain import Boolean, Domain
from tacita.errors import InternalError
from tacita.noise import SeededSource
from tacita.plans import NoisyTables
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.server.releasing.answers import ReleaseResponse, SyntheticResponse
from tacita.server.routes import (
    anonymize,
    assessments,
    budget,
    datasets,
    health,
    jobs,
    query,
    sql,
    tokens,
)
from tacita.server.routes.campaigns import campaigns, findings, reports
from tacita.server.routes.releases import releases
from tacita.tables.cells import Cells
from tacita.tables.release import Releases
from tacita.tables.table import Table
from tacita.tables.workload import Tables, Workload
from tacita.wire.base import ResponseModel

DOMAIN = Domain(attributes=(Boolean(name="smokes"),))
TABLE = Table(DOMAIN, np.array([4711, 4712]))
TABLES = Tables(DOMAIN, {("smokes",): TABLE})
ANSWERS = [
    getattr(models, name)
    for name in models.__all__
    if inspect.isclass(getattr(models, name)) and issubclass(getattr(models, name), ResponseModel)
]
ROUTES = [
    route
    for noun in (
        datasets,
        query,
        sql,
        anonymize,
        releases,
        assessments,
        budget,
        campaigns,
        findings,
        jobs,
        tokens,
        health,
    )
    for route in noun.router.routes
    if isinstance(route, APIRoute)
]


@pytest.mark.parametrize("exact", [TABLE, TABLES], ids=["table", "tables"])
@pytest.mark.parametrize(
    "serialise",
    [
        json.dumps,
        jsonable_encoder,
        pickle.dumps,
        JSONResponse,
        ReleaseResponse,
        SyntheticResponse,
        reports._ENCODER.encode,
        msgspec.json.encode,
        msgspec.msgpack.encode,
    ],
)
def test_no_serialiser_takes_exact_counts(serialise: Callable[[Any], object], exact: object) -> None:
    with pytest.raises(Exception) as caught:
        serialise(exact)
    assert "4711" not in str(caught.value)


@pytest.mark.parametrize("exact", [TABLE, TABLES, Cells(DOMAIN, np.array([1, 2]))], ids=["table", "tables", "cells"])
@pytest.mark.parametrize("model", ANSWERS, ids=lambda model: model.__name__)
def test_no_model_can_hold_one(model: type[ResponseModel], exact: object) -> None:
    filled = model.model_construct(**dict.fromkeys(model.model_fields, exact))
    with pytest.raises(Exception):  # noqa: B017
        filled.model_dump_json(warnings="error")
    nested = model.model_construct(**{name: {"x": [exact]} for name in model.model_fields})
    with pytest.raises(Exception):  # noqa: B017
        nested.model_dump_json(warnings="error")


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.methods} {route.path}")
def test_every_route_answers_with_a_model_or_a_release(route: APIRoute) -> None:
    annotated = inspect.signature(route.endpoint, eval_str=True).return_annotation
    if route.response_model is None:
        assert annotated is Response
        source = inspect.getsource(route.endpoint)
        kinds = ("Release", "Synthetic", "Statistics", "Rows", "Model", "Page", "Document", "Drawn")
        known = [f"{kind}Response(" for kind in kinds]
        assert any(name in source for name in known) or route.path == "/metrics"
        return
    inner = getattr(annotated, "__args__", (annotated,))
    public = annotated == dict[str, Any] and route.path.endswith("/schema")  # declared as public
    assert public or all(issubclass(part, ResponseModel) for part in inner)


def test_rows_that_are_not_marked_as_made_up_are_not_served() -> None:
    rows = pa.table({"smokes": ["true"]})
    for table in (rows, rows.replace_schema_metadata({"tacita": json.dumps({"synthetic": False})})):
        with pytest.raises(InternalError, match="synthetic"):
            SyntheticResponse(table)


def test_a_simulated_release_is_not_served(world) -> None:
    class Counter:
        domain = DOMAIN

        def tables(self, workload: Workload, unit: Unit) -> Tables:
            return TABLES

    plan = NoisyTables(Workload.of(["smokes"])).calibrate(
        DOMAIN, Budget.pure(1.0), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE
    )
    releases: Releases = plan.run(Counter(), SeededSource(1))  # type: ignore[arg-type]
    with pytest.raises(InternalError, match="simulated"):
        ReleaseResponse(releases)
    with pytest.raises(InternalError, match="simulated"):
        ReleaseResponse(releases["smokes",])
    # and so it cannot be fetched as the result of a job either
    token = world.services.tokens.issue(name="x", role="analyst")
    job = world.services.jobs.submit("query", {}, owner=token.token.id)
    world.services.jobs._move(job.id, ("queued",), {"state": "done", "result": releases.to_json()})
    response = world.call("GET", f"/v1/jobs/{job.id}/result", token=token.text)
    assert (response.status_code, response.json()["code"]) == (500, "internal-error")

"""Disclosure risk of datasets, for the steward of the data."""

from __future__ import annotations

import json

from fastapi import APIRouter, Response

from tacita.assess.risk.registry import select
from tacita.errors import InvalidInput
from tacita.server.auth.auth import Services_, check_scope
from tacita.server.auth.token_first import TokenFirst
from tacita.server.data.datasets import Dataset
from tacita.server.http.errors import DOCUMENTED
from tacita.server.releasing.answers import PageResponse
from tacita.server.releasing.files import page_of
from tacita.server.releasing.kind import dataset_of
from tacita.server.routes.assessments import Steward, finished
from tacita.server.routes.query import Key
from tacita.wire import DisclosureInfo, DisclosureRequest, JobInfo, RiskMeasureInfo

__all__ = ["router"]

router = APIRouter(tags=["assessments"], responses=DOCUMENTED, route_class=TokenFirst)


@router.get("/v1/disclosures/measures", summary="Measures of disclosure risk")
def list_measures(token: Steward) -> list[RiskMeasureInfo]:
    """All measures, in the order in which those that apply are computed."""
    return [RiskMeasureInfo.model_validate(measure.as_dict()) for measure in select()]


@router.post("/v1/disclosures", status_code=202, summary="Measure the disclosure risk of a dataset")
def make_disclosure(
    body: DisclosureRequest, token: Steward, services: Services_, response: Response, key: Key = None
) -> JobInfo:
    """A job: how well records are found by their quasi-identifiers. For the steward: charges and releases nothing."""
    check_scope(token, body.dataset)
    dataset = dataset_of(services, token, body.dataset)
    _check(body, dataset)
    if body.population is not None:
        check_scope(token, body.population)
        dataset_of(services, token, body.population)
    job = services.jobs.submit("disclosure", body.model_dump(), owner=token.id, key=key)
    response.headers["Location"] = f"/v1/disclosures/{job.id}"
    return JobInfo.model_validate(job.as_dict())


@router.get("/v1/disclosures/{id}", summary="Disclosure risk of a dataset")
def get_disclosure(id: str, token: Steward, services: Services_) -> DisclosureInfo:
    """Figures from exact rows: for the steward of the data."""
    return DisclosureInfo.model_validate(json.loads(finished(services, token, id, "disclosure")))


@router.get(
    "/v1/disclosures/{id}/page",
    summary="The same as a page",
    response_class=Response,
    response_model=None,
    responses={200: {"content": {"text/html": {}}}},
)
def get_disclosure_page(id: str, token: Steward, services: Services_) -> Response:
    """One self-contained file that can be printed."""
    finished(services, token, id, "disclosure")
    return PageResponse(page_of(services, id))


def _check(body: DisclosureRequest, dataset: Dataset) -> None:
    """Refuse unknown names now, before the job."""
    select(body.measures)
    for field, names in (("qi", body.qi or ()), ("weight", [body.weight]), ("household", [body.household])):
        for name in names:
            if name is not None and name not in dataset.domain.names:
                raise InvalidInput("must be an attribute of the schema", field=field, value=name)
    known = [each.name for each in dataset.domain.attributes if each.role == "quasi-identifier"]
    if not (body.qi if body.qi is not None else known):
        raise InvalidInput("must be at least one", field="qi", hint="Name them, or set roles in the schema")

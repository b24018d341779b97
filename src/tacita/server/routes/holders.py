"""Holders of data elsewhere: who they are, and runs with several of them. For stewards: holders' budgets are spent."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from tacita.errors import Forbidden
from tacita.server.auth.auth import Services_, allow
from tacita.server.auth.token_first import TokenFirst
from tacita.server.auth.tokens import Token
from tacita.server.http.errors import DOCUMENTED
from tacita.server.releasing.federated import describe_all, show_run, terms_of
from tacita.server.routes.query import Key
from tacita.wire import FederatedPlan, FederatedRequest, HolderInfo, JobInfo

__all__ = ["router"]

router = APIRouter(tags=["releases"], responses=DOCUMENTED, route_class=TokenFirst)


def _unscoped(token: Annotated[Token, Depends(allow("steward"))]) -> Token:
    """Holders are no datasets of this server: a token for some of those is not good for them."""
    if token.datasets is not None:
        raise Forbidden("needs a token for all datasets", field="dataset")
    return token


Steward = Annotated[Token, Depends(_unscoped)]


@router.get("/v1/holders", summary="The holders that this server may ask")
def list_holders(token: Steward, services: Services_) -> list[HolderInfo]:
    """Each is asked who it is: schema, methods, what is left of its budget. Waits two seconds for who is away."""
    return [HolderInfo.model_validate(found) for found in describe_all(services)]


@router.post("/v1/releases/federated/plan", summary="What a federated run would cost")
def plan_federated(body: FederatedRequest, token: Steward, services: Services_) -> FederatedPlan:
    """Asks nobody and charges nothing."""
    return FederatedPlan.model_validate(show_run(services, body))


@router.post("/v1/releases/federated", status_code=202, summary="Make up rows of several holders")
def make_federated(
    body: FederatedRequest, token: Steward, services: Services_, response: Response, key: Key = None
) -> JobInfo:
    """A job. Each holder pays from its own account, once however often the job starts."""
    terms_of(services, body, "plan")  # what is wrong with it is told now
    job = services.jobs.submit("federate", body.model_dump(by_alias=True), owner=token.id, key=key)
    response.headers["Location"] = f"/v1/releases/{job.id}"
    return JobInfo.model_validate(job.as_dict())

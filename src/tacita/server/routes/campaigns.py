"""Campaigns: collection from people who randomise on their own device. Reports come in by `reports`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request, Response

from tacita.errors import Forbidden
from tacita.server.answers import ReleaseResponse
from tacita.server.auth import Has, Services_, allow, check_anonymous, check_scope
from tacita.server.errors import DOCUMENTED
from tacita.server.models import CampaignInfo, NewCampaign, ReleaseModel
from tacita.server.tokens import Token

__all__ = ["router"]

router = APIRouter(tags=["campaigns"], responses=DOCUMENTED)

Steward = Annotated[Token, Depends(allow("steward"))]
Reader = Annotated[Token, Depends(allow("steward", "analyst"))]


@router.post("/v1/campaigns", status_code=201, summary="Open a campaign")
def create_campaign(body: NewCampaign, token: Steward, services: Services_) -> CampaignInfo:
    """Its id is new, so a token whose scope is a list of names cannot open one."""
    if token.datasets is not None:
        raise Forbidden("needs a token for all datasets", field="dataset")
    campaign = services.campaigns.create(
        attribute=body.attribute, epsilon=body.epsilon, title=body.title, minimum=body.minimum
    )
    return CampaignInfo.model_validate(campaign.as_dict())


@router.get("/v1/campaigns", summary="List the campaigns in scope")
def list_campaigns(token: Has, services: Services_) -> list[CampaignInfo]:
    """Oldest first."""
    found = [campaign for campaign in services.campaigns.list() if token.covers(campaign.id)]
    return [CampaignInfo.model_validate(campaign.as_dict()) for campaign in found]


@router.get("/v1/campaigns/{id}", summary="Look at one campaign")
def get_campaign(id: str, token: Reader, services: Services_) -> CampaignInfo:
    """State, question, and how many have answered."""
    check_scope(token, id)
    return CampaignInfo.model_validate(services.campaigns.get(id).as_dict())


@router.get("/v1/campaigns/{id}/question", summary="The question, for a respondent's device")
def get_question(id: str, request: Request, services: Services_) -> dict[str, Any]:
    """Needs no token: whoever has the id may answer. The device checks by itself what it is sent."""
    check_anonymous(request.scope, services)
    return services.campaigns.question(id).to_dict()


@router.post("/v1/campaigns/{id}/close", summary="Accept no more reports")
def close_campaign(id: str, token: Steward, services: Services_) -> CampaignInfo:
    """Closing twice is the same as once."""
    check_scope(token, id)
    return CampaignInfo.model_validate(services.campaigns.close(id).as_dict())


@router.get(
    "/v1/campaigns/{id}/release",
    summary="Shares with error bars",
    response_model=None,
    responses={200: {"model": ReleaseModel}},
)
def get_release(
    id: str, token: Reader, services: Services_, about: Literal["population", "respondents"] = "population"
) -> Response:
    """Free: everybody was protected before their report was sent. Not before the campaign's minimum."""
    check_scope(token, id)
    return ReleaseResponse(services.campaigns.release(id, about))

"""Campaigns: collection from people who randomise on their own device.

Questions go out by `sheets`, reports come in by `reports`, and what can be read off them goes out by `findings`.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.concurrency import run_in_threadpool

from tacita.collect.campaigns import Campaign
from tacita.collect.planning.design import CollectionDesign
from tacita.errors import Forbidden
from tacita.server.auth.auth import Has, Services_, allow, check_scope, limited
from tacita.server.auth.token_first import TokenFirst
from tacita.server.auth.tokens import Token
from tacita.server.campaigns import design_of, terms_of
from tacita.server.http.errors import DOCUMENTED
from tacita.server.respond.routes import check_id
from tacita.server.services import Services
from tacita.wire import (
    BlindSignature,
    BlockInfo,
    BlockModel,
    CampaignInfo,
    CollectionPlan,
    InvitationCodes,
    InvitationsInfo,
    NewCampaign,
    NewInvitations,
    NewWave,
    PlannedCollection,
    Redemption,
    TallyInfo,
    TallyModel,
)

__all__ = ["router"]

router = APIRouter(tags=["campaigns"], responses=DOCUMENTED, route_class=TokenFirst)

Steward = Annotated[Token, Depends(allow("steward"))]
Anonymous = Annotated[None, Depends(limited)]
Reader = Annotated[Token, Depends(allow("steward", "analyst", "reader"))]


@router.post("/v1/campaigns/plan", summary="Plan a collection: its questions and predicted accuracy")
async def plan_campaign(
    body: CollectionPlan, token: Reader, services: Services_, request: Request
) -> PlannedCollection:
    """Asks no one. With the mode `auto` ways of asking are compared and the best one is rehearsed on synthetic
    respondents, which may take long for many tables: 422 when the estimate is beyond the token's role, 429 when the
    token plans too much at once."""
    return PlannedCollection.model_validate((await design_of(body, token, services, request)).as_dict())


@router.post("/v1/campaigns", status_code=201, summary="Open a campaign")
async def create_campaign(body: NewCampaign, token: Steward, services: Services_, request: Request) -> CampaignInfo:
    """Its id is new, so a token whose scope is a list of names cannot open one."""
    if token.datasets is not None:
        raise Forbidden("needs a token for all datasets", field="dataset")
    if body.id is not None:
        check_id(body.id)
    design = await design_of(body, token, services, request)
    campaign = await run_in_threadpool(_create, body, design, token, services)
    return CampaignInfo.model_validate(campaign.as_dict())


def _create(body: NewCampaign, design: CollectionDesign, token: Token, services: Services) -> Campaign:
    terms, who = terms_of(body), token.principal
    campaign = services.campaigns.create(design, title=body.title, terms=terms, id=body.id, principal=who)
    return campaign if body.draft else services.campaigns.open(campaign.id, principal=who)


@router.get("/v1/campaigns", summary="List the campaigns in scope")
def list_campaigns(token: Has, services: Services_) -> list[CampaignInfo]:
    """Oldest first."""
    found = [campaign for campaign in services.campaigns.list() if token.covers(campaign.id)]
    return [CampaignInfo.model_validate(campaign.as_dict()) for campaign in found]


@router.get("/v1/campaigns/{id}", summary="Look at one campaign")
def get_campaign(id: str, token: Reader, services: Services_) -> CampaignInfo:
    """State, questions, and how many have answered each."""
    check_scope(token, id)
    return CampaignInfo.model_validate(services.campaigns.advance(id).as_dict())


@router.post("/v1/campaigns/{id}/open", summary="Let people answer")
def open_campaign(id: str, token: Steward, services: Services_) -> CampaignInfo:
    """From draft to open; what is closed stays closed."""
    check_scope(token, id)
    return CampaignInfo.model_validate(services.campaigns.open(id, principal=token.principal).as_dict())


@router.post("/v1/campaigns/{id}/close", summary="Accept no more reports")
def close_campaign(id: str, token: Steward, services: Services_) -> CampaignInfo:
    """Closing twice is the same as once."""
    check_scope(token, id)
    return CampaignInfo.model_validate(services.campaigns.close(id, principal=token.principal).as_dict())


@router.post("/v1/campaigns/{id}/waves", status_code=201, summary="Open the next wave of a series")
def open_wave(id: str, body: NewWave, token: Steward, services: Services_) -> CampaignInfo:
    """With the same questions; the wave before it is closed. A repeated request changes nothing. Its id is new, so a
    token whose scope is a list of names cannot open one."""
    if token.datasets is not None:
        raise Forbidden("needs a token for all datasets", field="dataset")
    found = services.campaigns.open_wave(id, body.wave, closes=body.closes, principal=token.principal)
    return CampaignInfo.model_validate(found.as_dict())


@router.get("/v1/campaigns/{id}/waves", summary="The waves of a series so far")
def list_waves(id: str, token: Reader, services: Services_) -> list[CampaignInfo]:
    """In order; the campaign itself where it stands alone."""
    check_scope(token, id)
    found = [campaign for campaign in services.campaigns.waves(id) if token.covers(campaign.id)]
    return [CampaignInfo.model_validate(campaign.as_dict()) for campaign in found]


@router.post("/v1/campaigns/{id}/invitations", status_code=201, summary="Make one-time codes")
def make_invitations(id: str, body: NewInvitations, token: Steward, services: Services_) -> InvitationCodes:
    """For an invited campaign. They are shown once."""
    check_scope(token, id)
    return InvitationCodes(codes=list(services.campaigns.invite(id, body.count, principal=token.principal)))


@router.get("/v1/campaigns/{id}/invitations", summary="How many codes were made and used")
def get_invitations(id: str, token: Steward, services: Services_) -> InvitationsInfo:
    """Only the numbers: it is not shown which codes were used."""
    check_scope(token, id)
    return InvitationsInfo.model_validate(services.campaigns.invited(id))


@router.post("/v1/campaigns/{id}/invitations/redeem", summary="Trade a code for a blind signature")
def redeem_invitation(id: str, body: Redemption, _: Anonymous, services: Services_) -> BlindSignature:
    """Needs no token. The code is used up; the same message may be sent again if the answer was lost."""
    signature = services.campaigns.redeem(id, body.code, bytes.fromhex(body.blinded))
    return BlindSignature(signature=signature.hex())


@router.get("/v1/campaigns/{id}/block", summary="The open block, for aggregators that share the campaign")
def get_block(id: str, token: Steward, services: Services_) -> BlockInfo:
    """Its questions, with the fakes that the first aggregator has learnt."""
    check_scope(token, id)
    return BlockInfo.model_validate(services.campaigns.block(id))


@router.post("/v1/campaigns/{id}/block", summary="Open the block that the first aggregator has opened")
def adopt_block(id: str, body: BlockModel, token: Steward, services: Services_) -> CampaignInfo:
    """With the same questions; adopting it twice is the same as once."""
    check_scope(token, id)
    exported = body.model_dump(exclude={"tables"} if body.tables is None else None)
    adopted = services.campaigns.adopt(id, exported, principal=token.principal)
    return CampaignInfo.model_validate(adopted.as_dict())


@router.get("/v1/campaigns/{id}/tally", summary="Counts, for another aggregator of the same campaign")
def get_tally(id: str, token: Steward, services: Services_) -> TallyInfo:
    """Counts of randomised answers, and the ids of the reports that they hold."""
    check_scope(token, id)
    return TallyInfo.model_validate(services.campaigns.export(id, principal=token.principal))


@router.post("/v1/campaigns/{id}/merge", summary="Add the counts of another aggregator")
def merge_tally(id: str, body: TallyModel, token: Steward, services: Services_) -> CampaignInfo:
    """All of it or nothing; refused when a report was sent to both."""
    check_scope(token, id)
    merged = services.campaigns.merge(id, body.model_dump(), principal=token.principal)
    return CampaignInfo.model_validate(merged.as_dict())

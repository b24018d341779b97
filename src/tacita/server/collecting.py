"""From what a caller asks for to a design and the terms of a campaign."""

from __future__ import annotations

from tacita.collect.campaigns import Rounds, Terms
from tacita.collect.design import Design
from tacita.collect.plan import plan_collection
from tacita.collect.stopping import StopRule
from tacita.domain import Domain
from tacita.server.models import CollectionPlan, NewCampaign
from tacita.tables import Workload

__all__ = ["design_of", "terms_of"]


def design_of(body: CollectionPlan) -> Design:
    """Plan what is asked for."""
    return plan_collection(
        Domain.from_dict(body.domain),
        Workload.of(*body.tables),
        respondents=body.respondents,
        epsilon=body.epsilon,
        mode=body.mode,
        answers=body.answers,
        channel=body.channel,
        dependence=body.dependence,
    )


def terms_of(body: NewCampaign) -> Terms:
    """What the owner decided."""
    return Terms(
        minimum=body.minimum,
        closes=body.closes,
        rounds=Rounds(**body.rounds.model_dump()) if body.rounds else None,
        stop=StopRule(**body.stop.model_dump()) if body.stop else None,
        keep_reports=body.keep_reports,
        shard=body.shard,
    )

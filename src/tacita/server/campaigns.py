"""From what a caller asks for to a design and the terms of a campaign."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request

from tacita.collect.campaigns import Rounds, Terms
from tacita.collect.planning.design import CollectionDesign
from tacita.collect.planning.plan import plan_collection, planning_seconds
from tacita.collect.planning.stopping import StopRule
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.server.auth.tokens import Token
from tacita.server.jobs.computing import check_cost
from tacita.server.services import Services
from tacita.tables.workload import Workload
from tacita.wire import CollectionPlan, NewCampaign

__all__ = ["design_of", "terms_of"]


_HINT = "Ask for fewer or smaller tables; or choose the mode yourself (singles, tables): then nothing is rehearsed"


async def design_of(
    body: CollectionPlan, token: Token, services: Services, request: Request | None = None
) -> CollectionDesign:
    """Plan what is asked for, in the pool for computations.

    Raises:
        InvalidInput: It would have too many cells, or take longer than the token's role may compute.
        TooManyRequests: The token or all together compute too much already.
    """
    domain, workload = Domain.from_dict(body.domain), Workload.of(*body.tables)
    workload.check(domain)
    most = services.settings.max_cells
    for key in workload:
        if domain.project(key).size > most:
            raise InvalidInput(f"must have at most {most} cells each", field="tables", value=", ".join(key))
    estimate = planning_seconds(domain, workload, respondents=body.respondents, mode=body.mode, answers=body.answers)
    if body.phases == "auto":
        estimate *= 3
    check_cost(estimate, role=token.role, hint=_HINT)
    compute = partial(
        plan_collection,
        domain,
        workload,
        respondents=body.respondents,
        epsilon=body.epsilon,
        mode=body.mode,
        answers=body.answers,
        channel=body.channel,
        dependence=body.dependence,
        penalty=body.penalty,
        phases=body.phases,
        first=body.first,
        waves=body.waves,
        turns=body.turns,
        floor=body.rounds.floor if isinstance(body, NewCampaign) and body.rounds else Rounds(size=1).floor,
    )
    return await services.computing.run(compute, estimate=estimate, principal=token.principal, request=request)


def terms_of(body: NewCampaign) -> Terms:
    """Return the terms that the owner chose."""
    return Terms(
        minimum=body.minimum,
        closes=body.closes,
        rounds=Rounds(**body.rounds.model_dump()) if body.rounds else None,
        stop=StopRule(**body.stop.model_dump()) if body.stop else None,
        keep_reports=body.keep_reports,
        shard=body.shard,
        aggregators=None if body.aggregators is None else tuple(body.aggregators),
        invited=body.invited,
        raised_limits=body.raised_limits,
    )

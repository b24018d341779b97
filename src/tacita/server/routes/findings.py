"""What can be read off a campaign's tables: tests, a network, rules, made-up rows. All of it is free."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from fastapi import APIRouter, Depends, Query, Response

from tacita.collect import findings
from tacita.collect.hypothesis import Hypothesis
from tacita.collect.rules import find_rules
from tacita.collect.tally import Tally
from tacita.errors import InvalidInput
from tacita.release import Releases
from tacita.server.answers import ReleaseResponse, SyntheticResponse
from tacita.server.auth import Services_, allow, check_scope
from tacita.server.errors import DOCUMENTED
from tacita.server.models import IntegrityInfo, NetworkInfo, ReleasesModel, RuleInfo, VerdictInfo
from tacita.server.services import Services
from tacita.server.tokens import Token

__all__ = ["router"]

router = APIRouter(tags=["campaigns"], responses=DOCUMENTED)

Reader = Annotated[Token, Depends(allow("steward", "analyst"))]
Names = Annotated[str, Query(description="Attributes, separated by commas.")]
MOST_ROWS = 1_000_000
MOST_SIMULATIONS = 9_999


def _tally(services: Services, token: Token, id: str) -> Tally:
    check_scope(token, id)
    return services.campaigns.tally(id)


def _listed(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


@router.get(
    "/v1/campaigns/{id}/releases",
    summary="Tables with error bars, as far as people have answered",
    response_model=None,
    responses={200: {"model": ReleasesModel}},
)
def get_releases(
    id: str,
    token: Reader,
    services: Services_,
    about: Literal["population", "respondents"] = "population",
    published: findings.Published = "raw",
    by: Names = "",
) -> Response:
    """Free: everybody was protected before their report was sent. Not before the campaign's minimum."""
    check_scope(token, id)
    if by:
        return ReleaseResponse(Releases([findings.table(services.campaigns.tally(id), _listed(by), published)]))
    if published != "raw" and about == "respondents":
        raise InvalidInput("must be the population where tables are published", field="about", value=about)
    if published == "raw":
        return ReleaseResponse(services.campaigns.releases(id, about))
    return ReleaseResponse(findings.published(services.campaigns.tally(id), published))


@router.get("/v1/campaigns/{id}/test", summary="Test independence")
def get_independence(
    id: str,
    token: Reader,
    services: Services_,
    by: Names = "",
    given: Names = "",
    simulations: Annotated[int | None, Query(ge=19, le=MOST_SIMULATIONS)] = None,
) -> VerdictInfo:
    """Wald's test with the true covariance, or simulations of the whole protocol for small samples."""
    tally = _tally(services, token, id)
    found = findings.independence(tally, Hypothesis.of(*_listed(by), given=_listed(given)), simulations=simulations)
    return VerdictInfo.model_validate(found.as_dict())


@router.get("/v1/campaigns/{id}/network", summary="A Bayesian network of the attributes")
def get_network(
    id: str,
    token: Reader,
    services: Services_,
    degree: Annotated[int, Query(ge=1, le=4)] = 1,
    level: Annotated[float, Query(gt=0, lt=1)] = 0.05,
) -> NetworkInfo:
    """Edges only where dependence is beyond doubt at the given level, over all candidates."""
    learned = findings.network(_tally(services, token, id), degree=degree, level=level)
    links = [
        {"child": link.child, "parents": list(link.parents), "bits": link.bits, "p_value": link.p_value}
        for link in learned.structure.links
    ]
    return NetworkInfo(network=learned.network.as_dict(), links=links, event=learned.event.as_dict())


@router.get("/v1/campaigns/{id}/rules", summary="Association rules that noise does not make")
def get_rules(
    id: str,
    token: Reader,
    services: Services_,
    confidence: Annotated[float, Query(ge=0, lt=1)] = 0.0,
    lift: Annotated[float, Query(ge=0)] = 1.0,
    support: Annotated[float, Query(ge=0, le=1)] = 0.0,
    level: Annotated[float, Query(gt=0, lt=1)] = 0.05,
) -> list[RuleInfo]:
    """The strongest lift first; the probability of any false rule is at most about the level."""
    releases = _tally(services, token, id).releases()
    rules = find_rules(releases, confidence=confidence, lift=lift, support=support, level=level)
    return [RuleInfo.model_validate(rule.as_dict()) for rule in rules]


@router.get("/v1/campaigns/{id}/integrity", summary="What liars could have done, and whether it shows")
def get_integrity(id: str, token: Reader, services: Services_) -> list[IntegrityInfo]:
    """The influence bound and the excess-support test of every question."""
    found = findings.integrity(_tally(services, token, id))
    return [IntegrityInfo.model_validate(each.as_dict()) for each in found]


@router.get(
    "/v1/campaigns/{id}/synthetic",
    summary="Made-up rows with about the tables that were collected",
    response_class=Response,
    response_model=None,
    responses={200: {"content": {"text/csv": {}}}},
)
def get_synthetic(
    id: str,
    token: Reader,
    services: Services_,
    rows: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 1000,
    by: Literal["classes", "network"] = "classes",
    degree: Annotated[int, Query(ge=1, le=4)] = 1,
) -> Response:
    """CSV. Nobody's row: drawn from a model of the published tables."""
    table = findings.synthetic(_tally(services, token, id), rows, np.random.default_rng(), by=by, degree=degree)
    return SyntheticResponse(table)

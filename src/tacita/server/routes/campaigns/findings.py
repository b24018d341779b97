"""Analyses of the tables of a campaign: tests, a network, rules, synthetic rows. All of them are free."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Literal, TypeVar

import numpy as np
from fastapi import APIRouter, Depends, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from tacita.collect.analysis import findings
from tacita.collect.analysis.changes import Change, find_changes
from tacita.collect.analysis.hypothesis import Hypothesis, Verdict
from tacita.collect.analysis.rules import Rule, find_rules
from tacita.collect.estimating.automatic import choosing_seconds
from tacita.collect.estimating.means import collected_means
from tacita.collect.estimating.prior import Prior
from tacita.collect.estimating.tally import Tally
from tacita.errors import InvalidInput
from tacita.server.auth.auth import Services_, allow, check_scope
from tacita.server.auth.token_first import TokenFirst
from tacita.server.auth.tokens import Token
from tacita.server.http.errors import DOCUMENTED
from tacita.server.jobs.computing import check_cost
from tacita.server.releasing.answers import ReleaseResponse, SyntheticResponse
from tacita.server.services import Services
from tacita.tables.release import Releases
from tacita.wire import (
    ChangeInfo,
    IntegrityInfo,
    MeanInfo,
    NetworkInfo,
    PublishWithPrior,
    ReleasesModel,
    RuleInfo,
    VerdictInfo,
)

__all__ = ["router"]

router = APIRouter(tags=["campaigns"], responses=DOCUMENTED, route_class=TokenFirst)

Reader = Annotated[Token, Depends(allow("steward", "analyst", "reader"))]
Names = Annotated[str, Query(description="Attributes, separated by commas.")]
T = TypeVar("T")
MOST_ROWS = 1_000_000
MOST_SIMULATIONS = 9_999


def _tally(services: Services, token: Token, id: str) -> Tally:
    check_scope(token, id)
    return services.campaigns.tally(id)


_HINT = "Ask for fewer simulations, or about fewer attributes"


async def _compute(
    compute: Callable[..., T],
    services: Services,
    token: Token,
    request: Request,
    id: str,
    *,
    simulations: int = 0,
    published: findings.Published = "raw",
) -> T:
    """Compute something of a campaign's tally, in the pool for computations."""
    tally = await run_in_threadpool(_tally, services, token, id)
    asked = [question for question, _ in tally.questions()]
    cells = sum(tally.design.domain.project(each.attributes).size for each in asked)
    estimate = 0.02 * len(asked) + 0.0005 * cells + 0.001 * simulations * (1 + cells / 100)
    if published not in ("raw", "pooled"):
        estimate += choosing_seconds(cells, len(asked))
    check_cost(estimate, role=token.role, hint=_HINT)
    return await services.computing.run(
        partial(compute, tally), estimate=estimate, principal=token.principal, request=request
    )


def _listed(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


@router.get(
    "/v1/campaigns/{id}/releases",
    summary="Tables with error bars, as far as people have answered",
    response_model=None,
    responses={200: {"model": ReleasesModel}},
)
async def get_releases(
    id: str,
    token: Reader,
    services: Services_,
    request: Request,
    about: Literal["population", "respondents"] = "population",
    published: findings.Published | None = None,
    by: Names = "",
) -> Response:
    """Free: all respondents were protected before their reports were sent. Not before the campaign's minimum.

    `raw`: each table from its own reports. `pooled`: from all reports that hold its attributes. Both are unbiased.
    `consistent`, `singles` and `modelled` are never negative and agree; `auto` takes the one of these with the smallest
    estimated error, or averages the last two, and says so in `provenance.recipe.automatic`. All have intervals. `by`
    names one table, which may be larger than any question. Without `published`, tables about the population are `auto`
    and those about the respondents `raw`.
    """
    check_scope(token, id)
    published = published or ("auto" if about == "population" else "raw")
    names = _listed(by)
    if about == "respondents":
        if published != "raw":
            raise InvalidInput("must be the population where tables are published", field="about", value=about)
        found = await run_in_threadpool(services.campaigns.releases, id, about)
        return ReleaseResponse(Releases([found.project(tuple(names))]) if names else found)
    if names:
        compute = partial(findings.table, attributes=names, how=published)
        return ReleaseResponse(Releases([await _compute(compute, services, token, request, id, published=published)]))
    if published == "raw":
        return ReleaseResponse(await run_in_threadpool(services.campaigns.releases, id))
    compute_all = partial(findings.published, how=published)
    return ReleaseResponse(await _compute(compute_all, services, token, request, id, published=published))


@router.post(
    "/v1/campaigns/{id}/releases",
    summary="Tables with error bars, with public tables as a prior",
    response_model=None,
    responses={200: {"model": ReleasesModel}},
)
async def publish_with_prior(
    id: str, body: PublishWithPrior, token: Reader, services: Services_, request: Request
) -> Response:
    """Free, as without a prior. How far the public tables are trusted follows from the reports, and is in
    `provenance.recipe.prior`. Intervals are those of the unbiased tables, which use no prior. Nothing is stored."""
    compute = partial(_with_prior, body=body)
    return ReleaseResponse(await _compute(compute, services, token, request, id, published=body.published))


@router.get("/v1/campaigns/{id}/means", summary="Means of numbers with error bars")
async def get_means(
    id: str,
    token: Reader,
    services: Services_,
    request: Request,
    level: Annotated[float, Query(gt=0, lt=1)] = 0.95,
) -> list[MeanInfo]:
    """Of every number that was asked by itself, for its mean or for its table. Free, and not before the minimum."""
    found = await _compute(partial(collected_means, level=level), services, token, request, id)
    return [MeanInfo.model_validate(each.as_dict()) for each in found]


@router.get("/v1/campaigns/{id}/changes", summary="What has changed since an earlier wave of the series")
async def get_changes(
    id: str,
    token: Reader,
    services: Services_,
    request: Request,
    since: Annotated[int | None, Query(ge=1, description="Number of the earlier wave.")] = None,
    by: Names = "",
    level: Annotated[float, Query(gt=0, lt=1)] = 0.95,
) -> list[ChangeInfo]:
    """Free. Of all single attributes, tables and means, or of the table that `by` names; since the wave before where
    `since` is not given. Both waves must have as many answers as the campaign publishes from."""
    check_scope(token, id)
    before, _ = await run_in_threadpool(_since, services, token, id, since)
    keys = [_listed(by)] if by else []
    compute = partial(_changes, before=before, by=keys, level=level)
    found = await _compute(compute, services, token, request, id, published="pooled")
    return [ChangeInfo.model_validate(each.as_dict()) for each in found]


@router.get("/v1/campaigns/{id}/test", summary="Test independence")
async def get_independence(
    id: str,
    token: Reader,
    services: Services_,
    request: Request,
    by: Names = "",
    given: Names = "",
    simulations: Annotated[int | None, Query(ge=19, le=MOST_SIMULATIONS)] = None,
) -> VerdictInfo:
    """Wald's test with the true covariance, or simulations of the whole protocol for small samples."""
    compute = partial(_independence, by=_listed(by), given=_listed(given), simulations=simulations)
    found = await _compute(compute, services, token, request, id, simulations=simulations or 0)
    return VerdictInfo.model_validate(found.as_dict())


@router.get("/v1/campaigns/{id}/network", summary="A Bayesian network of the attributes")
async def get_network(
    id: str,
    token: Reader,
    services: Services_,
    request: Request,
    degree: Annotated[int, Query(ge=1, le=4)] = 1,
    level: Annotated[float, Query(gt=0, lt=1)] = 0.05,
) -> NetworkInfo:
    """Edges only where dependence is beyond doubt at the given level, over all candidates."""
    learned = await _compute(partial(findings.network, degree=degree, level=level), services, token, request, id)
    links = [
        {"child": link.child, "parents": list(link.parents), "bits": link.bits, "p_value": link.p_value}
        for link in learned.structure.links
    ]
    return NetworkInfo(network=learned.network.as_dict(), links=links, event=learned.event.as_dict())


@router.get("/v1/campaigns/{id}/rules", summary="Association rules that noise does not make")
async def get_rules(
    id: str,
    token: Reader,
    services: Services_,
    request: Request,
    confidence: Annotated[float, Query(ge=0, lt=1)] = 0.0,
    lift: Annotated[float, Query(ge=0)] = 1.0,
    support: Annotated[float, Query(ge=0, le=1)] = 0.0,
    level: Annotated[float, Query(gt=0, lt=1)] = 0.05,
) -> list[RuleInfo]:
    """The strongest lift first; the probability of any false rule is at most about the level."""
    compute = partial(_rules, confidence=confidence, lift=lift, support=support, level=level)
    rules = await _compute(compute, services, token, request, id)
    return [RuleInfo.model_validate(rule.as_dict()) for rule in rules]


def _with_prior(tally: Tally, body: PublishWithPrior) -> Releases:
    prior = Prior.from_list(tally.design.domain, [table.model_dump() for table in body.prior])
    if body.by:
        return Releases([findings.table(tally, body.by, body.published, prior=prior)])
    return findings.published(tally, body.published, prior=prior)


def _since(services: Services, token: Token, id: str, wave: int | None) -> tuple[Tally, Tally]:
    check_scope(token, services.campaigns.earlier(id, wave))
    return services.campaigns.since(id, wave)


def _changes(tally: Tally, before: Tally, by: list[list[str]], level: float) -> list[Change]:
    return find_changes(before, tally, by=by, level=level)


def _independence(tally: Tally, by: list[str], given: list[str], simulations: int | None) -> Verdict:
    return findings.independence(tally, Hypothesis.of(*by, given=given), simulations=simulations)


def _rules(tally: Tally, confidence: float, lift: float, support: float, level: float) -> list[Rule]:
    return find_rules(tally.releases(), confidence=confidence, lift=lift, support=support, level=level)


@router.get("/v1/campaigns/{id}/integrity", summary="Possible effect of false reports, and whether the tallies show it")
async def get_integrity(id: str, token: Reader, services: Services_, request: Request) -> list[IntegrityInfo]:
    """The influence bound and the excess-support test of every question."""
    found = await _compute(findings.integrity, services, token, request, id)
    return [IntegrityInfo.model_validate(each.as_dict()) for each in found]


@router.get(
    "/v1/campaigns/{id}/synthetic",
    summary="Synthetic rows with about the tables that were collected",
    response_class=Response,
    response_model=None,
    responses={200: {"content": {"text/csv": {}}}},
)
async def get_synthetic(
    id: str,
    token: Reader,
    services: Services_,
    request: Request,
    rows: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 1000,
    by: Literal["classes", "network"] = "classes",
    degree: Annotated[int, Query(ge=1, le=4)] = 1,
) -> Response:
    """CSV. The rows are synthetic: drawn from a model of the published tables."""
    compute = partial(findings.synthetic, rows=rows, rng=np.random.default_rng(), by=by, degree=degree)
    table = await _compute(compute, services, token, request, id)
    return SyntheticResponse(table)

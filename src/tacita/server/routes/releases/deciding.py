"""Decisions on released tables and on campaigns: private tests, flip probabilities, stability of links. Free."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from starlette.concurrency import run_in_threadpool

from tacita.assess.decisions.asked import Source, ask_flip, ask_stability, ask_test, read_tables
from tacita.common.wellformed import check_json
from tacita.errors import InvalidInput
from tacita.server.auth.auth import Services_, allow, check_scope
from tacita.server.auth.token_first import TokenFirst
from tacita.server.auth.tokens import Token
from tacita.server.http.errors import DOCUMENTED
from tacita.server.jobs.computing import check_cost
from tacita.server.routes.releases.releases import file_of_release, note_fetched
from tacita.server.services import Services
from tacita.wire import DecisionInfo, FlipQuestion, IndependenceQuestion, StabilityQuestion
from tacita.wire.base import RequestModel

__all__ = ["router"]

router = APIRouter(responses=DOCUMENTED, route_class=TokenFirst)

Reader = Annotated[Token, Depends(allow("steward", "analyst", "reader"))]
_HINT = "Ask for fewer draws or simulations, or about fewer attributes"
_QUESTIONS: dict[str, tuple[type[RequestModel], Callable[..., Any], str]] = {
    "test": (IndependenceQuestion, ask_test, "Test whether attributes are independent"),
    "flip": (FlipQuestion, ask_flip, "Probability that the noise turned a decision about dependence"),
    "stability": (StabilityQuestion, ask_stability, "Stability of each link of a network learnt from the tables"),
}


def _released(services: Services, token: Token, id: str) -> Source:
    """The tables of a release that the caller may see."""
    path, _ = file_of_release(services, token, id)
    if path.suffix != ".json":
        raise InvalidInput("must be a release of tables", field="release", value=id)
    note_fetched(services, token, id, format="decision")
    return read_tables(_parsed(path))


def _parsed(path: Path) -> Any:
    import json

    text = path.read_bytes()
    check_json(text, field="release")
    return json.loads(text)


def _collected(services: Services, token: Token, id: str) -> Source:
    check_scope(token, id)
    return services.campaigns.tally(id)


def _compute(question: str, source: Source, given: dict[str, Any]) -> DecisionInfo:
    """Answer a question; a function of this module, so that another process can do it."""
    _, ask, _ = _QUESTIONS[question]
    found = ask(source, **given)
    if question == "stability":
        return DecisionInfo(question="stability", values=found.as_dict(), picture=found.picture())
    return DecisionInfo.model_validate({"question": question, "values": found})


def _seconds(question: str, body: Any) -> float:
    """About how long a question takes."""
    if question == "stability":
        return 1.0 + 0.05 * float(body.draws)
    if question == "flip":
        return 1.0 + (3.0 if body.decide == "private" else 0.0) + 2e-4 * float(body.draws)
    return 1.0 + 0.004 * float(body.simulations)


def _add(noun: str, tag: str, question: str, find: Callable[[Services, Token, str], Source]) -> None:
    """Add the route of a question about releases or campaigns."""
    model, _, summary = _QUESTIONS[question]

    async def decide(id: str, body: Any, request: Request, token: Reader, services: Services_) -> DecisionInfo:
        """Post-processing: costs nothing."""
        seconds = _seconds(question, body)
        check_cost(seconds, role=token.role, hint=_HINT)
        source = await run_in_threadpool(find, services, token, id)
        compute = partial(_compute, question, source, body.model_dump())
        return await services.computing.run(compute, estimate=seconds, principal=token.principal, request=request)

    # the type of the body depends on the question
    decide.__annotations__ = {"id": str, "body": model, "request": Request, "token": Reader, "services": Services_}
    router.add_api_route(
        f"/v1/{noun}/{{id}}/decide/{question}",
        decide,
        methods=["POST"],
        tags=[tag],
        summary=summary,
        response_model=DecisionInfo,
        name=f"decide_{question}_of_{tag}",
    )


for _question in _QUESTIONS:
    _add("releases", "releases", _question, _released)
    _add("campaigns", "campaigns", _question, _collected)

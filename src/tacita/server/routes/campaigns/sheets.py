"""The questions for a respondent: a raw ASGI route, because hundreds may open their page in the same moment.

A typed handler with a look at the database of its own takes four times as long for each of a crowd.
"""

from __future__ import annotations

import msgspec
from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tacita.errors import InternalError
from tacita.server.auth.auth import check_anonymous
from tacita.server.http import errors
from tacita.server.routes.raw import RawRoute
from tacita.server.services import Services
from tacita.wire import Sheet

__all__ = ["DOCUMENTED", "ROUTE"]

PATH = "/v1/campaigns/{id}/questions"
_ENCODER = msgspec.json.Encoder()


class _Sheet:
    """GET: the title, and one view of the questions, drawn by lot."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        services: Services = scope["app"].state.services
        check_anonymous(scope, services)
        campaign = await services.shared_reads.at(scope["path_params"]["id"])
        questions = [question.to_dict() for question in services.campaigns.draw_sheet(campaign)]
        content = _ENCODER.encode({"title": campaign.title, "questions": questions, "digests": campaign.digests})
        await Response(content, media_type="application/json")(scope, receive, send)


ROUTE = RawRoute(PATH, _Sheet(), methods=["GET"], include_in_schema=False)


def get_questions(id: str) -> Sheet:
    """One view, drawn by lot. Needs no token: anyone with the id may answer. The device checks what it is sent."""
    raise InternalError("stands in the contract only; the route above answers")


DOCUMENTED = APIRoute(
    PATH,
    get_questions,
    methods=["GET"],
    summary="The questions for one respondent's device",
    tags=["campaigns"],
    response_model=Sheet,
    responses=errors.DOCUMENTED,
    operation_id="get_questions",
)

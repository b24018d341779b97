"""Calculators: figures from public numbers; they read no data and spend no budget."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from tacita.calculators.kind import Calculator
from tacita.calculators.registry import CALCULATORS, calculate
from tacita.server.auth.auth import Services_, allow
from tacita.server.auth.token_first import TokenFirst
from tacita.server.auth.tokens import Token
from tacita.server.http.errors import DOCUMENTED
from tacita.server.jobs.computing import check_cost
from tacita.wire import CalculatorAnswer, CalculatorInfo

__all__ = ["router", "routes_of"]

router = APIRouter(tags=["calculators"], responses=DOCUMENTED, route_class=TokenFirst)

Asker = Annotated[Token, Depends(allow("steward", "analyst", "reader"))]


@router.get("/v1/calculators", summary="Calculators, each with the schema of its request")
def list_calculators(token: Asker) -> list[CalculatorInfo]:
    """Each computes figures from public numbers alone."""
    return [
        CalculatorInfo(name=each.name, title=each.title, summary=each.summary, request=each.request.model_json_schema())
        for each in CALCULATORS.values()
    ]


def routes_of(calculator: Calculator[Any]) -> APIRouter:
    """Return the route of a calculator."""
    made = APIRouter(responses=DOCUMENTED, route_class=TokenFirst)

    async def ask(body: Any, request: Request, token: Asker, services: Services_) -> CalculatorAnswer:
        """Reads no data and spends no budget."""
        seconds = calculator.seconds(body)
        check_cost(seconds, role=token.role, hint="Ask with smaller numbers")
        compute = partial(calculate, calculator.name, body)
        found = await services.computing.run(compute, estimate=seconds, principal=token.principal, request=request)
        return found.answer()

    # the type of the body depends on the calculator
    ask.__annotations__ = {"body": calculator.request, "request": Request, "token": Asker, "services": Services_}
    made.add_api_route(
        f"/v1/calculators/{calculator.name}",
        ask,
        methods=["POST"],
        summary=calculator.summary,
        response_model=CalculatorAnswer,
        name=f"calculate_{calculator.name.replace('-', '_')}",
    )
    return made


for _calculator in CALCULATORS.values():
    router.include_router(routes_of(_calculator))

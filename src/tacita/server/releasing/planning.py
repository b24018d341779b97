"""Plans of releases and models: calibrated in the pool for computations, since some accounting takes seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from starlette.requests import Request

from tacita.server.auth.tokens import Token
from tacita.server.jobs.computing import QUICK_SECONDS
from tacita.server.services import Services
from tacita.wire import FitRequest, FunctionRequest, SyntheticRequest

__all__ = ["calibrated", "planning_seconds"]

P = TypeVar("P")

_TRAINED = {"gan": 6.0, "wgan": 3.0, "pate-gan": 1.0, "network": 2.0}
"""Seconds to account for private training, measured on one core."""
_WITH_DELTA = 1.5
"""The same for other plans whose loss distribution is computed."""


def planning_seconds(request: SyntheticRequest | FunctionRequest | FitRequest) -> float:
    """Estimate how long it takes to calibrate what is asked for."""
    way = request.method if isinstance(request, SyntheticRequest) else request.kind
    if way in _TRAINED:
        return _TRAINED[way]
    slow = isinstance(request, FitRequest) or way == "independent"
    return _WITH_DELTA if slow and request.budget.delta else QUICK_SECONDS


async def calibrated(
    compute: Callable[[], P],
    asked: SyntheticRequest | FunctionRequest | FitRequest,
    *,
    token: Token,
    services: Services,
    request: Request,
) -> P:
    """Calibrate a plan, in a child process where it takes long; ended when the client has gone."""
    estimate = planning_seconds(asked)
    return await services.computing.run(compute, estimate=estimate, principal=token.principal, request=request)

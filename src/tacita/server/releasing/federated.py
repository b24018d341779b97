"""Federated runs: planning is free, a job asks the holders step by step, and the synthetic rows are stored.

A run is named after its job. Holders bind terms to that name and store their answers. So an attempt that follows a
killed one gets the same answers, and no holder pays twice.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from tacita.client.holder import HolderClient, read_token
from tacita.domain import Domain
from tacita.errors import Forbidden, InternalError, InvalidInput, TacitaError, UnknownName
from tacita.privacy.unit import Neighbours, Unit
from tacita.server.auth.tokens import Token
from tacita.server.jobs.jobs import Task
from tacita.server.releasing.kind import ReleaseKind
from tacita.server.releasing.synthetic import keep_made, statement_of
from tacita.server.services import Services
from tacita.synthesize.federated import Party, Terms, federate
from tacita.synthesize.federated.analyst import takes_mixture
from tacita.synthesize.federated.planning import Planned, plan_run
from tacita.synthesize.result import Synthesized
from tacita.wire import FederatedPlan, FederatedRequest, SyntheticInfo

__all__ = ["FEDERATED", "describe_all", "terms_of"]

_PATIENCE = 2.0


def terms_of(services: Services, request: FederatedRequest, run: str) -> tuple[Terms, Domain]:
    """Return the checked terms that all parties of the run agree on, and the schema that they name."""
    for name in request.holders:
        if name not in services.settings.holders:
            raise UnknownName(name, field="holders", available=services.settings.holders)
    if request.neighbours not in list(Neighbours):
        raise InvalidInput("must be " + " or ".join(Neighbours), field="neighbours", value=request.neighbours)
    domain = Domain.from_dict(request.domain)
    terms = Terms(
        run=run,
        schema=domain.fingerprint,
        attributes=domain.countable if request.attributes is None else tuple(request.attributes),
        method=request.method,
        budget=request.budget.budget(),
        unit=Unit.parse(request.unit),
        neighbours=Neighbours(request.neighbours),
        holders=tuple(request.holders),
        quorum=len(request.holders) if request.quorum is None else request.quorum,
        overlap=request.overlap,
        degree=request.degree,
        split=0.3,
        theta=4.0,
        people=request.people,
    )
    takes_mixture(terms, domain, request.fit)
    return terms, domain


def describe_all(services: Services) -> list[dict[str, Any]]:
    """Ask all holders in parallel for their descriptions of themselves."""
    names = list(services.settings.holders)
    with ThreadPoolExecutor(max_workers=8) as pool:
        return list(pool.map(lambda name: _described(services, name), names))


def _described(services: Services, name: str) -> dict[str, Any]:
    try:
        client = _client(services, name, seconds=_PATIENCE)
        try:
            return {"name": name, "reached": True, "problem": None, "about": client.describe()}
        finally:
            client.close()
    except TacitaError as error:  # only the operator may know its address and the path of its token
        return {"name": name, "reached": False, "problem": error.rule, "about": None}


def _client(services: Services, name: str, *, seconds: float) -> HolderClient:
    place = services.settings.holders[name]
    return HolderClient(place.url, read_token(place.token_file.expanduser()), timeout=seconds, patience=seconds)


def _make(task: Task, request: FederatedRequest) -> str:
    """Ask, combine, write. Every attempt has the same run, so that holders answer it once."""
    terms, domain = terms_of(task.services, request, task.job.id)
    task.progress.step(0.05, "asking the holders")
    clients = {name: _client(task.services, name, seconds=request.deadline) for name in terms.holders}
    try:
        parties = [Party(name=name, ask=client.ask) for name, client in clients.items()]
        made = federate(terms, domain, parties, deadline=request.deadline, rng=np.random.default_rng(), fit=request.fit)
    finally:
        for client in clients.values():
            client.close()
    if made.provenance.simulated:
        raise InternalError("simulated rows must not be served", field="release")
    return keep_made(task, made, request.rows, request.decode)


def _find(services: Services, token: Token, body: FederatedRequest) -> tuple[Terms, Domain]:
    """The terms of a run. Holders are no datasets of this server: a token for some of those is not good for them."""
    if token.datasets is not None:
        raise Forbidden("needs a token for all datasets", field="dataset")
    return terms_of(services, body, "plan")


def _plan(terms: tuple[Terms, Domain], _: FederatedRequest) -> Planned:
    return plan_run(*terms)


FEDERATED = ReleaseKind(
    name="federated",
    job="federate",
    summary="Release synthetic rows of several holders",
    plan_summary="Cost and noise of a federated run",
    request=FederatedRequest,
    planned=FederatedPlan,
    find=_find,
    plan=_plan,
    show=lambda _services, _terms, plan, _body: plan.as_dict(),
    make=_make,
    asker=None,
    roles=("steward",),
    info=SyntheticInfo,
    state=statement_of,
    model=Synthesized,
    command="federate run",
)

"""The one pipeline of releases: request -> subject -> plan -> job -> files.

A `ReleaseKind` says what differs between kinds; `plan_release` and `submit_release` are the same for all of them. The
kinds are listed in `registry`, which routes, jobs and clients read.

    request    checked by its pydantic model
    subject    dataset or terms of the request, after a check of the token's scope (`find`)
    plan       calibrated without data, in the pool for computations where that takes long (`plan`)
    job        charged once however often it starts (`make`); it writes files and returns public facts about them
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Literal, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from tacita.errors import UnknownName
from tacita.plans import Plan
from tacita.report.statement import Statement
from tacita.server.auth.auth import check_scope
from tacita.server.auth.tokens import Role, Token
from tacita.server.data.datasets import Dataset
from tacita.server.jobs.computing import QUICK_SECONDS
from tacita.server.jobs.jobs import Job, Task
from tacita.server.services import Services
from tacita.synthesize.mobility.result import SyntheticMobility
from tacita.synthesize.result import Synthesized
from tacita.synthesize.text.released import HeadlineGenerator
from tacita.wire.base import RequestModel, ResponseModel

__all__ = ["LOSS_SECONDS", "ReleaseKind", "dataset_of", "plan_release", "quote_plan", "submit_release"]

B = TypeVar("B", bound=RequestModel)

LOSS_SECONDS = 1.5
"""About how long a plan takes whose loss distribution is computed, on one core."""


def dataset_of(services: Services, token: Token, name: str) -> Dataset:
    """The dataset, or an error that names only datasets in the token's scope."""
    check_scope(token, name)
    try:
        return services.datasets.get(name)
    except UnknownName as error:
        known = [other for other in error.available if token.covers(other)]
        raise UnknownName(name, field="dataset", available=known) from None


def _dataset_named(services: Services, token: Token, body: Any) -> Dataset:
    """The dataset that a request names in its member `dataset`."""
    return dataset_of(services, token, body.dataset)


def quote_plan(services: Services, dataset: Dataset, plan: Plan[Any]) -> dict[str, Any]:
    """The plan as plain data, with its cost to the dataset's account; charges nothing."""
    return plan.as_dict() | services.ledger.quote(dataset.account.name, plan.event).as_dict()


def _show_quote(services: Services, dataset: Dataset, plan: Plan[Any], _: Any) -> dict[str, Any]:
    return quote_plan(services, dataset, plan)


@dataclass(frozen=True, kw_only=True)
class ReleaseKind(Generic[B]):
    """One kind of release.

    Attributes:
        name: In paths and clients: `/v1/releases/NAME`.
        job: Kind of its jobs.
        summary, plan_summary: Texts of the two routes in the interface's description.
        request, planned: Models of the request and of the plan.
        plan: Calibrate a request for its subject; reads no data. A function of a module, because it is pickled where
            `seconds` is long.
        make: Carry out a job; returns the public facts about the release, as JSON.
        find: Return the subject of a request, after checking the token's scope: its dataset, unless stated.
        show: Return the plan as plain data and charge nothing: with its cost to the dataset's account, unless stated.
        seconds: Estimate how long `plan` takes.
        paid: Whether the dataset's account pays, so that a request it cannot pay is refused before a job is queued.
        asker: Member of a stored job that names the principal.
        roles: Roles that may ask, besides admins.
        place: Path of the release, without its id.
        aliases: Paths of earlier versions; their plan is at `PATH/plan`.
        info: Model of the facts about a release; None where another route has them.
        document: Whether the release itself is a JSON document, kept as a file; else the job's result has the facts.
        state: Make the signed statement of a release's guarantee; None where there is none.
        model: Type of the model that is kept with the rows, from which more rows can be drawn; None if there is none.
        command: Command of the command line that makes the same release.
    """

    name: str
    job: str
    summary: str
    plan_summary: str
    request: type[B]
    planned: type[ResponseModel]
    plan: Callable[[Any, B], Any]
    make: Callable[[Task, B], str]
    find: Callable[[Services, Token, B], Any] = _dataset_named
    show: Callable[[Services, Any, Any, B], dict[str, Any]] = _show_quote
    seconds: Callable[[B], float] = lambda _: QUICK_SECONDS
    paid: bool = False
    asker: Literal["principal", "recipient"] | None = "principal"
    roles: tuple[Role, ...] = ("steward", "analyst")
    place: str = "/v1/releases"
    aliases: tuple[str, ...] = ()
    info: type[ResponseModel] | None = None
    document: bool = False
    state: Callable[[Services, Job], Statement] | None = None
    model: type[Synthesized] | type[SyntheticMobility] | type[HeadlineGenerator] | None = None
    command: str

    def run(self, task: Task) -> str:
        """Carry out a job of this kind."""
        return self.make(task, self.request.model_validate(_sent(task.job, self.asker)))


def _sent(job: Job, asker: str | None) -> dict[str, Any]:
    return {name: value for name, value in job.request.items() if name != asker}


async def plan_release(
    kind: ReleaseKind[B], body: B, token: Token, services: Services, request: Request
) -> tuple[Any, Any]:
    """Return the subject of a request and its calibrated plan."""
    subject = await run_in_threadpool(kind.find, services, token, body)
    compute, estimate = partial(kind.plan, subject, body), kind.seconds(body)
    plan = await services.computing.run(compute, estimate=estimate, principal=token.principal, request=request)
    return subject, plan


async def submit_release(
    kind: ReleaseKind[B], body: B, token: Token, services: Services, request: Request, key: str | None
) -> Job:
    """Queue a job, planned first: an error in the request, or a budget that does not suffice, is reported now."""
    subject, plan = await plan_release(kind, body, token, services, request)

    def submitted() -> Job:
        known = key is not None and services.jobs.find(owner=token.id, key=key) is not None
        if kind.paid and not known:  # a job that is known may be paid already
            check_affordable(services, subject, plan)
        asked = body.model_dump(by_alias=True)
        if kind.asker is not None:
            asked[kind.asker] = token.principal
        return services.jobs.submit(kind.job, asked, owner=token.id, key=key)

    return await run_in_threadpool(submitted)


def check_affordable(services: Services, dataset: Dataset, plan: Plan[Any]) -> None:
    """Refuse a plan that the account cannot pay now, as the ledger would when the job runs."""
    services.ledger.quote(dataset.account.name, plan.event).check()

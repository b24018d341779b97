"""Anonymized logs of a dataset, for stewards: z-anonymous events and k^m-anonymous sets of items."""

from __future__ import annotations

import json
from typing import Any

from tacita.anonymize.hierarchies.hierarchy import Hierarchy
from tacita.anonymize.sets import AnonymizeSets, ReleasedSets, SetsPlan
from tacita.anonymize.streams.events import AnonymizedEvents, AnonymizeEvents, EventsPlan
from tacita.errors import Forbidden
from tacita.report.statement import Statement
from tacita.server.auth.tokens import Token
from tacita.server.data.datasets import Dataset
from tacita.server.jobs.jobs import Job, Task
from tacita.server.releasing.anonymized import record
from tacita.server.releasing.answers import ANONYMIZED_ROWS
from tacita.server.releasing.files import rows_of, write_rows
from tacita.server.releasing.kind import ReleaseKind, dataset_of
from tacita.server.releasing.unpaid import state_unpaid
from tacita.server.services import Services
from tacita.tables.release import Provenance
from tacita.wire import EventsInfo, EventsRequest, LogPlan, SetsInfo, SetsRequest

__all__ = ["EVENTS", "SETS"]

_CONDITION = {
    "events/1": "each row's values were shown by enough people in its window",
    "sets/1": "each combination of a few items is shared by enough people",
}


def _plan_events(dataset: Dataset, body: EventsRequest) -> EventsPlan:
    recipe = AnonymizeEvents(time=body.time, values=tuple(body.values), z=body.z, window=body.window)
    return recipe.prepare(dataset.domain)


def _find_sets(services: Services, token: Token, body: SetsRequest) -> tuple[Dataset, Hierarchy | None]:
    dataset = dataset_of(services, token, body.dataset)
    return dataset, _hierarchy(services, dataset.name, body.item)


def _hierarchy(services: Services, dataset: str, item: str) -> Hierarchy | None:
    """Return the hierarchy of the items, where the policy of the dataset has one."""
    try:
        rows = services.policies.get(dataset).hierarchies.get(item)
    except Forbidden:  # it has no policy
        return None
    return None if rows is None else Hierarchy.from_rows(item, rows)


def _plan_sets(found: tuple[Dataset, Hierarchy | None], body: SetsRequest) -> SetsPlan:
    dataset, hierarchy = found
    recipe = AnonymizeSets(item=body.item, k=body.k, m=body.m, hierarchy=hierarchy, suppress=body.suppress)
    return recipe.prepare(dataset.domain)


def _show(_services: Services, _found: Any, plan: EventsPlan | SetsPlan, _body: Any) -> dict[str, Any]:
    return {"recipe": plan.recipe.as_dict(), "attributes": list(plan.leaving), "guarantee": "none"}


def _make_events(task: Task, request: EventsRequest) -> str:
    dataset = task.services.datasets.get(request.dataset)
    task.progress.step(0.1, "reading")
    made = _plan_events(dataset, request).run(task.services.engine(dataset, request.purpose))
    return _keep(task, dataset, made, kind="events")


def _make_sets(task: Task, request: SetsRequest) -> str:
    dataset = task.services.datasets.get(request.dataset)
    task.progress.step(0.1, "reading")
    plan = _plan_sets((dataset, _hierarchy(task.services, dataset.name, request.item)), request)
    return _keep(task, dataset, plan.run(task.services.engine(dataset, request.purpose)), kind="sets")


def _keep(task: Task, dataset: Dataset, made: AnonymizedEvents | ReleasedSets, *, kind: str) -> str:
    """Record the release, write its rows, and return its facts."""
    warnings = record(
        task.services,
        dataset,
        [name for name in made.rows.column_names if name in dataset.domain.names],
        made.rows,
        made.recipe,
        task.job.request["recipient"],
        kind=kind,
    )
    task.progress.step(0.9, "writing")
    write_rows(made.rows, rows_of(task.services, task.job.id), ANONYMIZED_ROWS)
    provenance = Provenance(recipe=made.recipe, simulated=False, dataset=dataset.name)
    return json.dumps(made.as_dict() | {"warnings": list(warnings), "provenance": provenance.as_dict()})


def _state(services: Services, job: Job) -> Statement:
    condition = _CONDITION[json.loads(job.result or "{}")["tacita"]]
    return state_unpaid(services, job, f"{condition}, which is not differential privacy")


EVENTS = ReleaseKind(
    name="events",
    job="events",
    summary="Release the z-anonymous rows of a log",
    plan_summary="Columns of z-anonymous events",
    request=EventsRequest,
    planned=LogPlan,
    plan=_plan_events,
    show=_show,
    make=_make_events,
    paid=False,
    asker="recipient",
    roles=("steward",),
    info=EventsInfo,
    state=_state,
    command="log events",
)
SETS = ReleaseKind(
    name="sets",
    job="sets",
    summary="Release k^m-anonymous sets of items",
    plan_summary="Columns of k^m-anonymous sets",
    request=SetsRequest,
    planned=LogPlan,
    find=_find_sets,
    plan=_plan_sets,
    show=_show,
    make=_make_sets,
    paid=False,
    asker="recipient",
    roles=("steward",),
    info=SetsInfo,
    state=_state,
    command="log sets",
)

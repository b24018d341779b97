"""Tables with suppressed cells, for stewards: made by a job, kept as a file of cells and intervals."""

from __future__ import annotations

import json
from typing import Any

from tacita.anonymize.cells.registry import rule_parameters, rules_of
from tacita.anonymize.cells.suppress import SuppressCells, SuppressionPlan
from tacita.report.statement import Statement
from tacita.server.data.datasets import Dataset
from tacita.server.jobs.jobs import Job, Task
from tacita.server.releasing.anonymized import record
from tacita.server.releasing.answers import ANONYMIZED_ROWS
from tacita.server.releasing.files import rows_of, write_rows
from tacita.server.releasing.kind import ReleaseKind
from tacita.server.releasing.unpaid import state_unpaid
from tacita.server.services import Services
from tacita.tables.release import Provenance
from tacita.tables.tabular import finite
from tacita.wire import SuppressedInfo, SuppressedPlan, SuppressedRequest

__all__ = ["SUPPRESSED"]


def _plan(dataset: Dataset, body: SuppressedRequest) -> SuppressionPlan:
    recipe = SuppressCells(
        tables=tuple(tuple(table) for table in body.by),
        rules=rules_of({each.name: getattr(body, each.name) for each in rule_parameters()}),
        total=body.sum,
        weight=body.weight,
        zeros=body.zeros,
        margins=body.margins,
        cost=body.cost,
        programs=body.programs,
        nodes=body.nodes,
    )
    return recipe.prepare(dataset.domain)


def _show(_services: Services, _dataset: Dataset, plan: SuppressionPlan, _body: Any) -> dict[str, Any]:
    return {
        "recipe": plan.recipe.as_dict(),
        "attributes": list(plan.relations.names),
        "cells": len(plan.relations),
        "guarantee": "none",
    }


def _make(task: Task, request: SuppressedRequest) -> str:
    """Suppress cells, record the release, write its cells, and return its facts."""
    services = task.services
    dataset = services.datasets.get(request.dataset)
    task.progress.step(0.1, "reading and searching")
    made = _plan(dataset, request).run(services.engine(dataset, request.purpose))
    cells = finite(made.to_arrow())
    warnings = record(
        services,
        dataset,
        made.relations.names,
        cells,
        made.recipe,
        task.job.request["recipient"],
        kind="suppressed",
    )
    task.progress.step(0.9, "writing")
    write_rows(cells, rows_of(services, task.job.id), ANONYMIZED_ROWS)
    provenance = Provenance(recipe=made.recipe, simulated=False, dataset=dataset.name)
    return json.dumps(made.as_dict() | {"warnings": list(warnings), "provenance": provenance.as_dict()})


def _state(services: Services, job: Job) -> Statement:
    return state_unpaid(services, job, "cells were suppressed and the rest is exact, which is not differential privacy")


SUPPRESSED = ReleaseKind(
    name="suppressed",
    job="suppress",
    summary="Release tables with suppressed cells",
    plan_summary="Cells of tables before some are suppressed",
    request=SuppressedRequest,
    planned=SuppressedPlan,
    plan=_plan,
    show=_show,
    make=_make,
    paid=False,
    asker="recipient",
    roles=("steward",),
    info=SuppressedInfo,
    state=_state,
    command="suppress",
)

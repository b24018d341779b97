"""Masked rows of a dataset, for stewards: made by a job, kept as a file, stated without differential privacy."""

from __future__ import annotations

import json
from typing import Any

from tacita.anonymize.masking.mask import MaskPlan
from tacita.noise import SecureSource
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
from tacita.wire import MaskedInfo, MaskedPlan, MaskedRequest

__all__ = ["MASKED"]

_REASON = "rows of real people were masked, and the account was not charged"


def _plan(dataset: Dataset, body: MaskedRequest) -> MaskPlan:
    return body.recipe().prepare(dataset.domain)


def _show(_services: Services, _dataset: Dataset, plan: MaskPlan, _body: MaskedRequest) -> dict[str, Any]:
    return {
        "recipe": plan.recipe.as_dict() | {"mask": [step.as_dict() for step in plan.steps]},
        "attributes": list(plan.leaving),
        "steps": [step.step.replace("_", " ") for step in plan.steps],
        "guarantee": "local" if plan.is_local else "none",
        "warnings": list(plan.warnings),
    }


def _make(task: Task, request: MaskedRequest) -> str:
    """Mask the rows, record the release, and write its rows; the result of the job describes them."""
    dataset = task.services.datasets.get(request.dataset)
    task.progress.step(0.1, "reading and masking")
    made = _plan(dataset, request).run(task.services.engine(dataset, request.purpose), SecureSource())
    warnings = record(
        task.services,
        dataset,
        made.rows.column_names,
        made.rows,
        made.recipe,
        task.job.request["recipient"],
        kind="masked",
    )
    task.progress.step(0.9, "writing")
    write_rows(made.rows, rows_of(task.services, task.job.id), ANONYMIZED_ROWS)
    provenance = Provenance(recipe=made.recipe, simulated=made.simulated, dataset=dataset.name)
    facts = made.as_dict() | {"warnings": [*made.warnings, *warnings], "provenance": provenance.as_dict()}
    return json.dumps(facts)


def _state(services: Services, job: Job) -> Statement:
    return state_unpaid(services, job, _REASON)


MASKED = ReleaseKind(
    name="masked",
    job="mask",
    summary="Release masked rows",
    plan_summary="Columns and steps of masked rows",
    request=MaskedRequest,
    planned=MaskedPlan,
    plan=_plan,
    show=_show,
    make=_make,
    asker="recipient",
    roles=("steward",),
    info=MaskedInfo,
    state=_state,
    command="mask",
)

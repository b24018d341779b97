"""Anonymized releases: made by a job, kept as a file, fetched in pieces."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from tacita.anonymize.anonymize import AnonymizationPlan, Anonymized
from tacita.errors import DataError, SourceUnavailable
from tacita.report.release_log import Released, concerns, digest_of, digest_rows
from tacita.report.statement import Statement
from tacita.server.auth.tokens import Token
from tacita.server.data.datasets import Dataset
from tacita.server.data.policies import Policy
from tacita.server.jobs.jobs import Job, Task
from tacita.server.releasing.answers import ANONYMIZED_ROWS
from tacita.server.releasing.files import rows_of, write_rows
from tacita.server.releasing.kind import ReleaseKind, dataset_of
from tacita.server.releasing.unpaid import state_unpaid
from tacita.server.services import Services
from tacita.tables.release import Provenance
from tacita.wire import AnonymizedInfo, AnonymizedPlan, AnonymizedRequest

__all__ = ["ANONYMIZED", "make_anonymized", "record"]


def make_anonymized(
    services: Services,
    dataset: Dataset,
    *,
    recipient: str,
    purpose: str = "release",
    columns: Sequence[str] | None = None,
    **asked: Any,
) -> tuple[Anonymized, tuple[str, ...]]:
    """Run a recipe that the dataset's policy allows, record the release, and return warnings on possible joins.

    Classes are made over all quasi-identifiers, whichever columns are chosen. So two buyers with different columns
    cannot learn more together than one buyer with all columns. Errors of the source are raised without their details:
    these are for the owner, and the caller is a buyer.
    """
    policy = services.policies.get(dataset.name)
    chosen, recipe = policy.chosen(columns), policy.recipe(**asked)
    try:
        made = recipe.prepare(dataset.domain).run(services.engine(dataset, purpose))
    except (SourceUnavailable, DataError) as error:
        hint = "Ask the steward to check the source"
        rule = "the data of this dataset cannot be read now"
        raise type(error)(rule, field="dataset", value=dataset.name, hint=hint) from error
    classes = made.rows.select(policy.quasi)
    warnings = record(services, dataset, chosen, classes, made.recipe, recipient, same_classes=not policy.several)
    if chosen == policy.columns:
        return made, warnings
    rows = made.rows.select(chosen)  # sorted anew: the old order followed columns that are not released
    return replace(made, rows=rows.sort_by([(name, "ascending") for name in chosen])), warnings


def record(
    services: Services,
    dataset: Dataset,
    leaving: Sequence[str],
    classes: pa.Table,
    recipe: Any,
    recipient: str,
    *,
    kind: str = "k-anonymous",
    same_classes: bool = False,
) -> tuple[str, ...]:
    """Record a release before it is sent, and warn of earlier releases that it could be joined with.

    The warnings name no other recipient.
    """
    entry = Released(
        dataset=dataset.name,
        kind=kind,
        recipe=digest_of(recipe),
        attributes=tuple(leaving),
        classes=digest_rows(classes),
        recipient=recipient,
    )
    earlier = services.release_log.record(entry, same_classes=same_classes)
    # only the owner may know who else bought what
    anonymous = [replace(old, recipient=old.recipient if old.recipient == recipient else "someone") for old in earlier]
    return concerns(entry, anonymous)


def _state(services: Services, job: Job) -> Statement:
    """Make a statement with the conditions that were asked for; the rows were recounted to check them."""
    known = json.loads(job.result or "{}")
    trees = known["recipe"].get("trees")
    asked = ", ".join(f"{name} {value}" for name, value in known["asked"].items() if value is not None)
    provenance = Provenance(
        recipe={"recipe": "anonymized", "asked": known["asked"], "columns": known["columns"]}
        | ({"hierarchies": trees} if trees else {}),
        simulated=False,
        dataset=str(job.request["dataset"]),
        created=job.created.isoformat(timespec="seconds"),
    )
    reason = f"rows of real people were made alike ({asked}), which is not differential privacy"
    return state_unpaid(services, job, reason, provenance)


def _make(task: Task, request: AnonymizedRequest) -> str:
    """Make the rows and store them; the result of the job describes them."""
    dataset = task.services.datasets.get(request.dataset)
    task.progress.step(0.1, "reading and cutting")
    made, warnings = make_anonymized(
        task.services,
        dataset,
        recipient=task.job.request["recipient"],
        purpose=request.purpose,
        columns=request.columns,
        **request.asked(),
    )
    task.progress.step(0.9, "writing")
    write_rows(made.rows, rows_of(task.services, task.job.id), ANONYMIZED_ROWS)
    return json.dumps(made.as_dict() | {"warnings": [*made.warnings, *warnings]})


def _find(services: Services, token: Token, body: AnonymizedRequest) -> tuple[Dataset, Policy]:
    return dataset_of(services, token, body.dataset), services.policies.get(body.dataset)


def _plan(found: tuple[Dataset, Policy], body: AnonymizedRequest) -> AnonymizationPlan:
    dataset, policy = found
    policy.chosen(body.columns)
    plan: AnonymizationPlan = policy.recipe(**body.asked()).prepare(dataset.domain)
    return plan


def _show(
    _services: Services, found: tuple[Dataset, Policy], plan: AnonymizationPlan, body: AnonymizedRequest
) -> dict[str, Any]:
    columns, asked = found[1].chosen(body.columns), plan.recipe.conditions
    return {
        "columns": list(columns),
        "generalised": [name for name in columns if name in plan.quasi],
        "conditions": asked.as_dict(),
        "warnings": list(asked.concerns(name for name in columns if name in plan.sensitive)),
    }


ANONYMIZED = ReleaseKind(
    name="anonymized",
    job="anonymize",
    summary="Release anonymized rows",
    plan_summary="Columns and criteria of anonymized rows",
    request=AnonymizedRequest,
    planned=AnonymizedPlan,
    find=_find,
    plan=_plan,
    show=_show,
    make=_make,
    asker="recipient",
    info=AnonymizedInfo,
    state=_state,
    command="anonymize",
)

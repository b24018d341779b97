"""Rows by multiple imputation: for stewards, because nothing protects them; made by a job, kept as one file."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa

from tacita.errors import InvalidInput
from tacita.noise import SecureSource
from tacita.privacy.event import event_from_dict
from tacita.report.signing import SigningKey
from tacita.report.statement import Statement, state
from tacita.server.auth.tokens import Token
from tacita.server.data.datasets import Dataset
from tacita.server.jobs.jobs import Job, Task
from tacita.server.releasing.anonymized import record
from tacita.server.releasing.answers import IMPUTED_ROWS
from tacita.server.releasing.files import rows_of, write_rows
from tacita.server.releasing.kind import ReleaseKind, dataset_of
from tacita.server.services import Services
from tacita.synthesize.imputation import Impute
from tacita.synthesize.imputation.recipe import ImputationPlan
from tacita.tables.release import Provenance
from tacita.wire import ImputedInfo, ImputedPlan, ImputedRequest

__all__ = ["IMPUTED"]

_NOT_OF_THE_RECIPE = {"dataset", "no_guarantee", "frame", "purpose"}


def _find(services: Services, token: Token, body: ImputedRequest) -> Dataset:
    if (body.frame is None) == (body.kind == "frame"):
        raise InvalidInput("goes with the kind `frame`, and only with it", field="frame", value=body.frame)
    if body.frame == body.dataset:
        raise InvalidInput("must be people who are not in the data", field="frame", value=body.frame)
    if body.frame is not None:
        dataset_of(services, token, body.frame)
    return dataset_of(services, token, body.dataset)


def _plan(dataset: Dataset, body: ImputedRequest) -> ImputationPlan:
    asked = body.model_dump(exclude=_NOT_OF_THE_RECIPE)
    asked |= {"replace": tuple(body.replace), "attributes": body.attributes and tuple(body.attributes)}
    account = dataset.account
    return Impute(**asked).calibrate(dataset.domain, None, unit=account.unit, neighbours=account.neighbours)


def _show(_services: Services, _dataset: Dataset, plan: ImputationPlan, _body: ImputedRequest) -> dict[str, Any]:
    replaced = [mask.attribute for mask in plan.masks]
    return {
        "recipe": plan.recipe.as_dict(),
        "attributes": list(plan.names),
        "replaced": replaced,
        "guarantee": "none",
    }


def _make(task: Task, request: ImputedRequest) -> str:
    """Draw the releases, record them, and write them one after the other, numbered by the column `release`."""
    services = task.services
    dataset = services.datasets.get(request.dataset)
    plan = _plan(dataset, request)
    task.progress.step(0.1, "fitting and drawing")
    frame = None
    if request.frame is not None:
        frame = services.engine(services.datasets.get(request.frame), request.purpose)
    # for the steward of the data, so errors keep their details
    made = plan.run(services.engine(dataset, request.purpose), SecureSource(), frame=frame)
    rows = pa.concat_tables(made.releases)
    known = made.as_dict()
    warnings = record(
        services,
        dataset,
        made.domain.names,
        rows,
        {"kind": made.kind, "replaced": known["replaced"], "releases": known["releases"]},
        task.job.request["recipient"],
        kind="imputed",
    )
    task.progress.step(0.9, "writing")
    numbers = np.repeat(np.arange(1, len(made.releases) + 1), [each.num_rows for each in made.releases])
    write_rows(rows.add_column(0, "release", pa.array(numbers)), rows_of(services, task.job.id), IMPUTED_ROWS)
    shown = {name: value for name, value in known.items() if name not in ("domain", "people")}
    return json.dumps(shown | {"columns": ["release", *made.domain.names], "warnings": list(warnings)})


def _state(services: Services, job: Job) -> Statement:
    """Make a signed statement that claims no guarantee, with the digest of the rows."""
    known = json.loads(job.result or "{}")
    dataset = services.datasets.get(str(job.request["dataset"]))
    return state(
        event=event_from_dict(known["event"]),
        unit=dataset.account.unit,
        neighbours=dataset.account.neighbours,
        provenance=Provenance(**known["provenance"]),
        files={"rows.parquet": rows_of(services, job.id)},
        key=SigningKey.of(services.settings.home),
    )


IMPUTED = ReleaseKind(
    name="imputed",
    job="impute",
    summary="Release rows by multiple imputation, without a guarantee",
    plan_summary="Attributes of imputed rows",
    request=ImputedRequest,
    planned=ImputedPlan,
    find=_find,
    plan=_plan,
    show=_show,
    make=_make,
    asker="recipient",
    roles=("steward",),
    info=ImputedInfo,
    state=_state,
    command="impute",
)

"""Paid answers as releases: every kind of `tacita.recipes`, kept as one JSON document and one table."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from tacita.common.whole import write_text
from tacita.errors import Conflict, InternalError
from tacita.plans import Plan
from tacita.privacy.event import event_from_dict
from tacita.privacy.unit import Neighbours, Unit
from tacita.recipes.kind import RecipeKind
from tacita.recipes.registry import plan_recipe
from tacita.report.signing import SigningKey
from tacita.report.statement import Statement, state
from tacita.server.auth.tokens import Token
from tacita.server.data.datasets import Dataset
from tacita.server.jobs.computing import QUICK_SECONDS
from tacita.server.jobs.jobs import Job, Task
from tacita.server.releasing.answers import DOCUMENT
from tacita.server.releasing.files import model_of, rows_of, write_rows
from tacita.server.releasing.kind import LOSS_SECONDS, ReleaseKind, dataset_of
from tacita.server.releasing.queries import answer, check_cells
from tacita.server.services import Services
from tacita.tables.release import Provenance
from tacita.tables.tabular import finite
from tacita.wire import PaidPlan, PaidRequest

__all__ = ["document_kind"]


def document_kind(recipe: RecipeKind[Any]) -> ReleaseKind[Any]:
    """Return the kind of release that plans, pays, keeps and sends the answers of a recipe."""
    return ReleaseKind(
        name=recipe.name,
        job=recipe.name,
        summary=recipe.summary,
        plan_summary=f"Cost of a release of the kind `{recipe.name}`",
        request=recipe.request,
        planned=PaidPlan,
        plan=partial(plan_recipe, recipe.name),
        make=partial(_make, recipe),
        find=partial(_find, recipe),
        seconds=_seconds,
        paid=True,
        info=recipe.answer,
        document=True,
        state=_state,
        command=f"release {recipe.name}",
    )


def _find(recipe: RecipeKind[Any], services: Services, token: Token, body: PaidRequest) -> Dataset:
    dataset = dataset_of(services, token, body.dataset)
    check_cells(services, recipe.cells(dataset.domain, body), recipe.name)
    return dataset


def _seconds(body: PaidRequest) -> float:
    return LOSS_SECONDS if body.budget.delta else QUICK_SECONDS


def _make(recipe: RecipeKind[Any], task: Task, request: PaidRequest) -> str:
    """Charge, run, write. Every attempt has the job's key, so a killed one is charged once."""
    services, job = task.services, task.job
    dataset = services.datasets.get(request.dataset)
    plan = recipe.plan(dataset, request)
    task.progress.step(0.2, "reading data and adding noise")
    made = answer(
        services,
        dataset,
        plan,
        principal=job.request["principal"],
        purpose=request.purpose,
        key=job.key,
        domain=None if plan.domain.fingerprint == dataset.domain.fingerprint else plan.domain,
    )
    provenance = made.provenance
    if provenance.simulated:
        raise InternalError("a simulated release must not be served", field="release")
    rows = rows_of(services, job.id)
    write_rows(finite(made.to_arrow()), rows, DOCUMENT)
    try:
        write_text(model_of(services, job.id), made.to_json())
    except OSError as error:
        raise Conflict("cannot be written: the disk is full or cannot be reached", field="release") from error
    return json.dumps(_facts(plan, provenance))


def _facts(plan: Plan[Any], provenance: Provenance) -> dict[str, Any]:
    return {
        "event": plan.event.as_dict(),
        "unit": plan.unit.as_dict(),
        "neighbours": str(plan.neighbours),
        "provenance": provenance.as_dict(),
    }


def _state(services: Services, job: Job) -> Statement:
    """Make a statement of the guarantee, signed by this installation, with the digest of the document."""
    known = json.loads(job.result or "{}")
    return state(
        event=event_from_dict(known["event"]),
        unit=Unit.from_dict(known["unit"]),
        neighbours=Neighbours(known["neighbours"]),
        provenance=Provenance(**known["provenance"]),
        delta=job.request["budget"].get("delta") or 0.0,
        guarantee="central differential privacy",
        files={"release.json": model_of(services, job.id)},
        key=SigningKey.of(services.settings.home),
    )

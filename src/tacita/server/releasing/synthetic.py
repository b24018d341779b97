"""Synthetic rows: charged once, made by a job, stored as a file, fetched in pieces."""

from __future__ import annotations

import json

import numpy as np

from tacita.common.whole import write_text
from tacita.domain import Decode
from tacita.errors import Conflict, Forbidden, InternalError, InvalidInput
from tacita.report.signing import SigningKey
from tacita.report.statement import Statement, state
from tacita.server.auth.tokens import Token
from tacita.server.data.datasets import Dataset
from tacita.server.jobs.computing import QUICK_SECONDS
from tacita.server.jobs.jobs import Job, Task
from tacita.server.releasing.files import model_of, rows_of
from tacita.server.releasing.kind import LOSS_SECONDS, ReleaseKind, dataset_of
from tacita.server.releasing.queries import answer
from tacita.server.services import Services
from tacita.synthesize.auto import Synthesize
from tacita.synthesize.kinds import METHODS
from tacita.synthesize.plan import SynthesisPlan
from tacita.synthesize.result import Synthesized
from tacita.synthesize.rules import Rules
from tacita.wire import SyntheticInfo, SyntheticPlan, SyntheticRequest

__all__ = ["SYNTHETIC", "keep_made", "make_synthesis", "statement_of"]


def make_synthesis(dataset: Dataset, request: SyntheticRequest) -> SynthesisPlan:
    """Fix the noise for the unit and neighbours of the dataset's account; reads no data."""
    names = None if request.attributes is None else tuple(request.attributes)
    recipe = Synthesize(
        method=request.method,
        attributes=names,
        people=request.people,
        target=request.target,
        seconds=request.seconds,
        numbers=request.numbers,
        options=request.options,
    )
    account = dataset.account
    budget = request.budget.budget()
    plan = recipe.calibrate(dataset.domain, budget, unit=account.unit, neighbours=account.neighbours)
    if request.rules is not None:
        plan.check_rules(rules_of(request))
    return plan


def rules_of(request: SyntheticRequest) -> Rules:
    """Return the public rules of a request that has some."""
    return Rules.from_dict({"rules": request.rules})


def statement_of(services: Services, job: Job) -> Statement:
    """Make a statement of the guarantee of a release, signed by this installation, with the digest of its rows."""
    made = Synthesized.from_json(model_of(services, job.id).read_text(encoding="utf-8"))
    people, rules = job.request.get("people"), job.request.get("rules") or ()
    return state(
        event=made.event,
        unit=made.unit,
        neighbours=made.neighbours,
        provenance=made.provenance,
        delta=job.request["budget"].get("delta") or 0.0,
        guarantee="central differential privacy",
        public=(
            *(() if people is None else (f"about {people} rows",)),
            *(f"rule: {json.dumps(rule, ensure_ascii=False)}" for rule in rules),
        ),
        files={"rows.parquet": rows_of(services, job.id)},
        key=SigningKey.of(services.settings.home),
    )


def _make(task: Task, request: SyntheticRequest) -> str:
    """Charge, fit, draw, write. Every attempt has the job's key, so a killed one is charged once."""
    services = task.services
    dataset = services.datasets.get(request.dataset)
    plan = make_synthesis(dataset, request)
    task.progress.step(0.1, "measuring and fitting")
    principal = task.job.request["principal"]
    made = answer(services, dataset, plan, principal=principal, purpose=request.purpose, key=task.job.key)
    if made.provenance.simulated:
        raise InternalError("simulated rows must not be served", field="release")
    if request.rules is not None:
        made = made.with_rules(rules_of(request))
    return keep_made(task, made, request.rows, request.decode)


def keep_made(task: Task, made: Synthesized, wanted: int | None, decode: Decode) -> str:
    """Write rows and model where they are kept; what is known of them, for the job's result."""
    rows = wanted if wanted is not None else max(0, round(made.people))
    _write(task, made, rows, decode)
    plain = made.as_dict()
    del plain["model"]
    for name in ("measured", "numbers"):  # as large as the model, whose file has them
        plain.pop(name, None)
    return json.dumps(plain | {"rows": rows, "columns": list(made.domain.names), "statement": made.statement()})


def _write(task: Task, made: Synthesized, rows: int, decode: Decode) -> None:
    target, model = rows_of(task.services, task.job.id), model_of(task.services, task.job.id)

    def report(done: int) -> None:
        task.progress.step(0.5 + 0.5 * done / max(rows, 1), "writing rows")

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        made.write(target, rows, np.random.default_rng(), policy=decode, progress=report)
        write_text(model, made.to_json())
    except (OSError, InvalidInput) as error:
        if isinstance(error, InvalidInput) and error.field != "path":  # not the disk: the request
            raise
        # where it lies is the server's to know
        raise Conflict("cannot be written: the disk is full or cannot be reached", field="release") from error


def _find(services: Services, token: Token, body: SyntheticRequest) -> Dataset:
    dataset = dataset_of(services, token, body.dataset)
    if body.options.get("score", "R") != "R" and token.role not in ("steward", "admin"):
        # these scores need the exact number of rows, and a run fails where a wrong one is stated
        raise Forbidden("needs a steward, who knows how many rows there are", field="options.score", value=token.role)
    return dataset


def _seconds(request: SyntheticRequest) -> float:
    if (request.method == "independent" or request.numbers == "fine") and request.budget.delta:
        return LOSS_SECONDS
    return (request.method in METHODS and METHODS[request.method].plan_seconds) or QUICK_SECONDS


SYNTHETIC = ReleaseKind(
    name="synthetic",
    job="synthesize",
    summary="Release synthetic rows",
    plan_summary="Cost and method of synthetic rows",
    request=SyntheticRequest,
    planned=SyntheticPlan,
    plan=make_synthesis,
    make=_make,
    find=_find,
    seconds=_seconds,
    paid=True,
    info=SyntheticInfo,
    state=statement_of,
    model=Synthesized,
    command="synthesize",
)

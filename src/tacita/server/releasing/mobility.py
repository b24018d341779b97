"""Synthetic tap records: charged once, made by a job, stored as a file with their model, shown as a map of flows."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from tacita.common.whole import write_text
from tacita.errors import Conflict, InternalError, InvalidInput
from tacita.report.signing import SigningKey
from tacita.report.statement import Statement, state
from tacita.server.data.datasets import Dataset
from tacita.server.jobs.jobs import Job, Task
from tacita.server.releasing.files import model_of, rows_of
from tacita.server.releasing.kind import ReleaseKind
from tacita.server.releasing.queries import answer
from tacita.server.services import Services
from tacita.synthesize.mobility.flows import FlowTally
from tacita.synthesize.mobility.plan import MobilityPlan
from tacita.synthesize.mobility.request import MobilityOptions
from tacita.synthesize.mobility.result import SyntheticMobility
from tacita.synthesize.writing import write_file
from tacita.wire import MobilityInfo, MobilityPlanInfo, MobilityRequest

__all__ = ["MOBILITY"]

_FLOWS = 150
"""Flows of the map."""


def _options(request: MobilityRequest) -> MobilityOptions:
    places = None if request.places is None else request.places.model_dump(exclude_none=True)
    return MobilityOptions.from_dict(
        {
            "method": request.method,
            "places": places,
            "columns": request.columns,
            "cards": request.people,
            "wanted": request.cards,
        }
    )


def _plan(dataset: Dataset, request: MobilityRequest) -> MobilityPlan:
    """Fix the noise for the unit and neighbours of the dataset's account; reads no data."""
    account, recipe = dataset.account, _options(request).recipe()
    return recipe.calibrate(dataset.domain, request.budget.budget(), unit=account.unit, neighbours=account.neighbours)


def _make(task: Task, request: MobilityRequest) -> str:
    """Charge, measure, draw, write. Every attempt has the job's key, so a killed one is charged once."""
    services = task.services
    dataset = services.datasets.get(request.dataset)
    task.progress.step(0.1, "measuring and fitting")
    made: SyntheticMobility = answer(
        services,
        dataset,
        _plan(dataset, request),
        principal=task.job.request["principal"],
        purpose=request.purpose,
        key=task.job.key,
    )
    if made.provenance.simulated:
        raise InternalError("simulated records must not be served", field="release")
    cards = _options(request).rows(made)
    tally = _write(task, made, cards)
    plain = {name: value for name, value in made.as_dict().items() if name not in ("model", "schema")}
    known = {"cards": cards, "rows": tally.rows, "statement": made.statement()}
    names = [name for name in made.domain.names if name == made.schema.card or name in made.schema.names]
    return json.dumps(plain | known | {"columns": names} | _map(tally))


def _write(task: Task, made: SyntheticMobility, cards: int) -> FlowTally:
    target, model = rows_of(task.services, task.job.id), model_of(task.services, task.job.id)
    tally = FlowTally(made.schema)

    def report(done: int) -> None:
        task.progress.step(min(0.99, 0.5 + 0.05 * done / max(cards, 1)), "writing records")

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_file(target, tally.watch(made.batches(cards, np.random.default_rng())), report)
        write_text(model, made.to_json())
    except (OSError, InvalidInput) as error:
        if isinstance(error, InvalidInput) and error.field != "path":  # not the disk: the request
            raise
        # where it lies is the server's to know
        raise Conflict("cannot be written: the disk is full or cannot be reached", field="release") from error
    return tally


def _map(tally: FlowTally) -> dict[str, Any]:
    """Heaviest flows with the places that they join, and trips by hour of day."""
    flows = tally.heaviest(_FLOWS)
    used = sorted({place for origin, destination, _ in flows for place in (origin, destination)})
    index, places = {place: at for at, place in enumerate(used)}, tally.schema.places
    points = [(None, None)] * len(places) if places.points is None else places.points.tolist()
    return {
        "places": [{"name": places.labels[at], "x": points[at][0], "y": points[at][1]} for at in used],
        "flows": [
            {"origin": index[origin], "destination": index[destination], "trips": trips}
            for origin, destination, trips in flows
        ],
        "hours": tally.hours.tolist(),
    }


def _statement(services: Services, job: Job) -> Statement:
    made = SyntheticMobility.from_json(model_of(services, job.id).read_text(encoding="utf-8"))
    request = MobilityRequest.model_validate({k: v for k, v in job.request.items() if k != "principal"})
    return state(
        event=made.event,
        unit=made.unit,
        neighbours=made.neighbours,
        provenance=made.provenance,
        delta=request.budget.delta or 0.0,
        guarantee="central differential privacy",
        public=_options(request).public,
        files={"rows.parquet": rows_of(services, job.id)},
        key=SigningKey.of(services.settings.home),
    )


MOBILITY = ReleaseKind(
    name="mobility",
    job="mobility",
    summary="Release synthetic tap records",
    plan_summary="Cost of synthetic tap records, and the noise of each table",
    request=MobilityRequest,
    planned=MobilityPlanInfo,
    plan=_plan,
    make=_make,
    paid=True,
    info=MobilityInfo,
    state=_statement,
    model=SyntheticMobility,
    command="mobility generate",
)

"""Assessments of releases: made by a job, for the steward of the data, kept as figures and as a page."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tacita.assess.assessment import AssessmentOptions, assess
from tacita.assess.case import Case, read_case
from tacita.assess.compare.page import write_assessment, write_comparison
from tacita.assess.compare.plan import ComparePlan
from tacita.assess.compare.run import compare
from tacita.assess.mobility import ATTACKS, case_of
from tacita.assess.risk.measure import RiskOptions
from tacita.assess.risk.microdata import microdata_risk
from tacita.assess.risk.page import write_risk
from tacita.assess.risk.sample import read_sample
from tacita.assess.sample import SAMPLE, Sampled, sample_rows, sample_table
from tacita.assess.utility.estimates import CombiningKind
from tacita.errors import Conflict, DataError, SourceUnavailable
from tacita.learn.functions.parametric import ParametricModel
from tacita.learn.models import Fitted
from tacita.server.data.datasets import Dataset
from tacita.server.jobs.jobs import Task, register
from tacita.server.releasing.files import model_of, page_of, rows_of
from tacita.server.services import Services
from tacita.synthesize.mobility.reading import read_trips
from tacita.synthesize.mobility.result import SyntheticMobility
from tacita.tables.release import Releases
from tacita.wire import AssessmentRequest, ComparisonRequest, DisclosureRequest

__all__: list[str] = []  # importing it is what adds its kinds of job


def _rows(services: Services, dataset: Dataset, names: list[str]) -> pa.Table:
    try:
        batches = list(services.engine(dataset, "assessment").rows(names))
    except (SourceUnavailable, DataError) as error:
        rule = "the data of this dataset cannot be read now"
        raise type(error)(rule, field="dataset", value=dataset.name, hint="Check the source") from error
    return pa.Table.from_batches(batches)


def _released(services: Services, id: str) -> list[pa.Table]:
    """Return the rows of a release; of imputed rows, one table for each release."""
    path = rows_of(services, id)
    if not path.is_file():
        raise Conflict("was deleted, or is not done", field="release", value=id)
    rows = pq.read_table(path)
    if services.jobs.get(id).kind != "impute":
        return [rows]
    numbers = rows.column("release")
    parts = (rows.filter(pc.equal(numbers, number)) for number in pc.unique(numbers))
    return [part.drop_columns(["release"]) for part in parts]


def _kind_of(services: Services, id: str | None) -> CombiningKind:
    """Return how several releases are combined: imputed rows by the rule of their kind."""
    job = None if id is None else services.jobs.get(id)
    if job is None or job.kind != "impute":
        return "plain"
    return "partial" if json.loads(job.result or "{}").get("kind") == "partial" else "full"


def _model(services: Services, id: str) -> Fitted:
    registry = services.functions.registry
    found = registry.model(registry.get(id))
    if not isinstance(found, ParametricModel):
        raise Conflict("is a function, not a fitted model", field="model", value=id)
    return found.fitted


def _sampled(services: Services, dataset: Dataset, names: list[str], seed: int, what: str) -> Sampled:
    try:
        return sample_rows(services.engine(dataset, "assessment"), names, SAMPLE, seed, what)
    except (SourceUnavailable, DataError) as error:
        rule = "the data of this dataset cannot be read now"
        raise type(error)(rule, field="dataset", value=dataset.name, hint="Check the source") from error


def _case_of_rows(services: Services, dataset: Dataset, request: AssessmentRequest) -> tuple[Case, list[Sampled]]:
    """Return real, released and control rows, with the columns that all of them have, and how they were sampled."""
    ids = (*([request.release] if request.release else []), *request.others)
    made = [table for id in ids for table in _released(services, id)]
    names = [name for name in dataset.domain.countable if all(name in each.column_names for each in made)]
    samples = [_sampled(services, dataset, names, request.seed, "real rows")]
    samples += [sample_table(each, SAMPLE, request.seed + 1, "released rows") for each in made]
    real, *released = [each.rows for each in samples]
    control = None
    if request.control is not None:
        others = services.datasets.get(request.control)
        samples.append(_sampled(services, others, names, request.seed + 2, "rows held back"))
        control = samples[-1].rows
    case = read_case(
        dataset.domain,
        real=real,
        released=released,
        control=control,
        models=[] if request.model is None else [_model(services, request.model)],
        noisy=[each for given in request.tables for each in Releases.from_dict(given).values()],
        names=names,
        rng=np.random.default_rng(request.seed),
    )
    return case, samples


def _case_of_taps(services: Services, dataset: Dataset, request: AssessmentRequest) -> Case:
    """Return the trips of real, released and control cards, read with the schema of the release."""
    (released,) = _released(services, str(request.release))
    model = SyntheticMobility.from_json(model_of(services, str(request.release)).read_text(encoding="utf-8"))
    schema, others = model.schema, request.control
    names = [schema.card, *schema.names]
    real = read_trips(_rows(services, dataset, names), schema).complete()
    control = None
    if others is not None:
        control = read_trips(_rows(services, services.datasets.get(others), names), schema).complete()
    return case_of(schema, real, read_trips(released, schema).complete(), control)


@register("assess")
def _assess(task: Task) -> str:
    """Attack a release with the rows that it was made from. Charges nothing: only the steward sees the results."""
    request = AssessmentRequest.model_validate(dict(task.job.request))
    services = task.services
    named = request.dataset or services.jobs.get(str(request.release)).request["dataset"]  # older jobs do not name it
    dataset = services.datasets.get(str(named))
    task.progress.step(0.05, "reading")
    of_taps = request.release is not None and services.jobs.get(request.release).kind == "mobility"
    samples: list[Sampled] = []
    if of_taps:
        case = _case_of_taps(services, dataset, request)
    else:
        case, samples = _case_of_rows(services, dataset, request)
    options = AssessmentOptions(
        attempts=request.attempts,
        secrets=tuple(request.secrets or ()),
        target=request.target,
        group=request.group,
        attacks=tuple(request.attacks or (ATTACKS if of_taps else ())),
        kind="plain" if request.others else _kind_of(services, request.release),
    )

    def report(share: float, what: str) -> None:
        task.progress.step(0.1 + 0.85 * share, what)

    found = assess(case, np.random.default_rng(request.seed), options=options, samples=samples, progress=report)
    page = page_of(services, task.job.id)
    page.parent.mkdir(parents=True, exist_ok=True)
    kind = "a model or tables" if request.release is None else f"{services.jobs.get(request.release).kind} release"
    write_assessment(page, found, f"{kind} of {dataset.name}")
    plain: dict[str, Any] = found.as_dict() | {"release": request.release, "dataset": dataset.name}
    return json.dumps(plain, allow_nan=False)


@register("compare")
def _compare(task: Task) -> str:
    """Make releases in simulation and assess them. Charges nothing: only the steward sees the results."""
    request = ComparisonRequest.model_validate(dict(task.job.request))
    services = task.services
    dataset = services.datasets.get(request.dataset)
    plan = ComparePlan.from_dict(request.plan())

    def report(share: float, what: str) -> None:
        task.progress.step(min(0.99, share), what)

    try:
        found = compare(plan, source=(dataset.domain, services.engine(dataset, "assessment")), progress=report)
    except (SourceUnavailable, DataError) as error:
        rule = "the data of this dataset cannot be read now"
        raise type(error)(rule, field="dataset", value=dataset.name, hint="Check the source") from error
    page = page_of(services, task.job.id)
    page.parent.mkdir(parents=True, exist_ok=True)
    write_comparison(page, found)
    return json.dumps(found.as_dict() | {"dataset": dataset.name}, allow_nan=False)


@register("disclosure")
def _disclosure(task: Task) -> str:
    """Measure how well records are found by their quasi-identifiers. Charges nothing: only the steward sees it."""
    request = DisclosureRequest.model_validate(dict(task.job.request))
    services = task.services
    dataset = services.datasets.get(request.dataset)
    known = [each.name for each in dataset.domain.attributes if each.role == "quasi-identifier"]
    quasi = list(request.qi if request.qi is not None else known)
    more = [name for name in (request.weight, request.household) if name is not None]
    task.progress.step(0.05, "reading")
    population = None
    if request.population is not None:
        population = _rows(services, services.datasets.get(request.population), quasi)
    sample = read_sample(
        dataset.domain,
        _rows(services, dataset, list(dict.fromkeys([*quasi, *more]))),
        quasi=quasi,
        weight=request.weight,
        household=request.household,
        population=population,
        people=request.people,
    )
    task.progress.step(0.3, "measuring")
    options = RiskOptions(
        threshold=request.threshold, size=request.size, fraction=request.fraction, measures=tuple(request.measures)
    )
    found = microdata_risk(sample, options)
    page = page_of(services, task.job.id)
    page.parent.mkdir(parents=True, exist_ok=True)
    write_risk(page, found, f"{found.rows:,} records of {dataset.name}")
    return json.dumps(found.as_dict() | {"dataset": dataset.name}, allow_nan=False)

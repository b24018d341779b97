"""Synthetic headlines: a generator is trained privately by a job, and headlines of each topic are drawn from it."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

from tacita.common.whole import write_text
from tacita.domain import Identifier
from tacita.errors import Conflict, InternalError, InvalidInput
from tacita.report.signing import SigningKey
from tacita.report.statement import Statement, state
from tacita.server.data.datasets import Dataset
from tacita.server.jobs.jobs import Job, Task
from tacita.server.releasing.files import model_of, rows_of
from tacita.server.releasing.kind import ReleaseKind
from tacita.server.releasing.queries import answer
from tacita.server.services import Services
from tacita.synthesize.text.corpus import HeadlineSource
from tacita.synthesize.text.headline_files import read_rows
from tacita.synthesize.text.layers import KINDS
from tacita.synthesize.text.recipe import HeadlinePlan, HeadlineRecipe
from tacita.synthesize.text.released import HeadlineGenerator
from tacita.synthesize.text.tagger import pattern_tagger
from tacita.synthesize.text.vocabulary import Vocabulary
from tacita.synthesize.writing import write_file
from tacita.wire import HeadlinesInfo, HeadlinesPlanInfo, HeadlinesRequest

__all__ = ["HEADLINES"]

_PLAN_SECONDS = 10.0
_COLUMNS = ("topic", "text")


def _vocabulary(request: HeadlinesRequest) -> Vocabulary:
    return Vocabulary(words=tuple(request.vocabulary.words), topics=tuple(request.vocabulary.topics), public=True)


def _plan(dataset: Dataset, request: HeadlinesRequest) -> HeadlinePlan:
    """Fix the noise of the steps for the account of the dataset; reads no headlines."""
    domain = dataset.domain
    if not isinstance(domain[request.text_column], Identifier):
        hint = "Declare it in the schema: {name: text, kind: identifier}"
        raise InvalidInput("must be a column of kind identifier", field="text_column", hint=hint)
    if domain[request.topic_column].kind not in ("categorical", "ordinal"):
        raise InvalidInput("must be a column with levels", field="topic_column", value=request.topic_column)
    recipe = HeadlineRecipe(
        kind=request.kind, hidden=request.hidden, steps=request.steps, sample=request.sample, people=request.people
    )
    account = dataset.account
    return recipe.calibrate(
        _vocabulary(request), request.budget.budget(), unit=account.unit, neighbours=account.neighbours
    )


def _make(task: Task, request: HeadlinesRequest) -> str:
    """Charge, train, draw, write. Every attempt has the job's key, so a killed one is charged once."""
    services, words = task.services, _vocabulary(request)
    dataset = services.datasets.get(request.dataset)
    task.progress.step(0.1, "planning and training")
    made: HeadlineGenerator = answer(
        services,
        dataset,
        _plan(dataset, request),  # type: ignore[arg-type]
        principal=task.job.request["principal"],
        purpose=request.purpose,
        key=task.job.key,
        view=lambda engine: HeadlineSource.reading(
            lambda: read_rows(engine, request.text_column, request.topic_column),
            words,
            tagger=pattern_tagger() if KINDS[request.kind].tags else None,
        ),
    )
    if made.provenance.simulated:
        raise InternalError("a simulated generator must not be served", field="release")
    task.progress.step(0.8, "drawing headlines")
    rows = _draw(made, words, request.count)
    _write(task, made, rows)
    plain = {name: value for name, value in made.as_dict().items() if name not in ("weights", "vocabulary")}
    known = {"statement": made.statement(), "guarantee": made.guarantee, "rows": rows.num_rows}
    return json.dumps(plain | known | {"columns": list(_COLUMNS)})


def _draw(made: HeadlineGenerator, words: Vocabulary, count: int) -> pa.Table:
    rng = np.random.default_rng()
    drawn = [(topic, " ".join(each.words)) for topic in words.topics for each in made.generate(count, topic, rng)]
    columns = zip(*drawn, strict=True) if drawn else ((), ())
    mark = {"synthetic": True, "by": "post-processing", "event": made.event.as_dict()}
    table = pa.table({name: pa.array(each, pa.string()) for name, each in zip(_COLUMNS, columns, strict=True)})
    return table.replace_schema_metadata({"tacita": json.dumps(mark)})


def _write(task: Task, made: HeadlineGenerator, rows: pa.Table) -> None:
    target = rows_of(task.services, task.job.id)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_file(target, iter([rows]))
        write_text(model_of(task.services, task.job.id), made.to_json())
    except (OSError, InvalidInput) as error:
        # where it lies is the server's to know
        raise Conflict("cannot be written: the disk is full or cannot be reached", field="release") from error


def _statement(services: Services, job: Job) -> Statement:
    made = HeadlineGenerator.from_json(model_of(services, job.id).read_text(encoding="utf-8"))
    return state(
        event=made.event,
        unit=made.unit,
        neighbours=made.neighbours,
        provenance=made.provenance,
        delta=job.request["budget"].get("delta") or 0.0,
        guarantee="central differential privacy",
        public=("the vocabulary of words and topics", f"about {job.request['people']} headlines"),
        files={"rows.parquet": rows_of(services, job.id)},
        key=SigningKey.of(services.settings.home),
    )


HEADLINES = ReleaseKind(
    name="headlines",
    job="headlines",
    summary="Release synthetic headlines and their generator",
    plan_summary="Cost of a generator of headlines",
    request=HeadlinesRequest,
    planned=HeadlinesPlanInfo,
    plan=_plan,
    make=_make,
    seconds=lambda _: _PLAN_SECONDS,
    paid=True,
    info=HeadlinesInfo,
    state=_statement,
    model=HeadlineGenerator,
    command="text train",
)

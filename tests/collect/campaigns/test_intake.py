from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacita.collect.campaigns import Campaigns, intake
from tacita.collect.campaigns.campaign import Form
from tacita.collect.channels.wiring import answer_width
from tacita.collect.device.question import Question
from tacita.collect.planning.plan import plan_collection
from tacita.domain import Categorical, Domain
from tacita.errors import TacitaError
from tacita.store import Database
from tacita.tables.workload import Workload

# -- the decoders against arbitrary input ----------------------------------------------------------------------------

QUICK = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40) | st.binary(max_size=40),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=12), inner, max_size=6),
    max_leaves=15,
)


@pytest.fixture(scope="module")
def form(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Form]:
    """A campaign whose questions have channels of several kinds."""
    database = Database(f"sqlite:///{tmp_path_factory.mktemp('intake')}/state.db")
    levels = {"few": 2, "some": 40, "many": 3000}
    domain = Domain(
        attributes=[Categorical(name=name, levels=[f"v{i}" for i in range(size)]) for name, size in levels.items()]
    )
    design = plan_collection(domain, Workload.of(*[(name,) for name in levels]), respondents=1000, epsilon=1.0)
    yield Campaigns(database).create(design, title="Wire").form
    database.close()


def valid(form: Form, question: int, data: st.DataObject) -> dict[str, Any]:
    """A report that counts, with one member changed or not."""
    asked = form.questions[question]
    report = {
        "wire": 1,
        "campaign": form.id,
        "question": asked.question,
        "report": data.draw(st.binary(min_size=16, max_size=16)).hex(),
        "answer": data.draw(st.integers(0, 3) | st.lists(st.integers(0, 3000), max_size=3) | plain),
    }
    changed = data.draw(st.sampled_from([None, *report, "extra"]))
    return report if changed is None else report | {changed: data.draw(plain)}


@QUICK
@given(data=st.data())
def test_reports_are_counted_or_refused_and_nothing_else(form: Form, data: st.DataObject) -> None:
    numbers = st.integers(0, len(form.questions) - 1)
    reports = [valid(form, data.draw(numbers), data) for _ in range(data.draw(st.integers(0, 3)))]
    batch = data.draw(st.just(reports) | st.lists(plain, max_size=3))
    try:
        parsed = intake.parsed_batch(form, batch)
    except TacitaError:
        return
    assert len(parsed.ids) == len(batch) >= 1
    assert all(len(id) == 16 for id in parsed.ids)
    assert sum(len(part.positions) for part in parsed.parts) == len(batch)
    for part in parsed.parts:
        part.channel.tally(part.reports)  # what was accepted can be counted


@QUICK
@given(data=st.data())
def test_packed_batches_are_counted_or_refused_and_nothing_else(form: Form, data: st.DataObject) -> None:
    asked = form.questions[data.draw(st.integers(0, len(form.questions) - 1))]
    head = intake.MAGIC + bytes([len(asked.question)]) + asked.question.encode()
    width = 16 + answer_width(asked.channel, asked.cells)
    whole = st.integers(0, 4).flatmap(lambda n: st.binary(min_size=n * width, max_size=n * width))
    low = st.integers(0, 4).map(lambda n: (b"\1" * 16 + b"\0" * (width - 16)) * n)
    body = data.draw(
        st.binary(max_size=80) | st.tuples(st.just(head), whole | low | st.binary(max_size=80)).map(b"".join)
    )
    try:
        parsed = intake.packed_batch(form, body)
    except TacitaError:
        return
    for part in parsed.parts:
        part.channel.tally(part.reports)


@QUICK
@given(data=st.data())
def test_questions_are_read_or_refused_and_nothing_else(form: Form, data: st.DataObject) -> None:
    sent = form.questions[data.draw(st.integers(0, len(form.questions) - 1))].to_dict()
    path = data.draw(st.sampled_from([*sent, *(("channel", key) for key in sent["channel"]), None]))
    if isinstance(path, tuple):
        sent["channel"] = sent["channel"] | {path[1]: data.draw(plain)}
    elif path is not None:
        sent[path] = data.draw(plain)
    with contextlib.suppress(TacitaError):
        Question.from_dict(data.draw(st.just(sent) | plain))

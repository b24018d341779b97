import copy
import json

import numpy as np
import pytest

from tacita.errors import TacitaError
from tacita.noise import DiscreteLaplace
from tacita.privacy.event import Pure
from tacita.synthesize.federated import Schedule
from tacita.synthesize.federated.exchange import LARGEST, Joined, Measured, Reply, Request, Step, Vote

VOTE = Step(kind="vote", placed=(("a", ()), ("b", ("a",))), most_cells=50)
STEPS = {"join": Step(kind="join"), "vote": VOTE, "tables": Step(kind="tables"), "model": Step(kind="model")}


@pytest.fixture
def contents(make_terms, domain, engine):
    from tacita.noise import SeededSource

    schedule = Schedule.of(make_terms(method="SL3"), domain)
    return {
        "join": Joined(terms="0" * 16),
        "vote": Vote(child="c", parents=("a",), event=Pure(epsilon=0.1), simulated=True),
        "tables": Measured(
            keys=(("a",), ("a", "b")),
            cells=(np.array([1, -2, 3]), np.arange(9).reshape(3, 3)),
            law=DiscreteLaplace.at_least(4),
            event=Pure(epsilon=0.5),
            simulated=False,
        ),
        "model": schedule.plan(STEPS["model"]).run(engine, SeededSource(1)),
    }


def sent(kind, contents):
    reply = Reply(run="first", step=STEPS[kind].name, holder="north", content=contents[kind])
    return json.loads(json.dumps(reply.as_dict(), allow_nan=False))


def read(kind, data):
    return Reply.from_dict(data, run="first", step=STEPS[kind], holder="north")


@pytest.mark.parametrize("kind", STEPS)
def test_replies_travel(kind, contents):
    data = sent(kind, contents)
    assert read(kind, data).as_dict() == data


def test_requests_travel(make_terms):
    request = Request(terms=make_terms(), step=VOTE)
    assert Request.from_dict(json.loads(json.dumps(request.as_dict()))) == request


def test_steps_have_names_by_which_they_are_answered_once():
    assert [step.name for step in STEPS.values()] == ["join", "vote-2", "tables", "model"]
    assert Step(kind="vote", placed=VOTE.placed, most_cells=1).name == VOTE.name


@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.parametrize(
    ("member", "value"), [("run", "second"), ("step", "vote-3"), ("holder", "south"), ("tacita", "federated/2")]
)
def test_a_reply_to_something_else_is_refused(kind, member, value, contents):
    with pytest.raises(TacitaError) as refused:
        read(kind, sent(kind, contents) | {member: value})
    assert refused.value.field == member


@pytest.mark.parametrize("cell", [1.0, 1.5, True, "1", None, LARGEST + 1, -LARGEST - 1, [1], float("nan")])
def test_cells_are_integers_that_a_count_could_be(cell, contents):
    data = sent("tables", contents)
    data["content"]["tables"][0]["cells"][1] = cell
    with pytest.raises(TacitaError, match="cells"):
        read("tables", data)


def paths(data, before=()):
    """The place of everything in nested plain data."""
    yield before
    children = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in children:
        yield from paths(value, (*before, key))


def changed(data, path, value):
    if not path:
        return value
    made = copy.deepcopy(data)
    at = made
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return made


@pytest.mark.parametrize("kind", ["join", "vote", "tables"])
def test_whatever_is_spoilt_is_refused_and_nothing_breaks(kind, contents):
    """Every part of a reply replaced by nonsense: it is read as something of the right types, or refused with words."""
    data, refused = sent(kind, contents), 0
    for path in paths(data):
        for value in (None, [], {}, "x", -1, 10**30, 1.5, float("nan"), [[]], {"kind": "x"}):
            try:
                read(kind, changed(data, path, value))
            except TacitaError:
                refused += 1
    assert refused > 9 * len(list(paths(data))), "nearly everything that is spoilt must be refused"


def test_a_request_that_is_spoilt_is_refused_and_nothing_breaks(make_terms):
    data = Request(terms=make_terms(), step=VOTE).as_dict()
    for path in paths(data):
        for value in (None, [], {}, "", 10**400, float("inf"), [["a"]], [["a", "b"]]):
            try:
                Request.from_dict(changed(data, path, value))
            except TacitaError:
                continue


@pytest.mark.parametrize("people", [float("nan"), float("inf"), 2.0 * LARGEST, "many", None])
def test_a_model_of_absurdly_many_is_refused(people, contents):
    data = sent("model", contents)
    data["content"]["people"] = people
    with pytest.raises(TacitaError, match="content"):
        read("model", data)


@pytest.mark.parametrize("spoil", ["model", "event", "unit", "provenance"])
def test_half_a_model_is_refused(spoil, contents):
    data = sent("model", contents)
    del data["content"][spoil]
    with pytest.raises(TacitaError):
        read("model", data)

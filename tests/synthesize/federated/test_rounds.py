"""Holders that drop out, are late, refuse, or talk nonsense."""

import queue
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from tacita.domain import Boolean, Domain
from tacita.errors import InvalidInput, SourceUnavailable
from tacita.privacy.accountant import pure_epsilon
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours
from tacita.synthesize.federated import Party, federate, rounds

ADD = Neighbours.ADD_REMOVE
FOUR = pytest.approx(4, rel=1e-9)  # choices are rounded down to ratios that a sampler can multiply
WIDE = 300.0  # seconds; only a holder that never answers waits for it


def run(terms, domain, sites, deadline=WIDE):
    parties = [getattr(site, "party", site) for site in sites]
    return federate(terms, domain, parties, deadline=deadline, rng=np.random.default_rng(0))


class Sometimes:
    """A holder that is out of reach in some steps."""

    def __init__(self, site, steps):
        self.site, self.steps = site, steps

    @property
    def party(self):
        return Party(name=self.site.name, ask=self.ask)

    def ask(self, message):
        step = message["step"]
        if step["kind"] in self.steps:
            raise SourceUnavailable("the holder cannot be reached", field="url")
        return self.site.ask(message)


@pytest.mark.parametrize("steps", [("join",), ("count",), ("vote",), ("tables",), ("join", "count", "vote", "tables")])
def test_holders_may_drop_out_and_come_back(steps, sites, make_terms, domain):
    result = run(make_terms(quorum=4), domain, [*sites[:4], Sometimes(sites[4], steps)])
    expected = 10_000 if "tables" not in steps else 8_000
    assert result.people == pytest.approx(expected, abs=5 * result.people_std)
    assert any("h4" in note and "cannot be reached" in note for note in result.notes)
    if steps == ("vote",):
        assert 0 < sites[4].spent < 4, "what it answered is spent, and no more"
    assert float(pure_epsilon(result.event, ADD)) == FOUR


@pytest.mark.parametrize(("method", "step"), [("SL1", "tables"), ("SL2", "vote"), ("SL2", "tables"), ("SL3", "model")])
def test_fewer_than_the_quorum_end_the_run(method, step, sites, make_terms, domain):
    away = [Sometimes(site, (step,)) for site in sites[3:]]
    with pytest.raises(SourceUnavailable, match="3 of 5") as ended:
        run(make_terms(method=method, quorum=4), domain, [*sites[:3], *away])
    assert "spent" in ended.value.hint
    assert "h3" in ended.value.hint


def test_nothing_is_spent_when_too_few_join(sites, make_terms, domain, make_site, chain):
    poor = [make_site(f"p{at}", chain(100), budget=Budget.pure(1.0)) for at in range(2)]
    together = [*sites[:3], *poor]
    with pytest.raises(SourceUnavailable, match="Nothing was spent") as ended:
        run(make_terms(names=tuple(site.name for site in together)), domain, together)
    assert "cannot bear this" in ended.value.hint
    assert {site.spent for site in together} == {0}


def test_late_answers_are_dropped_but_spent(sites, make_terms, domain, monkeypatch):
    """A holder that hangs in one step holds nobody up; it takes part in the next."""
    hangs, free, done = threading.Event(), threading.Event(), threading.Event()

    class Answers(queue.SimpleQueue):
        """The deadline comes as soon as four have answered and the fifth hangs: nobody has to be fast."""

        def __init__(self):
            self.taken = 0

        def get(self, timeout):
            while self.taken >= 4 and self.empty():
                if hangs.is_set():
                    hangs.clear()
                    raise queue.Empty
                time.sleep(0.01)
            self.taken += 1
            return super().get(timeout=timeout)

    monkeypatch.setattr(rounds, "queue", SimpleNamespace(SimpleQueue=Answers, Empty=queue.Empty))

    def slow(message):
        if message["step"]["kind"] == "count":
            hangs.set()
            free.wait(WIDE)
            try:
                return sites[4].ask(message)
            finally:
                done.set()
        return sites[4].ask(message)

    terms = make_terms(quorum=4)
    parties = [*[site.party for site in sites[:4]], Party(name="h4", ask=slow)]
    result = federate(terms, domain, parties, deadline=WIDE, rng=np.random.default_rng(0))
    assert any("Step count: no answer of h4 was used (late)." in note for note in result.notes)
    before = sites[4].spent
    free.set()
    assert done.wait(WIDE)
    assert sites[4].spent > before, "a late answer is spent all the same"
    assert float(sites[4].spent) == FOUR


@pytest.mark.parametrize(
    "spoil",
    [
        lambda reply: reply | {"run": "other"},
        lambda reply: reply | {"step": "vote-9"},
        lambda reply: reply | {"tacita": "federated/9"},
        lambda reply: reply | {"extra": 1},
        lambda reply: "nonsense",
        lambda reply: None,
        lambda reply: changed(reply, "tables", lambda tables: tables[:-1]),
        lambda reply: changed(reply, "tables", lambda tables: [{**tables[0], "cells": tables[0]["cells"][1:]}]),
        lambda reply: changed(reply, "tables", lambda tables: [{**tables[0], "cells": [1e300]}, *tables[1:]]),
        lambda reply: changed(reply, "law", lambda law: law | {"parameter": "1/1000"}),
        lambda reply: changed(reply, "event", lambda event: {"kind": "pure", "epsilon": 1e-3}),
        lambda reply: changed(reply, "child", lambda child: "zz"),
        lambda reply: changed(reply, "parents", lambda parents: ["d", "c", "b"]),
    ],
)
def test_nonsense_of_one_holder_is_dropped(spoil, sites, make_terms, domain):
    def broken(message):
        reply = sites[4].holder.answer(message)
        return spoil(reply) if message["step"]["kind"] != "join" else reply

    parties = [*[site.party for site in sites[:4]], Party(name="h4", ask=broken)]
    result = federate(make_terms(quorum=4), domain, parties, deadline=WIDE, rng=np.random.default_rng(0))
    assert any("h4" in note for note in result.notes)
    assert result.people == pytest.approx(8_000, abs=5 * result.people_std)


def changed(reply, member, change):
    content = reply["content"]
    if member not in content:  # another kind of reply: it is left as it is
        return reply
    return reply | {"content": content | {member: change(content[member])}}


def test_a_transport_that_breaks_is_not_the_run(sites, make_terms, domain):
    def broken(message):
        raise RuntimeError("no such thing")

    parties = [*[site.party for site in sites[:4]], Party(name="h4", ask=broken)]
    result = federate(make_terms(quorum=4), domain, parties, deadline=WIDE, rng=np.random.default_rng(0))
    assert any("h4" in note for note in result.notes)


def test_a_model_over_other_attributes_is_dropped(sites, make_terms, domain, make_site, chain):
    other = run(make_terms(method="SL3", attributes=("a", "b"), names=("h4",), run="other"), domain, [sites[4]])
    assert other.domain.names == ("a", "b")
    stolen = next(reply["content"] for reply in sites[4].replies if reply["step"] == "model")

    def wrong(message):
        reply = sites[4].holder.answer(message)
        return reply | {"content": stolen} if message["step"]["kind"] == "model" else reply

    parties = [*[site.party for site in sites[:4]], Party(name="h4", ask=wrong)]
    result = federate(make_terms(method="SL3", quorum=4), domain, parties, deadline=WIDE, rng=np.random.default_rng(0))
    assert len(result.model.models) == 4


def test_parties_must_be_those_of_the_terms(sites, make_terms, domain):
    with pytest.raises(InvalidInput, match="parties"):
        run(make_terms(), domain, sites[:4])


@pytest.mark.parametrize("deadline", [0.0, -1.0, float("nan"), float("inf")])
def test_deadlines_are_positive(deadline, sites, make_terms, domain):
    with pytest.raises(InvalidInput, match="deadline"):
        run(make_terms(), domain, sites, deadline=deadline)


def test_holders_with_another_schema_end_up_outside(sites, make_site, make_terms, domain):
    other = Domain(attributes=[Boolean(name=name) for name in "abcd"])
    odd = make_site("h9", np.zeros((10, 4)), schema=other)
    names = (*[site.name for site in sites], "h9")
    result = run(make_terms(names=names, quorum=5), domain, [*sites, odd])
    assert any("h9" in note and "schema" in note for note in result.notes)
    assert odd.spent == 0


class Odd(dict):
    """A message that cannot even be looked at."""

    def __getitem__(self, name):
        raise OSError("no reader has thought of this")


@pytest.mark.parametrize("nonsense", ["1e400", "1e30000000", 10**400, Odd])
def test_whatever_a_holder_says_the_run_goes_on_without_it(nonsense, sites, make_terms, domain):
    def ask(message):
        reply = sites[4].ask(message)
        if message["step"]["kind"] != "vote":
            return reply
        if nonsense is Odd:
            return Odd(reply)
        return reply | {"content": reply["content"] | {"event": {"kind": "pure", "epsilon": nonsense}}}

    result = run(make_terms(quorum=4), domain, [*sites[:4], Party(name=sites[4].name, ask=ask)])
    assert result.people == pytest.approx(8_000, abs=5 * result.people_std)
    assert any("h4" in note for note in result.notes)

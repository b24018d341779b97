import numpy as np
import pytest

from tacita.domain import Boolean, Domain
from tacita.errors import BudgetExceeded, Conflict, Forbidden, InvalidInput, SourceUnavailable, TacitaError
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.federated import Limits, Schedule, federate
from tacita.synthesize.federated.exchange import Request, Step
from tacita.testing.mechanism import FixedEngine

ROOT = (("a", ()),)
VOTE = Step(kind="vote", placed=ROOT, most_cells=100)
JOIN = Step(kind="join")


@pytest.fixture
def site(make_site, chain):
    return make_site("h0", chain(500), budget=Budget.pure(5.0))


@pytest.fixture
def terms(make_terms):
    return make_terms(names=("h0",), budget=Budget.pure(4.0))


def asked(site, terms, step):
    return site.holder.answer(Request(terms=terms, step=step).as_dict())


def test_the_same_step_again_gives_the_stored_answer_and_is_charged_once(site, terms):
    once = asked(site, terms, VOTE)
    spent = site.spent
    assert spent > 0
    assert all(asked(site, terms, VOTE) == once for _ in range(20)), "fresh noise would average out"
    assert site.spent == spent


def test_another_question_under_the_same_step_is_refused(site, terms):
    asked(site, terms, VOTE)
    spent = site.spent
    with pytest.raises(Conflict):
        asked(site, terms, Step(kind="vote", placed=ROOT, most_cells=5))
    assert site.spent == spent


def test_terms_are_bound_to_their_run(site, terms, make_terms):
    """Otherwise steps of dear terms could be taken in turn: each run within its limit, together beyond it."""
    asked(site, terms, VOTE)
    dearer = make_terms(names=("h0",), budget=Budget.pure(4.0), split=0.9)
    with pytest.raises(Conflict):
        asked(site, dearer, Step(kind="count"))
    with pytest.raises(Conflict):
        asked(site, make_terms(names=("h0",), budget=Budget.pure(1.0)), JOIN)
    asked(site, make_terms(names=("h0",), budget=Budget.pure(1.0), run="second"), JOIN)


def test_joining_costs_nothing(site, terms):
    assert asked(site, terms, JOIN)["content"] == {"kind": "joined", "terms": terms.digest}
    assert site.spent == 0


def test_a_run_that_cannot_be_paid_to_its_end_is_refused_before_it_begins(site, terms, make_terms):
    federate(terms, site.holder.domain, [site.party], deadline=300, rng=np.random.default_rng(0))
    spent = site.spent
    assert spent > 3.9
    second = make_terms(names=("h0",), run="second", budget=Budget.pure(2.0))
    for step in (JOIN, VOTE, Step(kind="count")):
        with pytest.raises(BudgetExceeded):
            asked(site, second, step)
    assert site.spent == spent


def test_a_run_goes_on_after_half_of_it_was_paid(site, terms):
    """The whole run is looked at when it is joined, not again when part of it is spent."""
    asked(site, terms, Step(kind="count"))
    for at in range(1, 4):
        placed = tuple((name, ()) for name in "abcd"[:at])
        asked(site, terms, Step(kind="vote", placed=placed, most_cells=100))
    asked(site, terms, Step(kind="tables", placed=tuple((name, ()) for name in "abcd")))
    schedule = Schedule.of(terms, site.holder.domain)
    assert site.spent == cost([(schedule.event, 1)], Budget.pure(5.0), Neighbours.ADD_REMOVE)


def test_whatever_an_analyst_asks_it_never_gets_more_than_the_budget(site, make_terms):
    """Random requests of many runs, steps and terms, in any order, many of them again."""
    rng = np.random.default_rng(0)
    names, runs = "abcd", ("first", "second", "third", "fourth")
    answered = {}
    for _ in range(500):
        terms = make_terms(
            names=("h0",),
            run=str(rng.choice(runs)),
            method=str(rng.choice(["SL1", "SL2", "SL2", "SL3"])),
            budget=Budget.pure(float(rng.choice([1.0, 2.0]))),
        )
        at = int(rng.integers(1, 5))
        step = Step(
            kind=str(rng.choice(["join", "count", "vote", "tables", "model"])),
            placed=tuple((name, ()) for name in names[:at]) if rng.random() < 0.8 else (),
            most_cells=int(rng.integers(0, 50)),
        )
        try:
            reply = asked(site, terms, step)
        except TacitaError:
            continue
        assert answered.setdefault((terms.run, step.name), reply) == reply
    assert site.spent <= 5
    settled = [charge for charge in site.ledger.history("h0") if charge.state == "settled"]
    assert len(settled) == len(answered | {(run, "join"): None for run, _ in answered})
    assert len(answered) > 8


def test_other_schemas_are_refused_by_their_fingerprint(make_site, terms):
    other = Domain(attributes=[Boolean(name=name) for name in "abcd"])
    site = make_site("h0", np.zeros((5, 4)), schema=other)
    with pytest.raises(Conflict, match="schema"):
        asked(site, terms, JOIN)
    assert site.spent == 0


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"names": ("h1", "h2")}, "holders"),
        ({"neighbours": Neighbours.REPLACE_ONE}, "neighbours"),
        ({"attributes": ("a", "zz")}, "attribute"),
        ({"unit": Unit.of_person("id", max_rows=2)}, "unit"),
    ],
)
def test_terms_that_do_not_fit_are_refused(site, make_terms, changes, field):
    with pytest.raises(TacitaError) as refused:
        asked(site, make_terms(**({"names": ("h0",)} | changes)), JOIN)
    assert field in str(refused.value.field)
    assert site.ledger.balance("h0").charges == 0


def test_the_operator_sets_the_limits(make_site, make_terms, chain):
    site = make_site("h0", chain(100), limits=Limits(most=1.0, methods=("SL2",), overlap=False))
    with pytest.raises(Forbidden, match="budget"):
        asked(site, make_terms(names=("h0",), budget=Budget.pure(1.5)), JOIN)
    with pytest.raises(Forbidden, match="method"):
        asked(site, make_terms(names=("h0",), method="SL1", budget=Budget.pure(0.5)), JOIN)
    with pytest.raises(Forbidden, match="overlap"):
        asked(site, make_terms(names=("h0",), overlap="possible", budget=Budget.pure(0.5)), JOIN)
    asked(site, make_terms(names=("h0",), budget=Budget.pure(1.0)), JOIN)


@pytest.mark.parametrize("bad", [{"most": 0.0}, {"most": float("nan")}, {"methods": ()}, {"methods": ("SL9",)}])
def test_bad_limits(bad):
    with pytest.raises(InvalidInput, match=next(iter(bad))):
        Limits(**bad)


class Fails(FixedEngine):
    error = None

    def tables(self, workload, unit):
        if self.error is not None:
            raise self.error
        return super().tables(workload, unit)


def test_a_failure_while_counting_stays_spent_and_ends_the_run(make_site, terms, chain):
    """Failing may tell something, so a step that failed is not made again for nothing."""
    site = make_site("h0", chain(200))
    site.engine.__class__ = Fails
    site.engine.error = RuntimeError("the disk is gone")
    with pytest.raises(RuntimeError):
        asked(site, terms, VOTE)
    spent = site.spent
    assert spent > 0
    site.engine.error = None
    with pytest.raises(Conflict, match=r"failed.*new name for the run"):
        asked(site, terms, VOTE)
    assert site.spent == spent


def test_a_source_that_was_away_may_be_asked_again(make_site, terms, chain):
    site = make_site("h0", chain(200))
    site.engine.__class__ = Fails
    site.engine.error = SourceUnavailable("is away", field="source")
    with pytest.raises(SourceUnavailable):
        asked(site, terms, VOTE)
    spent = site.spent
    site.engine.error = None
    asked(site, terms, VOTE)
    assert site.spent == spent > 0


def test_nothing_but_private_answers_leaves(sites, make_terms, domain):
    """Every message that left a holder, of all methods: typed, paid for, and without an exact count."""
    for method in ("SL1", "SL2", "SL3"):
        terms = make_terms(method=method, run=method, budget=Budget.pure(0.05))
        federate(terms, domain, [site.party for site in sites], deadline=300, rng=np.random.default_rng(0))
    for site in sites:
        contents = [reply["content"] for reply in site.replies]
        assert len(contents) == 2 + 6 + 2
        kinds = [content.get("kind", content.get("tacita")) for content in contents]
        assert set(kinds) == {"joined", "measured", "vote", "synthesized/1"}
        said = sorted(str(content["event"]) for content in contents if "event" in content)
        paid = [charge for charge in site.ledger.history(site.name) if charge.event.kind != "nothing"]
        assert said == sorted(str(charge.event.as_dict()) for charge in paid), "each answer costs what it says"
        for content in contents:
            if content.get("kind") == "measured":
                for table in content["tables"]:
                    exact = site.engine.project(table["attributes"]).values.reshape(-1)
                    assert not np.array_equal(exact, table["cells"])
                    assert np.abs(exact - np.array(table["cells"])).mean() > 10, "noise of scale 20 and more"

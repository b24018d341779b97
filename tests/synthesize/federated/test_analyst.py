import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Domain
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput, SourceUnavailable
from tacita.models.blend import Blend
from tacita.models.mixture import Mixture
from tacita.models.network import BayesianNetwork
from tacita.noise import SecureSource, SeededSource
from tacita.plans.session import Session
from tacita.privacy.accountant import pure_epsilon
from tacita.privacy.budget import Budget
from tacita.privacy.ledger import Ledger
from tacita.privacy.unit import Neighbours, Unit
from tacita.store import Database
from tacita.synthesize import PrivBayes, Synthesized
from tacita.synthesize.federated import Holder, Limits, Party, Schedule, Terms, federate
from tacita.synthesize.federated.analyst import APART, KIND, MOVED, TOGETHER
from tacita.synthesize.marginals import EMPTY
from tacita.synthesize.privbayes import BARE

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
FOUR = pytest.approx(4, rel=1e-9)  # choices are rounded down to ratios that a sampler can multiply
WIDE = 300.0  # seconds; only a holder that never answers waits for it


def run(terms, domain, sites, deadline=WIDE, fit="auto"):
    parties = [getattr(site, "party", site) for site in sites]
    return federate(terms, domain, parties, deadline=deadline, rng=np.random.default_rng(0), fit=fit)


def error_of_pairs(result, sites, pairs=(("a", "b"), ("b", "c"), ("a", "d"))):
    """Mean total variation from the pooled exact tables."""
    found = []
    for pair in pairs:
        truth = sum(site.engine.project(pair).values for site in sites)
        found.append(np.abs(result.project(pair).values - truth / truth.sum()).sum() / 2)
    return float(np.mean(found))


@pytest.mark.parametrize(
    ("method", "degree", "fit", "kind"),
    [
        ("SL1", 1, "auto", Mixture),
        ("SL1", 1, "network", BayesianNetwork),
        ("SL1", 2, "auto", BayesianNetwork),
        ("SL2", 1, "auto", BayesianNetwork),
        ("SL2", 2, "auto", BayesianNetwork),
        ("SL3", 1, "auto", Blend),
    ],
)
def test_a_known_chain_is_found(method, degree, fit, kind, sites, make_terms, domain):
    result = run(make_terms(method=method, degree=degree), domain, sites, fit=fit)
    assert isinstance(result.model, kind)
    assert error_of_pairs(result, sites) < 0.03
    if kind is BayesianNetwork:
        edges = {frozenset(edge) for edge in result.model.edges}
        assert {frozenset("ab"), frozenset("bc")} <= edges
    assert result.people == pytest.approx(10_000, abs=5 * result.people_std)
    again = Synthesized.from_json(result.to_json())
    assert np.allclose(again.project(("a", "b")).values, result.project(("a", "b")).values, atol=1e-6)
    assert result.sample(50, np.random.default_rng(1)).num_rows == 50
    assert [float(site.spent) for site in sites] == [FOUR] * 5
    assert (again.measured is None) == (method == "SL3"), "holders that send models send no tables"
    if again.measured is not None:
        found = again.intervals(["a"])
        assert found.measured
        assert {table.terms for table in again.measured} == {5}
        exact = sum(np.asarray(site.engine.project(["a"]).values) for site in sites)
        assert ((found.low <= exact / exact.sum()) & (exact / exact.sum() <= found.high)).mean() > 0.5


def test_what_one_holder_pays_is_the_same_whoever_else_is_there(sites, make_terms, domain):
    run(make_terms(budget=Budget.pure(2.0)), domain, sites)
    schedule = Schedule.of(make_terms(budget=Budget.pure(2.0)), domain)
    assert {site.spent for site in sites} == {pure_epsilon(schedule.event, ADD)}


def test_noise_is_added_at_each_holder(make_site, make_terms, domain):
    """A sum over five carries five times the variance: one pooled draw, called distributed, would not."""
    names = tuple(f"e{at}" for at in range(5))
    sites = [make_site(name, np.zeros((0, 4)), seed=at) for at, name in enumerate(names)]
    sent = []
    for site in sites:
        run(make_terms(names=(site.name,), method="SL1", budget=Budget.pure(1.0)), domain, [site])
        (tables,) = [reply["content"]["tables"] for reply in site.replies if reply["step"] == "tables"]
        sent.append(np.concatenate([table["cells"] for table in tables]))
    assert len({tuple(cells) for cells in sent}) == 5, "nobody's noise is another's"
    law = Schedule.of(make_terms(method="SL1", budget=Budget.pure(1.0)), domain).tables
    variance = np.var(np.sum(sent, axis=0))
    assert 2.5 * law.variance < variance < 8.5 * law.variance


def test_one_holder_that_votes_is_privbayes(make_site, make_terms, domain, chain):
    site = make_site("only", chain(5000))
    terms = make_terms(names=("only",))
    result = run(terms, domain, [site])
    central = PrivBayes(degree=1).calibrate(domain, terms.budget, unit=terms.unit, neighbours=ADD)
    schedule = Schedule.of(terms, domain)
    assert (schedule.tables, schedule.choice, schedule.count) == (central.tables, central.choice, central.count)
    assert pure_epsilon(result.event, ADD) == pure_epsilon(central.event, ADD)


@pytest.mark.parametrize("method", ["SL1", "SL2", "SL3"])
def test_results_say_what_holds(method, sites, make_terms, domain):
    result = run(make_terms(method=method), domain, sites)
    assert KIND in result.notes
    assert APART in result.notes
    assert float(pure_epsilon(result.event, ADD)) == FOUR
    assert result.provenance.recipe["method"] == method
    assert result.provenance.simulated, "the holders' noise could be repeated"
    assert "local" not in result.guarantee
    assert not any("local privacy" in note and "not local privacy" not in note for note in result.notes)


def test_under_replace_one_moving_is_covered(make_site, make_terms, domain, chain):
    sites = [make_site(f"h{at}", chain(500, seed=at), neighbours=REPLACE, seed=at) for at in range(5)]
    result = run(make_terms(neighbours=REPLACE), domain, sites)
    assert MOVED in result.notes
    assert pure_epsilon(result.event, REPLACE) > 4, "two steps of joining or leaving"
    assert [float(site.spent) for site in sites] == [FOUR] * 5


def test_over_shared_people_costs_add_up(sites, make_terms, domain):
    result = run(make_terms(overlap="possible"), domain, sites)
    assert TOGETHER in result.notes
    assert APART not in result.notes
    assert pure_epsilon(result.event, ADD) == sum(site.spent for site in sites)


@pytest.mark.parametrize("method", ["SL1", "SL2", "SL3"])
@pytest.mark.parametrize(
    ("budget", "account", "neighbours"),
    [
        # with a delta, steps are charged one by one by a filter, which costs more than a plan of the same events
        (Budget.approx(3.0, 1e-9), Budget.approx(4.0, 1e-9), REPLACE),
        (Budget.zcdp(0.5), Budget.zcdp(0.5), ADD),
    ],
)
def test_other_currencies(method, budget, account, neighbours, make_site, make_terms, domain, chain):
    sites = [make_site(f"h{at}", chain(2000, seed=at), budget=account, neighbours=neighbours, seed=at) for at in (0, 1)]
    terms = make_terms(names=("h0", "h1"), method=method, budget=budget, neighbours=neighbours)
    result = run(terms, domain, sites)
    assert error_of_pairs(result, sites) < 0.05
    for site in sites:
        assert 0.9 * budget.amount < site.spent <= account.amount
    again = replace(terms, run="again")
    with pytest.raises(SourceUnavailable, match="cannot bear"):
        run(again, domain, sites)


def test_persons_are_protected_with_all_their_rows(tmp_path, domain, chain):
    """Each holder counts at most two rows of a person, and its noise covers both."""
    person = Domain(person="id", attributes=[{"name": "id", "kind": "identifier"}, *domain.attributes])
    unit, parties, ledgers = Unit.of_person("id", max_rows=2), [], []
    for at in (0, 1):
        rows = chain(6000, seed=at)
        columns = {name: pa.array(rows[:, place].astype(str)) for place, name in enumerate("abcd")}
        columns["id"] = pa.array([f"p{row // 3}" for row in range(6000)])
        ledger = Ledger(Database(f"sqlite:///{tmp_path}/{at}.db"))
        ledger.open(f"h{at}", unit=unit, neighbours=ADD, budget=Budget.pure(4.0))
        engine = LocalEngine(person, pa.table(columns))
        session = Session(engine=engine, ledger=ledger, account=f"h{at}", principal="t", source=SeededSource(at))
        holder = Holder(name=f"h{at}", session=session, ledger=ledger, limits=Limits())
        parties.append(Party(name=f"h{at}", ask=holder.answer))
        ledgers.append(ledger)
    terms = Terms(
        run="persons",
        schema=person.fingerprint,
        attributes=("a", "b", "c", "d"),
        method="SL2",
        budget=Budget.pure(4.0),
        unit=unit,
        neighbours=ADD,
        holders=("h0", "h1"),
        quorum=2,
    )
    result = federate(terms, person, parties, deadline=WIDE, rng=np.random.default_rng(0))
    assert result.people == pytest.approx(8000, abs=6 * result.people_std), "two of three rows are counted"
    assert result.unit == unit
    assert [float(ledger.balance(f"h{at}").spent) for at, ledger in enumerate(ledgers)] == [FOUR] * 2


def test_the_same_run_again_costs_nothing_and_says_the_same(sites, make_terms, domain):
    one, two = (run(make_terms(), domain, sites) for _ in range(2))
    assert [float(site.spent) for site in sites] == [FOUR] * 5
    assert json.dumps(one.model.as_dict()) == json.dumps(two.model.as_dict())


# -- data with nothing in it ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["SL1", "SL2", "SL3"])
@pytest.mark.parametrize("rows", [0, 1])
def test_holders_without_data_or_with_one_row(method, rows, make_site, make_terms, domain):
    sites = [make_site(f"h{at}", np.zeros((rows, 4)), seed=at) for at in range(2)]
    result = run(make_terms(names=("h0", "h1"), method=method, budget=Budget.pure(0.5)), domain, sites)
    assert EMPTY in result.notes
    assert result.sample(10, np.random.default_rng(0)).num_rows == 10


@pytest.mark.parametrize("method", ["SL1", "SL2", "SL3"])
def test_constant_columns(method, make_site, make_terms, domain):
    sites = [make_site(f"h{at}", np.tile([1, 2, 0, 3], (2000, 1)), seed=at) for at in range(2)]
    result = run(make_terms(names=("h0", "h1"), method=method), domain, sites)
    assert result.project(("a",)).values[1] > 0.98


def test_a_budget_too_small_for_any_structure_says_so(sites, make_terms, domain):
    result = run(make_terms(budget=Budget.pure(0.001)), domain, sites)
    assert BARE in result.notes
    assert not result.model.edges


def test_one_attribute_is_its_table(sites, make_terms, domain):
    for method in ("SL1", "SL2", "SL3"):
        result = run(make_terms(method=method, attributes=("a",), run=method, budget=Budget.pure(2.0)), domain, sites)
        truth = sum(site.engine.project(("a",)).values for site in sites) / 10_000
        assert np.abs(result.project(("a",)).values - truth).sum() < 0.02


def test_a_label_that_each_holder_knows_constant_is_still_in_the_sum(make_site, make_terms, domain, chain):
    """Split by class: votes cannot link the label, but summed tables of SL1 can."""
    rows = chain(12_000)
    sites = [make_site(f"h{at}", rows[rows[:, 0] == at], seed=at) for at in range(3)]
    names = tuple(site.name for site in sites)
    result = run(make_terms(method="SL1", names=names), domain, sites, fit="network")
    assert error_of_pairs(result, sites, (("a", "b"),)) < 0.03


def test_the_root_is_not_chosen_by_looking(sites, make_terms, domain):
    for first in ("a", "d"):
        names = (first, *[name for name in "abcd" if name != first])
        result = run(make_terms(attributes=names, run=f"root-{first}", budget=Budget.pure(2.0)), domain, sites)
        assert result.model.parents[first] == ()


# -- what may not be asked --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "degree"), [("SL2", 1), ("SL1", 2), ("SL3", 1)])
def test_a_mixture_needs_pairs(method, degree, sites, make_terms, domain):
    with pytest.raises(InvalidInput, match="fit"):
        run(make_terms(method=method, degree=degree), domain, sites, fit="mixture")
    assert {site.spent for site in sites} == {0}


def test_secure_noise_is_not_marked_as_simulated(sites, make_terms, domain):
    secure = [
        replace(
            site,
            holder=Holder(
                name=site.name,
                session=Session(
                    engine=site.engine,
                    ledger=site.ledger,
                    account=site.name,
                    principal="test",
                    source=SecureSource(),
                ),
                ledger=site.ledger,
                limits=Limits(),
            ),
        )
        for site in sites
    ]
    assert not run(make_terms(), domain, secure).provenance.simulated
    assert run(make_terms(run="mixed", budget=Budget.pure(1.0)), domain, [*secure[:4], sites[4]]).provenance.simulated


def test_a_holder_that_outweighs_all_others_is_named(make_site, make_terms, domain, chain):
    sizes = {"h1": 4000, "h2": 500, "h3": 500}
    sites = [make_site(name, chain(size), seed=size) for name, size in sizes.items()]
    result = run(make_terms(method="SL3", holders=tuple(sizes), quorum=3), domain, sites)
    assert [note for note in result.notes if note.startswith("h1 states 8")]

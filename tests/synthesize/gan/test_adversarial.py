"""Generators with a private critic: the charge, who touches data, checkpoints, bad input, and what comes out."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

torch = pytest.importorskip("torch")

from tacita.engines.local import LocalEngine  # noqa: E402
from tacita.errors import Conflict, InvalidInput  # noqa: E402
from tacita.models.neural import training as nets_training  # noqa: E402
from tacita.noise import SecureSource, SeededSource  # noqa: E402
from tacita.plans.session import Session  # noqa: E402
from tacita.privacy.accountant import cost, epsilon_at  # noqa: E402
from tacita.privacy.budget import Budget  # noqa: E402
from tacita.privacy.event import Repeated, SampledGaussian, Sequence  # noqa: E402
from tacita.privacy.ledger import Ledger  # noqa: E402
from tacita.privacy.unit import Neighbours, Unit  # noqa: E402
from tacita.store import Database  # noqa: E402
from tacita.synthesize import ConditionalGan, Synthesize, Wgan  # noqa: E402
from tacita.synthesize.kinds import METHODS  # noqa: E402
from tacita.synthesize.result import Synthesized  # noqa: E402

from .conftest import DOMAIN, PERSONS, SMALL, rows  # noqa: E402

torch.set_num_threads(1)
ADD, ROW = Neighbours.ADD_REMOVE, Unit.row()
BUDGET = Budget.approx(0.5, 1e-6)
QUICK = SMALL | {"critic": 8, "steps": 6, "rate": 0.2, "matching": 20}


def planned(recipe, domain=DOMAIN, unit=ROW, budget=BUDGET):
    return recipe.calibrate(domain, budget, unit=unit, neighbours=ADD)


@pytest.fixture(scope="module")
def wgan():
    return planned(Wgan(**QUICK))


@pytest.fixture(scope="module")
def conditional():
    return planned(ConditionalGan(**QUICK))


@pytest.mark.parametrize("name", ["wgan", "conditional"])
def test_the_event_is_tables_and_all_steps_and_costs_the_budget(name, request):
    plan = request.getfixturevalue(name)
    spent = float(cost([(plan.event, 1)], BUDGET, ADD))
    assert 0.499 < spent <= 0.5
    assert isinstance(plan.event, Sequence)
    assert plan.event.events[1] == Repeated(
        event=SampledGaussian(noise_multiplier=plan.law.noise_multiplier, rate=0.2), count=6
    )
    assert epsilon_at(plan.event.events[0], 1e-6, ADD) == pytest.approx(0.5 * plan.recipe.tables, rel=1e-3)
    assert plan.as_dict()["training"]["steps"] == 6


def test_all_steps_and_no_more_look_at_data(conditional, engine, monkeypatch):
    seen = []
    inner = nets_training.poisson_sample

    def watched(units, rate, source):
        seen.append((units, rate))
        return inner(units, rate, source)

    monkeypatch.setattr(nets_training, "poisson_sample", watched)
    result = conditional.run(engine, SeededSource(1))
    assert seen == [(3000, 0.2)] * 6
    assert result.provenance.simulated
    assert result.event == conditional.event


def test_seeds_repeat_and_secure_runs_differ(conditional, engine):
    texts = [
        json.dumps(conditional.run(engine, source).model.as_dict()) for source in (SeededSource(1), SeededSource(1))
    ]
    assert texts[0] == texts[1]
    fresh = [conditional.run(engine, SecureSource()) for _ in range(2)]
    assert fresh[0].model.as_dict() != fresh[1].model.as_dict()
    assert not fresh[0].provenance.simulated


def test_the_generator_does_not_touch_data(wgan, engine):
    """Without what tables and critic tell, two tables that differ in every row give the same generator."""
    other = LocalEngine(DOMAIN, rows(3000, seed=9))
    silent = replace(wgan, law=replace(wgan.law, noise_multiplier=1e9))  # the critic hears noise alone
    tables = silent.tables.run(engine, SeededSource(5))

    class Same:
        event = wgan.tables.event

        def run(self, engine, source):
            return tables

    object.__setattr__(silent, "tables", Same())
    made = [silent.model(each, SeededSource(2))[0] for each in (engine, other)]
    gap = max(
        np.abs(a - b).max()
        for x, y in zip(made[0].layers, made[1].layers, strict=True)
        for a, b in zip(x, y, strict=True)
    )
    assert gap < 1e-3


def test_persons_are_the_unit(engine):
    data = rows(400)
    data = data.append_column("who", pa.array([f"p{at % 120}" for at in range(400)]))
    held = LocalEngine(PERSONS, data)
    unit = Unit.of_person("who", max_rows=2)
    plan = planned(Wgan(**QUICK), PERSONS, unit)
    result = plan.run(held, SeededSource(1))
    assert result.unit == unit
    assert result.sample(10, np.random.default_rng(0)).num_rows == 10
    with pytest.raises(InvalidInput, match="person"):
        planned(Wgan(**QUICK), PERSONS, ROW)


def test_known_dependence_is_found_and_the_given_attribute_is_named(engine):
    recipe = ConditionalGan(**(QUICK | {"matching": 250, "hidden": 32, "starts": 256}))
    plan = planned(recipe, budget=Budget.approx(2.0, 1e-3))
    result = plan.run(engine, SeededSource(1))
    assert plan.given == "works"
    true = engine.project(["school", "works"]).values / 3000
    independent = np.outer(true.sum(axis=1), true.sum(axis=0))
    found = result.project(["school", "works"]).values
    assert np.abs(found - true).sum() < 0.35 * np.abs(independent - true).sum()
    assert any("works" in note for note in result.notes)
    again = Synthesized.from_json(result.to_json())
    assert (again.project(["age"]).values == result.project(["age"]).values).all()


def test_the_given_attribute_is_drawn_from_its_released_table_and_not_from_the_data(conditional, engine):
    """Flaw F11 of published tools: conditions drawn by real frequencies."""
    nobody_works = rows(3000)
    nobody_works = nobody_works.set_column(3, "works", pa.array([False] * 3000))
    released = conditional.tables.run(LocalEngine(DOMAIN, nobody_works), SeededSource(4))

    class Other:
        event = conditional.tables.event

        def run(self, engine, source):
            return released

    told = replace(conditional)
    object.__setattr__(told, "tables", Other())
    model, *_ = told.model(engine, SeededSource(1))
    assert engine.project(["works"]).values[1] > 1000
    assert model.given[0] == "works"
    assert model.given[1][1] < 0.1


def test_an_empty_table_is_answered(wgan):
    result = wgan.run(LocalEngine(DOMAIN, rows(0)), SeededSource(1))
    assert result.intervals(DOMAIN.names[:1]).high.max() == 1  # nothing is known of no rows
    assert any("next to nothing" in note for note in result.notes)
    assert result.sample(5, np.random.default_rng(0)).num_rows == 5


# -- checkpoints --------------------------------------------------------------------------------------------------


class Crash(Exception):
    pass


def crashing(monkeypatch, after):
    """Training that breaks after so many private steps, and counts them."""
    made = []
    inner = nets_training.PrivateTraining.step

    def step(self, *rest):
        if len(made) == after:
            raise Crash
        made.append(self.done)
        inner(self, *rest)

    monkeypatch.setattr(nets_training.PrivateTraining, "step", step)
    return made


@pytest.mark.parametrize("after", [0, 1, 3, 5])
def test_who_resumes_never_pays_less_than_what_ran(wgan, engine, tmp_path, monkeypatch, after):
    plan = wgan.with_checkpoints(tmp_path / "state.pt", every=2)
    with monkeypatch.context() as patch:
        first = crashing(patch, after)
        with pytest.raises(Crash):
            plan.run(engine, SeededSource(1))
    measured = []
    with monkeypatch.context() as patch:
        second = crashing(patch, 10**6)
        patch.setattr(type(plan.tables), "run", lambda *rest: measured.append(rest))
        result = plan.run(engine, SeededSource(1))
    assert len(first) == after
    assert len(first) + len(second) <= plan.law.steps  # steps that ran and were lost are not made again
    lost = plan.law.steps - len(first) - len(second)
    assert second == list(range(after + lost, plan.law.steps))
    assert lost <= 2  # never more than one block
    assert measured == []  # tables are paid for once, and kept
    assert result.event == plan.event


def test_a_resumed_run_draws_anew(wgan, engine, tmp_path, monkeypatch):
    plan = wgan.with_checkpoints(tmp_path / "state.pt", every=1)
    noise = []
    inner = nets_training.rounded_normal

    def watched(count, std, source):
        noise.append(inner(count, std, source))
        return noise[-1]

    monkeypatch.setattr(nets_training, "rounded_normal", watched)
    with monkeypatch.context() as patch:
        crashing(patch, 2)
        with pytest.raises(Crash):
            plan.run(engine, SeededSource(1))
    plan.run(engine, SeededSource(1))
    assert len(noise) >= 4
    assert all((one != other).any() for at, one in enumerate(noise) for other in noise[:at])


def test_a_finished_training_is_not_made_again(wgan, engine, tmp_path, monkeypatch):
    plan = wgan.with_checkpoints(tmp_path / "state.pt", every=4)
    first = plan.run(engine, SeededSource(1))
    made = crashing(monkeypatch, 0)
    again = plan.run(engine, SeededSource(1))
    assert made == []
    assert again.model.as_dict() == first.model.as_dict()


def test_checkpoints_of_another_plan_or_of_unfinished_tables_are_refused(wgan, engine, tmp_path, monkeypatch):
    kept = wgan.with_checkpoints(tmp_path / "state.pt")
    with monkeypatch.context() as patch:
        patch.setattr(type(kept.tables), "run", lambda *rest: (_ for _ in ()).throw(Crash()))
        with pytest.raises(Crash):
            kept.run(engine, SeededSource(1))
    with pytest.raises(InvalidInput, match="charge the plan again"):
        kept.run(engine, SeededSource(1))
    other = planned(Wgan(**(QUICK | {"steps": 7}))).with_checkpoints(tmp_path / "state.pt")
    with pytest.raises(InvalidInput, match="another plan"):
        other.run(engine, SeededSource(1))


# -- on a ledger ----------------------------------------------------------------------------------------------------


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger(Database(f"sqlite:///{tmp_path}/s.db"))
    ledger.open("people", unit=ROW, neighbours=ADD, budget=Budget.approx(2.0, 1e-6))
    ledger.open("others", unit=ROW, neighbours=ADD, budget=Budget.approx(2.0, 1e-6))
    return ledger


def asking(ledger, engine, account="people"):
    return Session(engine=engine, ledger=ledger, account=account, principal="me", source=SecureSource())


def test_a_training_that_diverged_is_not_tried_again_on_its_charge(ledger, engine):
    plan = planned(Wgan(**(QUICK | {"learning_rate": 1e30})))
    with pytest.raises(InvalidInput, match="diverged"):
        asking(ledger, engine).ask(plan, key="k")
    with pytest.raises(Conflict, match="new key"):
        asking(ledger, engine).ask(plan, key="k")


def stopped(ledger, engine, plan, monkeypatch):
    with monkeypatch.context() as patch:
        made = crashing(patch, 3)
        with pytest.raises(Crash):
            asking(ledger, engine).ask(plan, key="k")
    return made


def test_a_charge_goes_on_from_its_own_file_and_makes_no_step_twice(ledger, wgan, engine, tmp_path, monkeypatch):
    plan = wgan.with_checkpoints(tmp_path / "a.pt", every=1)
    first = stopped(ledger, engine, plan, monkeypatch)
    with monkeypatch.context() as patch:
        second = crashing(patch, 10**6)
        asking(ledger, engine).ask(plan, key="k")
    assert 4 <= len(first) + len(second) <= plan.law.steps
    assert ledger.balance("people").charges == 1


def test_a_charge_that_has_begun_does_not_begin_again(ledger, wgan, engine, tmp_path, monkeypatch):
    stopped(ledger, engine, wgan.with_checkpoints(tmp_path / "a.pt", every=1), monkeypatch)
    made = crashing(monkeypatch, 10**6)
    with pytest.raises(InvalidInput, match="is not there"):
        asking(ledger, engine).ask(wgan.with_checkpoints(tmp_path / "b.pt", every=1), key="k")
    with pytest.raises(Conflict, match="another question"):  # nor without a file
        asking(ledger, engine).ask(wgan, key="k")
    assert made == []


def test_a_file_serves_one_charge_of_one_dataset(ledger, wgan, engine, tmp_path, monkeypatch):
    kept = wgan.with_checkpoints(tmp_path / "a.pt", every=1)
    stopped(ledger, engine, kept, monkeypatch)
    made = crashing(monkeypatch, 10**6)
    for account, key in (("people", "l"), ("people", None), ("others", "k")):
        with pytest.raises(InvalidInput, match="another charge"):
            asking(ledger, engine, account).ask(kept, key=key)
    with pytest.raises(InvalidInput, match="another charge"):  # by hand, past the ledger
        kept.run(engine, SecureSource())
    assert made == []
    assert ledger.balance("people").charges == 1  # refused before it was paid for
    assert ledger.balance("others").charges == 0


# -- bad input ----------------------------------------------------------------------------------------------------


def test_replace_one_and_budgets_without_a_delta_are_refused():
    with pytest.raises(InvalidInput, match="adding or removing"):
        Wgan(**QUICK).calibrate(DOMAIN, BUDGET, unit=ROW, neighbours=Neighbours.REPLACE_ONE)
    for budget in (Budget.pure(1.0), Budget.zcdp(0.1)):
        with pytest.raises(InvalidInput, match="delta"):
            Wgan(**QUICK).calibrate(DOMAIN, budget, unit=ROW, neighbours=ADD)


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": 0},
        {"rate": 1.0},
        {"rate": 0.0},
        {"tables": 0.0},
        {"tables": 1.0},
        {"clip": 0.0},
        {"hidden": 0},
        {"learning_rate": -1.0},
        {"trust": -0.1},
        {"trust": float("nan")},
        {"seconds": 0},
        {"matching": -1},
    ],
)
def test_bad_recipes_are_refused(wrong):
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        Wgan(**wrong)


def test_a_given_attribute_must_be_there_and_small():
    with pytest.raises(InvalidInput, match="given"):
        planned(ConditionalGan(given="nothing"))
    from tacita.domain import Categorical, Domain

    wide = Categorical(name="wide", levels=tuple(str(level) for level in range(17)))
    with pytest.raises(InvalidInput, match="levels"):
        planned(ConditionalGan(given="wide"), Domain(attributes=[*DOMAIN.attributes, wide]))


def test_divergence_is_refused_and_says_that_it_stays_spent(engine):
    plan = planned(Wgan(**(QUICK | {"learning_rate": 1e30, "matching": 5})))
    with pytest.raises(InvalidInput, match="stays spent"):
        plan.run(engine, SeededSource(1))


def test_without_torch_the_way_out_is_named(wgan, engine, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "torch", None)
    for method in (lambda: planned(Wgan(**QUICK)), lambda: wgan.run(engine, SeededSource(1))):
        with pytest.raises(InvalidInput, match=r"pip install tacita\[nets\]"):
            method()  # said before anything is charged


@pytest.mark.parametrize(("method", "kind"), [("gan", "conditional-gan"), ("wgan", "wgan"), ("pate-gan", "pate-gan")])
def test_methods_by_name(method, kind):
    recipe = Synthesize(method=method)._named(METHODS[method])
    assert recipe.as_dict()["method"] == kind


def test_little_time_plans_fewer_steps_and_pays_for_no_others(engine, monkeypatch):
    plan, whole = planned(Wgan(**(QUICK | {"seconds": 1e-6}))), planned(Wgan(**QUICK))
    assert plan.law.steps == plan.recipe.steps == plan.recipe.matching == 1
    assert whole.law.steps == QUICK["steps"]
    assert plan.law.noise_multiplier < whole.law.noise_multiplier
    made = crashing(monkeypatch, 10**6)
    plan.run(engine, SeededSource(1))
    assert len(made) == 1

import hashlib
import json
from dataclasses import dataclass

import pyarrow as pa
import pytest

from tacita.domain import Boolean, Domain
from tacita.engines.local import LocalEngine
from tacita.errors import BudgetExceeded, Conflict, InvalidInput, SourceUnavailable
from tacita.noise import SecureSource, SeededSource
from tacita.plans import CalibratedTables, NoisyTables
from tacita.plans.session import Session, question_of
from tacita.privacy.budget import Budget
from tacita.privacy.event import Nothing, Repeated, Sequence
from tacita.privacy.ledger import Ledger
from tacita.privacy.unit import Neighbours, Unit
from tacita.query import Aggregate, Aggregates
from tacita.store import Database, schema
from tacita.tables.workload import Workload

DOMAIN = Domain(attributes=[Boolean(name="b")])
ADD = Neighbours.ADD_REMOVE


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger(Database(f"sqlite:///{tmp_path}/s.db"))
    ledger.open("people", unit=Unit.row(), neighbours=ADD, budget=Budget.pure(1.0))
    return ledger


def session(ledger, engine=None):
    engine = engine or LocalEngine(DOMAIN, pa.table({"b": [True, False, True]}))
    return Session(engine=engine, ledger=ledger, account="people", principal="me", source=SecureSource())


def plan(epsilon, neighbours=ADD, domain=DOMAIN):
    recipe = NoisyTables(Workload.of(["b"]))
    return recipe.calibrate(domain, Budget.pure(epsilon), unit=Unit.row(), neighbours=neighbours)


def test_the_answer_names_its_charge(ledger):
    release = session(ledger).ask(plan(0.5))["b",]
    assert release.provenance.charge == next(ledger.history("people")).id
    assert release.provenance.dataset == "people"
    assert session(ledger).balance().remaining == 0.5


def test_a_retry_gets_the_same_answer_and_pays_once(ledger):
    first, second = (session(ledger).ask(plan(0.5), key="k") for _ in range(2))
    assert first.to_json() == second.to_json()
    assert ledger.balance("people").spent == 0.5


def test_a_key_stands_for_one_question(ledger):
    session(ledger).ask(plan(0.25), key="k")
    total = NoisyTables(Workload.of([])).calibrate(DOMAIN, Budget.pure(0.25), unit=Unit.row(), neighbours=ADD)
    with pytest.raises(Conflict, match="another question"):
        session(ledger).ask(total, key="k")


def test_the_charge_stands_before_the_data_is_touched(ledger):
    class Watching(LocalEngine):
        def tables(self, workload, unit):
            assert ledger.balance("people").spent == 0.5
            return super().tables(workload, unit)

    session(ledger, Watching(DOMAIN, pa.table({"b": [True]}))).ask(plan(0.5))


def test_an_error_leaves_it_spent(ledger):
    class Failing(LocalEngine):
        def tables(self, workload, unit):
            raise RuntimeError

    with pytest.raises(RuntimeError):
        session(ledger, Failing(DOMAIN, pa.table({"b": [True]}))).ask(plan(0.75))
    assert ledger.balance("people").spent == 0.75
    assert next(ledger.history("people")).state == "failed"
    with pytest.raises(BudgetExceeded):
        session(ledger).ask(plan(0.5))


@pytest.mark.parametrize(
    ("ask", "words"), [({"key": "mine"}, "with --key mine"), ({"repeat": False}, "with the same question")]
)
def test_a_run_that_the_user_stops_stays_charged_and_runs_again_for_nothing(ledger, ask, words):
    class Stopped(LocalEngine):
        def tables(self, workload, unit):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stop:
        session(ledger, Stopped(DOMAIN, pa.table({"b": [True]}))).ask(plan(0.75), **ask)
    assert words in stop.value.__notes__[0]
    assert ledger.balance("people").spent == 0.75
    assert len(session(ledger).ask(plan(0.75), **ask)) == 1
    assert ledger.balance("people").spent == 0.75


def test_after_a_refusal_no_data_is_touched(ledger):
    class Untouchable(LocalEngine):
        def tables(self, workload, unit):
            raise AssertionError("touched")

    with pytest.raises(BudgetExceeded):
        session(ledger, Untouchable(DOMAIN, pa.table({"b": [True]}))).ask(plan(1.5))
    with pytest.raises(InvalidInput, match="neighbours"):
        session(ledger, Untouchable(DOMAIN, pa.table({"b": [True]}))).ask(plan(0.5, Neighbours.REPLACE_ONE))
    assert ledger.balance("people").charges == 0


def test_a_plan_for_another_schema_is_refused_before_it_is_charged(ledger):
    with pytest.raises(InvalidInput, match="another schema"):
        session(ledger).ask(plan(0.5, domain=Domain(title="else", attributes=DOMAIN.attributes)))
    assert ledger.balance("people").charges == 0


# -- the same question again -------------------------------------------------------------------------------------------


def asked(ledger, *, source=None, version="", name="count(*)", epsilon=0.2):
    engine = LocalEngine(DOMAIN, pa.table({"b": [True, False, True]}))
    recipe = Aggregates(aggregates=[Aggregate(kind="count", name=name)])
    plan = recipe.calibrate(DOMAIN, Budget.pure(epsilon), unit=Unit.row(), neighbours=ADD)
    session = Session(
        engine=engine,
        ledger=ledger,
        account="people",
        principal="me",
        source=source or SecureSource(),
        version=version,
    )
    return session.ask(plan, repeat=False)


def test_the_same_question_has_the_same_answer_and_is_paid_once(ledger):
    first, second = asked(ledger), asked(ledger)
    assert first.to_json() == second.to_json()
    assert first.provenance.charge == next(ledger.history("people")).id
    assert ledger.balance("people").charges == 1


def test_another_question_noise_version_or_kind_of_randomness_is_asked_anew(ledger):
    for charges, more in enumerate(
        [{}, {"name": "n"}, {"epsilon": 0.1}, {"version": "2"}, {"source": SeededSource(1)}], start=1
    ):
        asked(ledger, **more)
        assert ledger.balance("people").charges == charges


def test_a_key_of_version_0_2_finds_its_answer(ledger):
    """There, tables with the same noise were written one by one, and keys of questions were not keyed."""
    tables = Workload.of([], ["b"])
    asked = NoisyTables(tables).calibrate(DOMAIN, Budget.pure(0.5), unit=Unit.row(), neighbours=ADD)
    assert isinstance(asked.event, Repeated)
    apart = Sequence(events=(asked.event.event,) * 2)
    first = session(ledger).ask(asked, key="mine")
    with ledger._database.writing() as connection:
        connection.execute(schema.charges.update().values(event=apart.to_json()))
    assert session(ledger).ask(asked, key="mine").to_json() == first.to_json()
    single = plan(0.25)
    plain = json.dumps([question_of(single), single.event.to_json(), "", ""])
    former = "question:" + hashlib.sha256(plain.encode()).hexdigest()
    second = session(ledger).ask(single, key=former)
    assert session(ledger).ask(single, repeat=False).to_json() == second.to_json()
    assert ledger.balance("people").spent == 0.75


def test_digests_of_the_data_need_the_secret_of_the_ledger(ledger, tmp_path):
    """Without it, whoever reads a key or a history could try versions of the data until one fits."""
    other = Ledger(Database(f"sqlite:///{tmp_path}/other.db"))
    other.open("people", unit=Unit.row(), neighbours=ADD, budget=Budget.pure(1.0))
    seen = []
    for each in (ledger, other):
        engine = LocalEngine(DOMAIN, pa.table({"b": [True]}))
        asking = Session(
            engine=engine,
            ledger=each,
            account="people",
            principal="me",
            source=SecureSource(),
            version="rows",
            bound="rows",
        )
        asking.ask(plan(0.25), key=asking.key_of(plan(0.25)))
        charge = next(each.history("people"))
        seen.append({charge.key.removeprefix("question:"), charge.question})
    assert not seen[0] & seen[1]
    asked = json.dumps([question_of(plan(0.25)), plan(0.25).event.to_json(), "rows", ""])
    guessed = {hashlib.sha256(text.encode()).hexdigest() for text in (asked, question_of(plan(0.25)) + "rows")}
    assert not guessed & (seen[0] | seen[1])


def test_a_question_is_its_own_key(ledger):
    with pytest.raises(InvalidInput, match="the question is the key"):
        session(ledger).ask(plan(0.25), key="k", repeat=False)
    assert ledger.balance("people").charges == 0


def test_tables_are_found_again_too(ledger):
    first, second = (session(ledger).ask(plan(0.25), repeat=False) for _ in range(2))
    assert first.to_json() == second.to_json()
    assert ledger.balance("people").spent == 0.25


# -- after a failure ---------------------------------------------------------------------------------------------------


class Failing(LocalEngine):
    """Fails at its n-th call."""

    def __init__(self, error, after=0):
        super().__init__(DOMAIN, pa.table({"b": [True]}))
        self.error, self.left = error, after

    def tables(self, workload, unit):
        if not self.left:
            raise self.error
        self.left -= 1
        return super().tables(workload, unit)


AWAY = SourceUnavailable("is away", field="source")


@dataclass(frozen=True, kw_only=True)
class Twice:
    """A plan that counts twice, as those do that choose what to count next."""

    inner: CalibratedTables

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def run(self, engine, source):
        self.inner.run(engine, source)
        return self.inner.run(engine, source)


def test_a_run_that_failed_is_not_made_again_on_the_same_charge(ledger):
    with pytest.raises(RuntimeError):
        session(ledger, Failing(RuntimeError())).ask(plan(0.25), key="k")
    with pytest.raises(Conflict, match=r"failed.*Use a new key"):
        session(ledger).ask(plan(0.25), key="k")
    assert ledger.balance("people").charges == 1
    session(ledger).ask(plan(0.25), key="l")
    assert ledger.balance("people").spent == 0.5


def test_without_a_key_a_question_that_failed_is_paid_anew(ledger):
    for _ in range(2):
        with pytest.raises(RuntimeError):
            session(ledger, Failing(RuntimeError())).ask(plan(0.25), repeat=False)
    answers = [session(ledger).ask(plan(0.25), repeat=False).to_json() for _ in range(2)]
    assert answers[0] == answers[1]
    assert [charge.state for charge in ledger.history("people")] == ["failed", "failed", "settled"]


def test_a_source_that_was_away_from_the_start_may_be_asked_again(ledger):
    with pytest.raises(SourceUnavailable):
        session(ledger, Failing(AWAY)).ask(plan(0.25), key="k")
    session(ledger).ask(plan(0.25), key="k")
    assert [charge.state for charge in ledger.history("people")] == ["settled"]


def test_a_source_that_goes_away_in_the_middle_may_not(ledger):
    with pytest.raises(SourceUnavailable):
        session(ledger, Failing(AWAY, after=1)).ask(Twice(inner=plan(0.25)), key="k")
    with pytest.raises(Conflict, match="failed"):
        session(ledger).ask(Twice(inner=plan(0.25)), key="k")


def test_what_costs_nothing_may_always_be_asked_again(ledger):
    class Free(Twice):
        event = Nothing()

    with pytest.raises(RuntimeError):
        session(ledger, Failing(RuntimeError())).ask(Free(inner=plan(0.25)), key="k")
    session(ledger).ask(Free(inner=plan(0.25)), key="k")


def test_a_run_that_was_killed_runs_again(ledger):
    asked = plan(0.25)
    ledger.reserve(  # what a killed process leaves behind
        "people",
        asked.event,
        question=question_of(asked),
        unit=asked.unit,
        neighbours=ADD,
        principal="me",
        purpose="query",
        key="k",
    )
    session(ledger).ask(asked, key="k")
    assert ledger.balance("people").charges == 1


def test_a_source_that_was_reached_and_gave_up_may_not_be_asked_again(ledger):
    """That a statement took too long may depend on its rows: each try would reveal it once more."""
    gave_up = SourceUnavailable("did not answer in time", field="source").while_reading()
    with pytest.raises(SourceUnavailable):
        session(ledger, Failing(gave_up)).ask(plan(0.25), key="k")
    with pytest.raises(Conflict, match="failed"):
        session(ledger).ask(plan(0.25), key="k")

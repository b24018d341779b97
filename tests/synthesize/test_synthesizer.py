"""The face with the names of scikit-learn: the same models, charged by a session or not at all."""

import pyarrow as pa
import pytest

from tacita.domain import Boolean, Categorical, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import BudgetExceeded, Conflict, InvalidInput, PrivacyWarning
from tacita.noise import SecureSource
from tacita.plans.session import Session
from tacita.privacy.budget import Budget
from tacita.privacy.ledger import Ledger
from tacita.privacy.unit import Neighbours, Unit
from tacita.store import Database
from tacita.synthesize import Synthesizer

pytestmark = pytest.mark.filterwarnings("ignore::tacita.errors.PrivacyWarning")  # asserted where it is the point

DOMAIN = Domain(attributes=[Boolean(name="x"), Categorical(name="y", levels=("p", "q"))])
ROWS = pa.table({"x": [True, False] * 300, "y": ["p", "q"] * 300})


def synthesizer(**more):
    given = {"epsilon": 1.0, "unit": Unit.row(), "neighbours": Neighbours.ADD_REMOVE}
    return Synthesizer(**(given | more))


@pytest.mark.parametrize("method", ["quality", "privbayes", "independent"])
def test_fit_and_sample(method):
    made = synthesizer(method=method).fit(ROWS, DOMAIN)
    rows = made.sample(50)
    assert (rows.num_rows, rows.column_names) == (50, ["x", "y"])
    assert made.synthesized_.guarantee == "central"
    assert not made.synthesized_.provenance.simulated
    assert made.synthesized_.people == pytest.approx(600, abs=200)


def test_without_a_session_it_says_what_is_spent():
    with pytest.warns(PrivacyWarning, match=r"epsilon 1 .*Session"):
        synthesizer().fit(ROWS, DOMAIN)


def test_an_engine_is_as_good_as_rows():
    assert synthesizer().fit(LocalEngine(DOMAIN, ROWS)).sample(3).num_rows == 3


def test_a_seed_repeats_and_promises_nothing():
    one, two = (synthesizer(seed=4).fit(ROWS, DOMAIN) for _ in range(2))
    assert one.sample(40) == two.sample(40)
    assert one.synthesized_.provenance.simulated
    assert one.synthesized_.guarantee == "none"
    assert synthesizer().fit(ROWS, DOMAIN).synthesized_.model.as_dict() != one.synthesized_.model.as_dict()


def test_a_session_is_charged(tmp_path):
    ledger = Ledger(Database(f"sqlite:///{tmp_path}/s.db"))
    ledger.open("people", unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE, budget=Budget.pure(1.5))
    engine = LocalEngine(DOMAIN, ROWS)
    session = Session(engine=engine, ledger=ledger, account="people", principal="me", source=SecureSource())
    made = synthesizer().fit(session)
    assert float(ledger.balance("people").spent) == pytest.approx(1.0)
    assert made.synthesized_.provenance.charge == next(ledger.history("people")).id
    with pytest.raises(InvalidInput, match="seed"):
        synthesizer(seed=1).fit(session)


def test_parameters_come_back_and_can_be_changed():
    made = synthesizer(method="independent")
    assert Synthesizer(**made.get_params()).get_params() == made.get_params()
    assert made.set_params(epsilon=0.5, method="pairs") is made
    assert (made.epsilon, made.method) == (0.5, "pairs")
    assert "epsilon=0.5" in repr(made)
    with pytest.raises(InvalidInput, match="eps"):
        made.set_params(eps=1.0)


def test_bad_input():
    with pytest.raises(Conflict, match="fit"):
        synthesizer().sample(5)
    with pytest.raises(InvalidInput, match="domain"):
        synthesizer().fit(ROWS)
    with pytest.raises(InvalidInput, match="method"):
        synthesizer(method="magic").fit(ROWS, DOMAIN)
    with pytest.raises(InvalidInput, match="epsilon"):
        synthesizer(epsilon=0.0).fit(ROWS, DOMAIN)


def test_numbers_that_are_kept_are_charged_as_one(tmp_path):
    ledger = Ledger(Database(f"sqlite:///{tmp_path}/s.db"))
    ledger.open("people", unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE, budget=Budget.pure(1.5))
    domain = Domain(attributes=[Boolean(name="x"), Numeric(name="n", bounds=(0, 999), bins=1, integer=True)])
    engine = LocalEngine(domain, pa.table({"x": [True, False] * 300, "n": [7] * 300 + list(range(300))}))
    session = Session(engine=engine, ledger=ledger, account="people", principal="me", source=SecureSource())
    made = synthesizer(numbers="fine", people=600).fit(session)
    assert float(session.balance().spent) == pytest.approx(1.0, abs=1e-3)
    assert made.get_params()["numbers"] == "fine"
    assert made.sample(600)["n"].to_pylist().count(7) == pytest.approx(300, abs=120)
    with pytest.raises(BudgetExceeded):
        synthesizer(numbers="fine", people=600).fit(session)
    assert float(session.balance().spent) <= 1.0

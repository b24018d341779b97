"""Holders in one process, each with data, a ledger and noise of its own."""

import shutil
from dataclasses import dataclass, field

import numpy as np
import pytest

from tacita.noise import SeededSource
from tacita.plans.session import Session
from tacita.privacy.budget import Budget
from tacita.privacy.ledger import Ledger
from tacita.privacy.unit import Neighbours, Unit
from tacita.store import Database
from tacita.synthesize.federated import Holder, Limits, Party, Terms
from tacita.testing.mechanism import FixedEngine


@dataclass
class Site:
    """One holder with what a test wants to look at."""

    holder: Holder
    ledger: Ledger
    engine: FixedEngine
    replies: list = field(default_factory=list)

    @property
    def name(self):
        return self.holder.name

    @property
    def spent(self):
        return self.ledger.balance(self.name).spent

    @property
    def party(self):
        return Party(name=self.name, ask=self.ask)

    def ask(self, message):
        """The exchange, instrumented: what leaves is kept."""
        self.replies.append(self.holder.answer(message))
        return self.replies[-1]


@pytest.fixture(scope="session")
def empty_state(tmp_path_factory):
    """A state database that is migrated once, and copied for each holder."""
    file = tmp_path_factory.mktemp("state") / "state.db"
    Database(f"sqlite:///{file}").close()
    return file


@pytest.fixture
def make_site(tmp_path, domain, empty_state):
    def make(name, codes, *, budget=None, neighbours=Neighbours.ADD_REMOVE, limits=None, schema=None, seed=0):
        shutil.copy(empty_state, tmp_path / f"{name}.db")
        ledger = Ledger(Database(f"sqlite:///{tmp_path}/{name}.db"))
        budget = Budget.pure(10.0) if budget is None else budget
        ledger.open(name, unit=Unit.row(), neighbours=neighbours, budget=budget)
        engine = FixedEngine(schema or domain, np.asarray(codes, int))
        session = Session(engine=engine, ledger=ledger, account=name, principal="test", source=SeededSource(seed))
        holder = Holder(name=name, session=session, ledger=ledger, limits=limits or Limits())
        return Site(holder, ledger, engine)

    return make


@pytest.fixture
def sites(make_site, chain):
    """Five holders with parts of one chain."""
    parts = np.array_split(chain(10_000), 5)
    return [make_site(f"h{at}", part, seed=at) for at, part in enumerate(parts)]


@pytest.fixture
def make_terms(domain):
    def make(**changes):
        names = changes.pop("names", ("h0", "h1", "h2", "h3", "h4"))
        plain = {
            "run": "first",
            "schema": domain.fingerprint,
            "attributes": ("a", "b", "c", "d"),
            "method": "SL2",
            "budget": Budget.pure(4.0),
            "unit": Unit.row(),
            "neighbours": Neighbours.ADD_REMOVE,
            "holders": tuple(names),
            "quorum": len(names),
        }
        return Terms(**(plain | changes))

    return make

"""A holder over HTTP: in this process, and as processes that are killed in the middle of a run."""

import json
import os
import signal
import subprocess
import sys
import textwrap

import anyio.from_thread
import httpx
import numpy as np
import pytest
from tests.support.ports import free_port

from tacita.client.holder import HolderClient, read_token
from tacita.domain import Categorical, Domain
from tacita.errors import BudgetExceeded, Conflict, DataError, InvalidInput, SourceUnavailable, Unauthorized
from tacita.noise import SecureSource, SeededSource
from tacita.plans.session import Session
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget
from tacita.privacy.ledger import Ledger
from tacita.privacy.unit import Neighbours, Unit
from tacita.server.events import Events
from tacita.server.holder import create_holder_app
from tacita.store import Database
from tacita.synthesize.federated import Holder, Limits, Party, Schedule, Terms, federate
from tacita.synthesize.federated.exchange import Request, Step
from tacita.testing.mechanism import FixedEngine

ADD = Neighbours.ADD_REMOVE
DOMAIN = Domain(attributes=[Categorical(name=name, levels=("0", "1", "2")) for name in "abcd"])
TOKEN = "0123456789abcdef" * 3
BUDGET = Budget.pure(3.0)


def rows(seed, count=3000):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, count)
    b = np.where(rng.random(count) < 0.8, a, rng.integers(0, 3, count))
    return np.stack([a, b, (a + rng.integers(0, 2, count)) % 3, rng.integers(0, 3, count)], axis=1)


def terms(*names, **changes):
    plain = {
        "run": "first",
        "schema": DOMAIN.fingerprint,
        "attributes": DOMAIN.names,
        "method": "SL2",
        "budget": BUDGET,
        "unit": Unit.row(),
        "neighbours": ADD,
        "holders": names,
        "quorum": len(names),
    }
    return Terms(**(plain | changes))


def ledger_at(path, name):
    ledger = Ledger(Database(f"sqlite:///{path}"))
    ledger.open(name, unit=Unit.row(), neighbours=ADD, budget=BUDGET)
    return ledger


class InProcess(httpx.BaseTransport):
    """Calls an app without a network, for clients that do not know of asyncio."""

    def __init__(self, app, portal):
        self._asgi, self._portal = httpx.ASGITransport(app, raise_app_exceptions=False), portal

    def handle_request(self, request):
        return self._portal.call(self._answer, request)

    async def _answer(self, request):
        sent = httpx.Request(request.method, request.url, headers=request.headers, content=request.read())
        answer = await self._asgi.handle_async_request(sent)
        return httpx.Response(answer.status_code, headers=answer.headers, content=await answer.aread())


@pytest.fixture
def portal():
    with anyio.from_thread.start_blocking_portal() as started:
        yield started


@pytest.fixture
def make_app(tmp_path, portal):
    def make(source=None, engine=None):
        database = Database(f"sqlite:///{tmp_path}/north.db")
        ledger = ledger_at(tmp_path / "north.db", "north")
        engine = engine or FixedEngine(DOMAIN, rows(0))
        session = Session(
            engine=engine, ledger=ledger, account="north", principal="test", source=source or SecureSource()
        )
        holder = Holder(name="north", session=session, ledger=ledger, limits=Limits(most=3.0))
        transport = InProcess(create_holder_app(holder, token=TOKEN, database=database), portal)
        return httpx.Client(transport=transport, base_url="http://localhost"), ledger

    return make


def post(client, body, token=TOKEN):
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    content = body if isinstance(body, bytes) else json.dumps(body)
    return client.post("/v1/holder/answers", content=content, headers=headers)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (SourceUnavailable("cannot be read", field="source", value="/secret/north.csv", private="line xyzzy"), 503),
        (DataError("must be a level", field="illness", value="rare", private="line xyzzy"), 422),
    ],
)
def test_the_details_of_a_source_stay_with_the_holder(make_app, error, status):
    class Broken(FixedEngine):
        def tables(self, workload, unit):
            raise error

    client, _ = make_app(engine=Broken(DOMAIN, rows(0)))
    answer = post(client, Request(terms=terms("north"), step=Step(kind="count")).as_dict())
    assert answer.status_code == status
    for secret in ("secret", "illness", "rare", "xyzzy"):
        assert secret not in answer.text


def test_a_step_is_answered_once_and_stored(make_app):
    client, ledger = make_app()
    message = Request(terms=terms("north"), step=Step(kind="count")).as_dict()
    first = post(client, message)
    assert first.status_code == 200
    spent = ledger.balance("north").spent
    assert spent > 0
    assert post(client, message).json() == first.json()
    assert ledger.balance("north").spent == spent


def test_only_the_analyst_with_the_token_is_answered(make_app):
    client, ledger = make_app()
    message = Request(terms=terms("north"), step=Step(kind="count")).as_dict()
    for token in ("", "x", TOKEN[:-1], TOKEN.upper() + "x"):
        refused = post(client, message, token)
        assert refused.status_code == 401
        assert refused.headers["content-type"] == "application/problem+json"
        assert TOKEN not in refused.text
    assert client.get("/v1/holder").status_code == 401
    assert ledger.balance("north").charges == 0


def test_guessing_is_slow_and_leaves_one_line(make_app, tmp_path, portal):
    client, _ = make_app()
    statuses = [
        client.get("/v1/holder", headers={"Authorization": f"Bearer guess{at}"}).status_code for at in range(70)
    ]
    assert set(statuses) == {401, 429}
    database = Database(f"sqlite:///{tmp_path}/north.db")
    (line,) = Events(database).list(kind="token-refused")
    app = client._transport._asgi.app
    with portal.wrap_async_context_manager(app.router.lifespan_context(app)):
        pass  # it begins and ends: what was counted is written then
    told = [each.detail["tries"] for each in Events(database).list(kind="token-refused")]
    database.close()
    assert told == [69, 1]
    detail = {"door": "holder", "reason": "is not this holder's token", "route": "/v1/holder", "tries": 1}
    assert (line.principal, line.detail) == ("unknown", detail)


def test_it_says_what_terms_it_would_accept(make_app):
    client, _ = make_app()
    told = client.get("/v1/holder", headers={"Authorization": f"Bearer {TOKEN}"}).json()
    assert told["schema"] == DOMAIN.fingerprint
    assert told["methods"] == ["SL1", "SL2", "SL3"]
    assert (told["unit"], told["neighbours"], told["most"]) == ("row", "add-remove", 3.0)
    assert not any("row" in name or "people" in name for name in told), "nothing about how much data there is"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[]", 422),
        ({}, 422),
        ({"tacita": "federated/2", "terms": {}, "step": {}}, 422),
        (b'{"tacita": ' + b"[" * 5000 + b"]" * 5000 + b"}", 400),
        (b'{"x": "' + b"x" * (2 << 20) + b'"}', 413),
    ],
    ids=["broken", "list", "empty", "version", "deep", "large"],
)
def test_bad_messages_are_refused_in_one_shape(make_app, body, status):
    client, ledger = make_app()
    refused = post(client, body)
    assert refused.status_code in (status, 422)
    assert refused.headers["content-type"] == "application/problem+json"
    assert ledger.balance("north").charges == 0


def test_over_the_budget_is_refused(make_app):
    client, ledger = make_app()
    refused = post(client, Request(terms=terms("north", budget=Budget.pure(4.0)), step=Step(kind="join")).as_dict())
    assert refused.status_code == 403
    assert ledger.balance("north").spent == 0


def test_seeded_noise_is_never_served(make_app):
    client, _ = make_app(SeededSource(1))
    assert post(client, Request(terms=terms("north"), step=Step(kind="join")).as_dict()).status_code == 200
    refused = post(client, Request(terms=terms("north"), step=Step(kind="count")).as_dict())
    assert refused.status_code == 403
    assert "content" not in refused.json()


def test_the_client_raises_what_the_holder_says(make_app):
    client, _ = make_app()
    transport = client._transport
    with pytest.raises(Unauthorized):
        HolderClient("http://localhost", "wrong", transport=transport).describe()
    caller = HolderClient("http://localhost", TOKEN, transport=transport)
    assert caller.describe()["name"] == "north"
    with pytest.raises(Conflict, match="schema"):
        caller.ask(Request(terms=terms("north", schema="0" * 16), step=Step(kind="join")).as_dict())


@pytest.mark.parametrize("method", ["SL1", "SL2", "SL3"])
def test_every_method_runs_over_http(make_app, method):
    client, ledger = make_app()
    caller = HolderClient("http://localhost", TOKEN, transport=client._transport)
    agreed = terms("north", method=method)
    party = Party(name="north", ask=caller.ask)
    result = federate(agreed, DOMAIN, [party], deadline=300.0, rng=np.random.default_rng(0))
    assert result.people == pytest.approx(3000, abs=6 * result.people_std)
    assert ledger.balance("north").spent == cost([(Schedule.of(agreed, DOMAIN).event, 1)], BUDGET, ADD)
    assert not result.provenance.simulated


@pytest.mark.parametrize("text", ["", "short", "with a space " * 5, "x" * 31])
def test_tokens_that_could_be_guessed_are_refused(tmp_path, text):
    (tmp_path / "token").write_text(text)
    with pytest.raises(InvalidInput, match="token"):
        read_token(tmp_path / "token")
    with pytest.raises(SourceUnavailable, match="token"):
        read_token(tmp_path / "none")


# -- killed processes -------------------------------------------------------------------------------------------------

SERVE = textwrap.dedent(
    """
    import os, signal, sys
    from pathlib import Path
    import pyarrow.csv as pa_csv
    from tacita.domain import Domain
    from tacita.engines.local import LocalEngine
    from tacita.noise import SecureSource
    from tacita.privacy.ledger import Ledger
    from tacita.plans.session import Session
    from tacita.server.holder import create_holder_app, serve_holder
    from tacita.store import Database
    from tacita.synthesize.federated import Holder, Limits

    folder, name, port, token = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
    deadly = folder / f"{name}.deadly"

    class Dies(LocalEngine):
        '''Kills its process when it counts for the second vote: after the charge is reserved, before it is settled.'''

        def tables(self, workload, unit):
            if deadly.exists() and any(set(key) == {"b", "d"} for key in workload):
                deadly.unlink()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().tables(workload, unit)

    database = Database(f"sqlite:///{folder}/{name}.db")
    ledger = Ledger(database)
    engine = Dies(Domain.read(folder / "schema.yaml"), folder / f"{name}.csv")
    session = Session(engine=engine, ledger=ledger, account=name, principal="test", source=SecureSource())
    holder = Holder(name=name, session=session, ledger=ledger, limits=Limits())
    serve_holder(create_holder_app(holder, token=token, database=database), host="127.0.0.1", port=port)
    """
)


class Site:
    """A holder in a process of its own, that can be killed and started again."""

    def __init__(self, folder, name, seed):
        self.folder, self.name = folder, name
        self.port = free_port()
        lines = [",".join(map(str, row)) for row in rows(seed)]
        (folder / f"{name}.csv").write_text("a,b,c,d\n" + "\n".join(lines) + "\n")
        self.ledger = ledger_at(folder / f"{name}.db", name)
        self.client = HolderClient(f"http://127.0.0.1:{self.port}", TOKEN, patience=120.0, timeout=120)
        self.process, self.starts = None, 0

    def start(self):
        program = self.folder / f"serve-{self.name}.py"  # each its own: both may be started at the same moment
        program.write_text(SERVE)
        command = [sys.executable, program.name, str(self.folder), self.name, str(self.port), TOKEN]
        self.process = subprocess.Popen(command, cwd=self.folder, env=os.environ | {"OMP_NUM_THREADS": "1"})
        self.starts += 1

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.client.close()
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait()


@pytest.fixture
def two(tmp_path):
    DOMAIN.write(tmp_path / "schema.yaml")
    made = [Site(tmp_path, name, seed) for seed, name in enumerate(("north", "south"))]
    for site in made:
        site.start()
    yield made
    for site in made:
        site.stop()


def test_holders_that_are_killed_never_overspend_and_the_run_goes_on(two, tmp_path):
    """One kills itself between reserving and settling; one is killed from outside after it has answered a vote."""
    north, south = two
    (tmp_path / "north.deadly").touch()
    for site in two:
        site.client.describe()  # waits until they are there
    at_once, spent = HolderClient(f"http://127.0.0.1:{north.port}", TOKEN, patience=0.0, timeout=120), []

    def asking_north(message):
        try:
            return at_once.ask(message)
        except SourceUnavailable:  # it has died in the middle of this step
            assert north.process.wait(120) == -signal.SIGKILL
            states = [charge.state for charge in north.ledger.history("north")]
            assert states.count("reserved") == 1, "the charge was made, and no answer is stored"
            spent.append(north.ledger.balance("north").spent)
            north.start()
            reply = north.client.ask(message)
            spent.append(north.ledger.balance("north").spent)
            return reply

    def asking_south(message):
        reply = south.client.ask(message)
        if reply["step"] == "vote-2" and south.starts == 1:
            south.kill()
            south.start()
            assert south.client.ask(message) == reply, "the stored answer, also after a restart"
        return reply

    agreed = terms("north", "south", run="killed")
    parties = [Party(name="north", ask=asking_north), Party(name="south", ask=asking_south)]
    result = federate(agreed, DOMAIN, parties, deadline=300.0, rng=np.random.default_rng(0))
    at_once.close()
    assert spent[0] == spent[1], "what was reserved before the crash is not charged again"
    assert [site.starts for site in two] == [2, 2]
    whole = cost([(Schedule.of(agreed, DOMAIN).event, 1)], BUDGET, ADD)
    for site in two:
        balance = site.ledger.balance(site.name)
        assert balance.spent == whole <= 3, "every step once, however often it was begun"
        assert balance.charges == 1 + 1 + 3 + 1
        assert {charge.state for charge in site.ledger.history(site.name)} == {"settled"}
    assert result.people == pytest.approx(6000, abs=6 * result.people_std)
    assert not result.provenance.simulated
    second = Request(terms=terms("north", "south", run="second"), step=Step(kind="join")).as_dict()
    with pytest.raises(BudgetExceeded):
        north.client.ask(second)

"""The client against a real server: a process of its own on a free port, killed and started again."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pytest
from tests.support.ports import free_port

from tacita.client.client import Client
from tacita.collect.device.blind import buy_token
from tacita.collect.device.device import Device
from tacita.domain import Boolean, Categorical, Domain, Numeric
from tacita.errors import (
    BudgetExceeded,
    Conflict,
    Forbidden,
    InvalidInput,
    SourceUnavailable,
    Unauthorized,
    UnknownName,
)
from tacita.learn.models import read_model
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.server.auth.tokens import Tokens
from tacita.store import Database
from tacita.tables.cells import Cells

DOMAIN = Domain(
    attributes=(
        Categorical(name="smokes", levels=("never", "daily")),
        Numeric(name="age", bounds=(0, 99), bins=5, integer=True),
    )
)


@dataclass
class Server:
    """A server process that can be killed and started again at the same place."""

    url: str
    state: str
    environment: dict[str, str]
    log: Path
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            command = [sys.executable, "-m", "tacita.server.run"]
            self.process = subprocess.Popen(command, env=self.environment, stderr=log, cwd=self.log.parent)
        deadline = time.monotonic() + 120
        while True:
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{self.url}/readyz", timeout=120).status_code == 200:
                    return
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, "it never started"
            time.sleep(0.05)

    def kill(self, how: int = signal.SIGKILL) -> None:
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(120)
            self.process = None
            self.environment["TACITA_WORKER"] = "false"  # those who kill it need none afterwards


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests here, on each store; whoever kills it starts it again."""
    folder = tmp_path_factory.mktemp("server")
    state = f"sqlite:///{folder / 'state.db'}"
    if request.param == "postgres":
        state = request.getfixturevalue("postgres").create_database(f"client_{uuid.uuid4().hex}")
    rows = [f"{'daily' if i % 3 == 0 else 'never'},{i % 90}" for i in range(1000)]
    sources = {name: {"path": f"{name}.csv"} for name in ("verbs", "models", "errors", "restart", "log", "sql")}
    for place, name in enumerate(sources):  # other rows: the same file would have one account
        (folder / f"{name}.csv").write_text("smokes,age\n" + "\n".join(rows[place:] + rows[:place]) + "\n")
    port = free_port()
    environment = os.environ | {
        "TACITA_PORT": str(port),
        "TACITA_HOME": str(folder / "home"),
        "TACITA_STATE": state,
        "TACITA_SOURCES": json.dumps(sources),
        "TACITA_JOB_STALE_SECONDS": "1",
    }
    server = Server(f"http://127.0.0.1:{port}", state, dict(environment), folder / "server.log")
    server.start()
    yield server
    server.kill(signal.SIGTERM)


@pytest.fixture
def admin(server: Server) -> Iterator[Client]:
    database = Database(server.state)
    token = Tokens(database).issue(name="admin", role="admin").text
    database.close()
    with Client(server.url, token, timeout=120) as client:
        yield client


def register(client: Client, name: str) -> None:
    client.register(
        name,
        source=name,
        domain=DOMAIN,
        unit=Unit.row(),
        neighbours=Neighbours.ADD_REMOVE,
        budget=Budget.pure(2.0),
    )


def test_unused_accounts_are_replaced_and_removed(admin: Client) -> None:
    terms = {"neighbours": Neighbours.ADD_REMOVE, "budget": Budget.pure(2.0)}
    assert admin.register("verbs", source="verbs", domain=DOMAIN, **terms).unit == "row"
    replaced = admin.replace_account("verbs", Budget.pure(0.5), neighbours=Neighbours.REPLACE_ONE)
    assert (replaced.remaining, replaced.neighbours, replaced.unit) == (0.5, "replace-one", "row")
    assert admin.remove_dataset("verbs").name == "verbs"
    assert "verbs" not in [dataset.name for dataset in admin.datasets()]


def test_sql_takes_public_dimensions_and_what_follows_noise_is_free(admin: Client) -> None:
    register(admin, "sql")
    rows = [{"habit": "never", "word": "no"}, {"habit": "daily", "word": "yes"}]
    text = "SELECT word, COUNT(*) AS n FROM sql JOIN habits ON smokes = habit GROUP BY word ORDER BY word"
    found = admin.sql(text, Budget.pure(0.5), dimensions={"habits": rows})
    assert found.groups == (("no",), ("yes",))
    assert found["n"].value.tolist() == pytest.approx([666, 334], abs=100)
    spent = admin.budget("sql").spent
    turned = text.replace("COUNT(*) AS n", "10 * COUNT(*) AS tens") + " DESC LIMIT 1"
    largest = admin.sql(turned, Budget.pure(0.5), dimensions={"habits": rows})
    assert largest.groups == (("yes",),)
    assert largest["tens"].value[0] == pytest.approx(10 * found["n"].value[1])
    assert admin.budget("sql").spent == spent
    with pytest.raises(InvalidInput, match="dimension"):
        admin.sql(text, Budget.pure(0.5))
    with pytest.raises(InvalidInput, match="at least 10 groups"):
        admin.sql(text, Budget.pure(0.5), dimensions={"habits": rows}, shrink="overall")


def test_all_verbs(server: Server, admin: Client, tmp_path: Path) -> None:
    register(admin, "verbs")
    assert "verbs" in [dataset.name for dataset in admin.datasets()]
    assert admin.dataset("verbs").attributes == ["smokes", "age"]
    assert admin.schema("verbs") == DOMAIN
    plan = admin.plan("verbs", [["smokes"]], Budget.pure(0.5))
    assert (plan.cost, plan.affordable) == (0.5, True)
    releases = admin.query("verbs", [["smokes"], ["age"]], Budget.pure(0.5), key="k", weights=[2, 1])
    again = admin.query("verbs", [["smokes"], ["age"]], Budget.pure(0.5), key="k", weights=[2, 1])
    assert again.to_json() == releases.to_json()
    assert abs(float(releases["smokes",].values.sum()) - 1000) < 300
    assert admin.budget("verbs").spent == pytest.approx(0.5, abs=0.01)
    assert admin.raise_budget("verbs", Budget.pure(3.0)).budget["epsilon"] == 3.0
    assert next(admin.charges("verbs")).purpose == "query"

    # in the background
    seen: list[str] = []
    job = admin.submit("verbs", [["smokes"]], Budget.pure(0.25))
    found = admin.wait(job.id, every=0.1, timeout=120, on_progress=lambda job: seen.append(job.state))
    assert set(found) == {("smokes",)}
    assert seen[-1] == "done"
    assert admin.jobs()[0].id == job.id
    failing = admin.submit("verbs", [["smokes"]], Budget.pure(50.0))
    with pytest.raises(BudgetExceeded) as caught:
        admin.wait(failing.id, every=0.1, timeout=120)
    assert caught.value.account == "verbs"

    # from devices
    smokes = Domain(attributes=[Boolean(name="smokes")])
    planned = admin.plan_campaign(smokes, [["smokes"]], epsilon=1.0, respondents=100)
    assert planned.epsilon_exact <= 1.0
    both = Domain(attributes=[Boolean(name="smokes"), Boolean(name="drinks")])
    asked = {"epsilon": 1.0, "respondents": 4000, "mode": "tables", "phases": "two"}
    assert admin.plan_campaign(both, [["smokes", "drinks"]], **asked).phases == 2
    phased = admin.create_campaign(both, [["smokes", "drinks"]], title="Habits", first=0.5, draft=True, **asked)
    assert phased.first_respondents == 2000
    series = admin.create_campaign(
        smokes, [["smokes"]], title="Panel", epsilon=2.0, respondents=80, waves=2, turns=2, minimum=1, id="client-panel"
    )
    assert series.series is not None
    assert (series.epsilon <= 1.0, series.series.epsilon) == (True, 2.0)
    for id in ("client-panel", "client-panel.2"):
        (asked,) = admin.questions(id)
        given = Device(
            service="https://x.example",
            ledger_path=tmp_path / "panel.json",
            limit_total_epsilon=2.0,
            limit_question_epsilon=1.0,
        )
        admin.send_reports(id, [given.answer(asked, "true")[0]])
        if id == "client-panel":
            assert [admin.open_wave(id, 2).id for _ in range(2)] == ["client-panel.2"] * 2
    assert [wave.id for wave in admin.waves("client-panel")] == ["client-panel", "client-panel.2"]
    assert len(admin.changes("client-panel.2", by=["smokes"])) == 2
    with pytest.raises(InvalidInput, match="since"):
        admin.changes("client-panel.2", since=0)
    draft = admin.create_campaign(
        smokes, [["smokes"]], epsilon=1.0, respondents=100, title="Smoking", minimum=3, draft=True
    )
    campaign = admin.open_campaign(draft.id)
    with Client(server.url, timeout=120) as respondent:
        for number in range(3):
            device = Device(
                service="https://survey.example",
                ledger_path=tmp_path / f"d{number}",
                limit_total_epsilon=2.0,
                limit_question_epsilon=2.0,
            )
            ((report, _),) = device.answer_sheet(respondent.questions(campaign.id), {"smokes": "true"})
            assert respondent.send_reports(campaign.id, [report]).accepted == 1
        with pytest.raises(Conflict, match="counted before"):
            respondent.send_reports(campaign.id, [report])
        with pytest.raises(Unauthorized):
            respondent.campaigns()
    assert admin.campaign(campaign.id).received == 3
    invited = admin.create_campaign(
        smokes, [["smokes"]], epsilon=1.0, respondents=100, title="Smoking", minimum=1, invited=True
    )
    (code,) = admin.invite(invited.id, 1)
    with Client(server.url, timeout=120) as respondent:
        device = Device(
            service=server.url, ledger_path=tmp_path / "i", limit_total_epsilon=2.0, limit_question_epsilon=2.0
        )
        sheet = respondent.questions(invited.id)
        token = buy_token(sheet[0]["key"], lambda blinded: respondent.redeem(invited.id, code, blinded))
        ((report, _),) = device.answer_sheet(sheet, {"smokes": "true"}, token=token)
        assert respondent.send_reports(invited.id, [report]).accepted == 1
    assert admin.collected(campaign.id, about="respondents")["smokes",].trust == "local"
    known = admin.collected(campaign.id)["smokes",]
    (tmp_path / "census.csv").write_text("smokes,count\ntrue,30\nfalse,70\n")
    for prior in (tmp_path / "census.csv", Cells(known.domain, np.array([70.0, 30.0]))):
        assert "prior" in admin.collected(campaign.id, prior=[prior])["smokes",].provenance.recipe
    with pytest.raises(InvalidInput, match="population"):
        admin.collected(campaign.id, about="respondents", prior=[tmp_path / "census.csv"])
    ages = Domain(attributes=[Numeric(name="age", bounds=(0, 100), bins=5)])
    asked = admin.create_campaign(
        ages, [["age"]], epsilon=1.0, respondents=100, title="Ages", minimum=1, channel="hybrid"
    )
    with Client(server.url, timeout=120) as respondent:
        device = Device(
            service=server.url, ledger_path=tmp_path / "m", limit_total_epsilon=2.0, limit_question_epsilon=2.0
        )
        ((report, _),) = device.answer_sheet(respondent.questions(asked.id), {"age": "[20, 40)"})
        assert respondent.send_reports(asked.id, [report]).accepted == 1
    (mean,) = admin.collected_means(asked.id, level=0.9)
    assert (mean.attribute, mean.respondents, mean.level, mean.bounds) == ("age", 1, 0.9, [10.0, 90.0])
    assert admin.close_campaign(campaign.id).state == "closed"
    assert campaign.id in [known.id for known in admin.campaigns()]

    # who may do what
    issued = admin.create_token(name="Ada", role="analyst", datasets=["others"])
    with Client(server.url, issued.token, timeout=120) as ada, pytest.raises(Forbidden, match="scope"):
        ada.query("verbs", [["smokes"]], Budget.pure(0.1))
    assert admin.revoke_token(issued.id).revoked is not None
    assert {token.name for token in admin.tokens()} >= {"admin", "Ada"}


def test_functions_and_models(admin: Client) -> None:
    register(admin, "models")
    about: dict[str, Any] = {"dataset": "models", "kind": "trees", "target": "smokes", "budget": Budget.pure(0.5)}
    assert admin.plan_model("smokers", **about, depth=2).affordable
    job = admin.release_model("smokers", **about, depth=2, key="once")
    model = admin.wait_model(job.id, every=0.1, timeout=120)
    assert admin.release_model("smokers", **about, depth=2, key="once").id == job.id
    assert (model.name, model.version, model.about["kind"]) == ("smokers", 1, "trees")
    told = admin.predict("smokers@1", [[20], [70]])
    assert told == admin.predict(model.id, rows=[{"age": 20}, {"age": 70}])
    local = read_model(json.dumps(admin.parameters("smokers")))
    assert told.labels == local.predict(pa.table({"age": [20, 70]})).to_pylist()
    bundle = admin.export_model("smokers")
    with pytest.raises(Conflict):
        admin.load_model(bundle)  # it is here
    with pytest.raises(InvalidInput, match="signature"):
        admin.load_model(json.dumps(json.loads(bundle) | {"name": "mine"}))
    with pytest.raises(BudgetExceeded, match="'models'"):  # refused before a job is queued
        admin.release_model("smokers", **about | {"budget": Budget.pure(50.0)})

    counts = admin.release_model("ages", dataset="models", kind="histogram", features=["age"], budget=Budget.pure(0.5))
    assert admin.wait_model(counts.id, every=0.1, timeout=120).about["kind"] == "histogram"
    assert [each.name for each in admin.models()] == ["ages", "smokers"]
    assert [each.id for each in admin.models("smokers")] == [model.id]
    assert admin.delete_model("smokers").state == "deleted"
    with pytest.raises(UnknownName):
        admin.model("smokers")


def test_errors_are_the_librarys(admin: Client) -> None:
    register(admin, "errors")
    with pytest.raises(UnknownName, match="smokes") as unknown:
        admin.query("errors", [["smoke"]], Budget.pure(0.5))
    assert unknown.value.field == "attribute"
    with pytest.raises(BudgetExceeded) as exceeded:
        admin.query("errors", [["smokes"]], Budget.pure(5.0))
    assert (exceeded.value.requested, exceeded.value.remaining) == ("5", "2")
    with pytest.raises(Conflict, match="exists already"):
        register(admin, "errors")
    with pytest.raises(InvalidInput, match="weights"):
        admin.plan("errors", [["smokes"]], Budget.pure(0.5), weights=[1, 2])


def report(campaign: str, answer: int = 1) -> dict[str, Any]:
    return {"wire": 1, "campaign": campaign, "question": "q1", "report": uuid.uuid4().hex, "answer": answer}


def test_no_acknowledged_report_is_lost_or_counted_twice(server: Server, admin: Client) -> None:
    """kill -9 in the middle of posting: what was acknowledged counts once, and so does what is sent again."""
    asked = Domain(attributes=[Boolean(name="x")])
    campaign = admin.create_campaign(asked, [["x"]], epsilon=1.0, respondents=100, title="t", minimum=1).id
    batches = [[report(campaign) for _ in range(5)] for _ in range(120)]
    waiting, acknowledged, lock = iter(batches), [], threading.Lock()
    unsure: list[list[dict[str, Any]]] = []
    stop = threading.Event()

    def post() -> None:
        with httpx.Client(base_url=server.url, timeout=120) as http:
            while not stop.is_set():
                with lock:
                    batch = next(waiting, None)
                if batch is None:
                    return
                try:
                    answer = http.post(f"/v1/campaigns/{campaign}/reports", json={"reports": batch})
                    assert answer.status_code == 200
                    acknowledged.append(batch)
                except httpx.TransportError:
                    unsure.append(batch)
                    return

    senders = [threading.Thread(target=post) for _ in range(4)]
    for sender in senders:
        sender.start()
    while len(acknowledged) < 25:
        time.sleep(0.005)
    server.kill()
    stop.set()
    for sender in senders:
        sender.join()
    assert len(acknowledged) < len(batches), "it was killed too late to show anything"
    server.start()
    received = admin.campaign(campaign).received
    sure = 5 * len(acknowledged)
    assert sure <= received <= sure + 5 * len(unsure)
    # the senders try again what they are not sure of, and everything else as well
    for batch in [*unsure, *waiting, *acknowledged[:3]]:
        with contextlib.suppress(Conflict):
            admin.send_reports(campaign, batch)
    assert admin.campaign(campaign).received == 5 * len(batches)


def test_a_query_is_retried_over_a_restart(server: Server, admin: Client) -> None:
    register(admin, "restart")
    server.kill()
    back = threading.Thread(target=lambda: (time.sleep(0.3), server.start()))
    back.start()
    token = admin._http.headers["Authorization"].split()[1]
    patient = Client(server.url, token, retries=100, timeout=120)  # pauses of three minutes in all
    assert set(patient.query("restart", [["smokes"]], Budget.pure(0.5))) == {("smokes",)}
    back.join()
    patient.close()
    assert admin.budget("restart").charges == 1


def test_the_log_of_a_real_server(server: Server, admin: Client) -> None:
    register(admin, "log")
    admin.query("log", [["smokes"]], Budget.pure(0.5))
    with pytest.raises(UnknownName):
        admin.dataset("needle4711")
    text = server.log.read_text()
    assert '"route":"/v1/datasets/{name}/query"' in text
    for secret in ("needle4711", admin._http.headers["Authorization"].split("_")[2], "smokes"):
        assert secret not in text, text


# -- without a server ----------------------------------------------------------------------------------------


class Flaky(httpx.BaseTransport):
    """Loses the first answers: the request arrived, the reply did not."""

    def __init__(
        self, losses: int, *answers: httpx.Response, error: type[httpx.TransportError] = httpx.ReadError
    ) -> None:
        self.losses, self.answers, self.error = losses, list(answers), error
        self.requests: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)
        if len(self.requests) <= self.losses:
            raise self.error("lost")
        return self.answers.pop(0)


def problem(code: str, **parts: Any) -> httpx.Response:
    headers = {"Content-Type": "application/problem+json"}
    return httpx.Response(409, json={"code": code, "rule": "no", **parts}, headers=headers)


def test_a_lost_answer_is_asked_for_with_the_same_key() -> None:
    transport = Flaky(2, problem("budget-exceeded"))
    with Client("http://x", transport=transport) as client, pytest.raises(BudgetExceeded):
        client.query("patients", [["a"]], Budget.pure(1.0))
    keys = {request.headers["Idempotency-Key"] for request in transport.requests}
    assert (len(transport.requests), len(keys)) == (3, 1)


def test_lost_reports_that_arrived_are_not_an_error() -> None:
    sent = [report("c")]
    with Client("http://x", transport=Flaky(1, problem("conflict", field="report"))) as client:
        assert client.send_reports("c", sent).replayed == [sent[0]["report"]]
    with (
        Client("http://x", transport=Flaky(0, problem("conflict", field="report"))) as client,
        pytest.raises(Conflict),
    ):
        client.send_reports("c", sent)
    with (
        Client("http://x", transport=Flaky(1, problem("conflict", field="campaign"))) as client,
        pytest.raises(Conflict),
    ):
        client.send_reports("c", sent)


def test_what_may_not_happen_twice_is_not_sent_twice() -> None:
    transport = Flaky(9)
    with Client("http://x", transport=transport) as client, pytest.raises(SourceUnavailable):
        client.create_token(name="Ada", role="analyst", datasets=None)
    assert len(transport.requests) == 1
    refused = Flaky(9, error=httpx.ConnectError)
    with Client("http://x", transport=refused, retries=1) as client, pytest.raises(SourceUnavailable):
        client.create_token(name="Ada", role="analyst", datasets=None)
    assert len(refused.requests) == 2  # nothing arrived, so it may be tried again


def test_something_else_answers() -> None:
    page = httpx.Response(502, text="<html>bad gateway</html>")
    with (
        Client("http://x", transport=Flaky(0, page)) as client,
        pytest.raises(SourceUnavailable, match="502"),
    ):
        client.datasets()


def test_names_are_quoted() -> None:
    transport = Flaky(0, problem("unknown-name"))
    with Client("http://x", transport=transport) as client, pytest.raises(UnknownName):
        client.dataset("../v1/tokens?x")
    assert transport.requests[0].url.raw_path == b"/v1/datasets/..%2Fv1%2Ftokens%3Fx"


@pytest.mark.parametrize("url", ["", "tacita.example", "ftp://x", "http://user:pass@x", "http://x?token=1"])
def test_bad_addresses(url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Client(url, timeout=120)
    assert caught.value.field == "url"


def test_the_token_is_not_shown() -> None:
    assert "tct_" not in repr(Client("http://x", "tct_0_0"))


def test_the_client_needs_no_server_and_no_database() -> None:
    heavy = {"fastapi", "sqlalchemy", "huey", "sklearn", "scipy.stats", "tacita.synthesize.auto", "tacita.learn.models"}
    code = f"import sys, tacita.client.client; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"

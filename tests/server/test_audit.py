"""The audit log over HTTP: every deed leaves its line, and no line tells what is private."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest

from tacita.errors import SourceUnavailable
from tacita.report.signing import SigningKey
from tacita.store import now
from tacita.store.events import KINDS

from .conftest import ROWS, SCHEMA
from .releasing.test_federated import NAMES, TOKEN
from .releasing.test_federated import body as federated_body

BUDGET = {"epsilon": 0.4}
MADE_UP = {"dataset": "patients", "budget": BUDGET, "rows": 20, "purpose": "teaching"}
FUNCTION = {"dataset": "patients", "name": "ages", "kind": "histogram", "features": ["age"], "budget": BUDGET}
FIT = {"dataset": "patients", "name": "smokers", "kind": "logistic", "target": "smokes", "budget": BUDGET}
POLICY = {"quasi": ["age"], "sensitive": ["smokes"], "k": 5, "l": 1.0}
PLAN = {"dataset": "patients", "attempts": 100, "control": 0.4, "releases": [{"statistics": {"epsilon": 1.0}}]}
PLANTED = "planted-7731"


class Doer:
    """Somebody with a token, who does things in a world that is ready for them."""

    def __init__(self, world, role="steward"):
        self.world, self.text = world, world.token(role)
        self.principal = f"a {role} ({self.text.split('_')[1]})"

    def call(self, method: str, path: str, body: Any = None, **parts: Any) -> Any:
        parts |= {} if body is None else {"json": body}
        answer = self.world.call(method, path, token=self.text, **parts)
        assert answer.status_code < 300, answer.text
        return answer

    def ready(self) -> None:
        if "patients" not in [dataset.name for dataset in self.world.services.datasets.list()]:
            assert self.world.register(budget={"epsilon": 20.0}).status_code == 201

    def release(self) -> str:
        self.ready()
        id = str(self.call("POST", "/v1/releases/synthetic", MADE_UP).json()["id"])
        self.world.services.jobs.work(id, self.world.services)
        return id

    def function(self) -> str:
        self.ready()
        job = self.call("POST", "/v1/models", FUNCTION).json()["id"]
        self.world.services.jobs.work(job, self.world.services)
        return str(self.call("GET", f"/v1/models/{job}").json()["id"])

    def campaign(self, **changes: Any) -> str:
        return str(self.world.campaign(**changes)["id"])

    def lines(self, kind: str) -> list[tuple[str, dict[str, Any]]]:
        """Subject and detail of what this one has done of a kind."""
        found = self.world.services.events.list(kind=kind, limit=1000)
        return [(line.subject, dict(line.detail)) for line in found if line.principal == self.principal]


def token_made(doer):
    made = doer.call("POST", "/v1/tokens", {"name": "Ada", "role": "analyst", "datasets": ["patients"]}).json()
    return made["id"], {"name": "Ada", "role": "analyst", "datasets": ["patients"]}


def token_ended(doer):
    id, _ = token_made(doer)
    doer.call("DELETE", f"/v1/tokens/{id}")
    return id, {"name": "Ada", "role": "analyst"}


def source_brought(doer, name="extra"):
    content = f"smokes,age\n{PLANTED},31\n{name},1\n"
    doer.call("PUT", f"/v1/sources/{name}", content=content, headers={"Content-Type": "text/csv"})
    return name, {"format": "csv"}


def source_removed(doer):
    source_brought(doer, "other")
    doer.call("DELETE", "/v1/sources/other")
    return "other", {}


def schema_drafted(doer):
    source_brought(doer, "fresh")
    doer.call("GET", "/v1/sources/fresh/draft")
    return "fresh", {}


def file_anonymized(doer):
    rows = "smokes,age\n" + f"daily,31\n{PLANTED},32\n" * 20
    form = {"schema": json.dumps(SCHEMA), "options": json.dumps(POLICY)}
    doer.call("POST", "/v1/anonymize", files={"file": (f"{PLANTED}.csv", rows)}, data=form)
    return "", POLICY | {"method": "mondrian", "outcome": "left"}


def dataset_registered(doer, name="own", source="mine"):
    source_brought(doer, source)
    terms = {"unit": "row", "neighbours": "add-remove", "budget": {"epsilon": 2.0}}
    doer.call("POST", "/v1/datasets", {"name": name, "source": source, "schema": SCHEMA} | terms)
    detail = {"source": source} | terms
    return name, detail | {"budget": {"epsilon": 2.0, "delta": 0.0}}


def dataset_removed(doer, name="gone"):
    dataset_registered(doer, name, name)
    doer.call("DELETE", f"/v1/datasets/{name}")
    return name, {"source": name}


def account_closed(doer):
    dataset_removed(doer, "closed")
    return "closed", {}


def account_replaced(doer):
    dataset_registered(doer, "replaced", "replaced")
    doer.call("PUT", "/v1/datasets/replaced/budget", {"budget": {"epsilon": 0.5}})
    return "replaced", {"old": "row, add-remove, epsilon 2", "new": "row, add-remove, epsilon 0.5"}


def budget_raised(doer):
    doer.ready()
    doer.call("POST", "/v1/datasets/patients/budget", {"budget": {"epsilon": 25.0}})
    return "patients", {"old": {"epsilon": 20.0, "delta": 0.0}, "new": {"epsilon": 25.0, "delta": 0.0}}


def policy_set(doer):
    doer.ready()
    doer.call("PUT", "/v1/datasets/patients/policy", POLICY)
    return "patients", POLICY


def made_up(doer):
    doer.ready()
    job = doer.call("POST", "/v1/releases/synthetic", MADE_UP).json()["id"]
    return "patients", {"asked": "synthesize", "job": job, "purpose": "teaching"}


def anonymized(doer):
    policy_set(doer)
    job = doer.call("POST", "/v1/releases/anonymized", {"dataset": "patients", "k": 7, "purpose": "teaching"}).json()
    return "patients", {"asked": "anonymize", "job": job["id"], "k": 7, "purpose": "teaching"}


def queried(doer):
    doer.ready()
    body = {"kind": "query", "dataset": "patients", "tables": [["smokes"]], "budget": BUDGET, "purpose": "teaching"}
    job = doer.call("POST", "/v1/jobs", body).json()["id"]
    return "patients", {"asked": "query", "job": job, "purpose": "teaching"}


def function_asked(doer):
    doer.ready()
    return "patients", {"asked": "function", "job": doer.call("POST", "/v1/models", FUNCTION).json()["id"]}


def fit_asked(doer):
    doer.ready()
    return "patients", {"asked": "fit", "job": doer.call("POST", "/v1/models/fit", FIT).json()["id"]}


def assessment_asked(doer):
    release = doer.release()
    job = doer.call("POST", "/v1/assessments", {"release": release}).json()["id"]
    return "patients", {"asked": "assess", "job": job, "release": release}


def comparison_asked(doer):
    doer.ready()
    return "patients", {"asked": "compare", "job": doer.call("POST", "/v1/comparisons", PLAN).json()["id"]}


def job_cancelled(doer):
    subject, detail = made_up(doer)
    for _ in range(2):  # the second changes nothing, and so leaves no line
        doer.call("POST", f"/v1/jobs/{detail['job']}/cancel")
    return subject, {"asked": "synthesize", "job": detail["job"]}


def charged(doer):
    doer.ready()
    body = {"tables": [["smokes"]], "budget": BUDGET, "purpose": "teaching"}
    for _ in range(2):  # the second finds the charge of the first
        doer.call("POST", "/v1/datasets/patients/query", body, headers={"Idempotency-Key": "once"})
    (charge,) = doer.call("GET", "/v1/datasets/patients/charges").json()["charges"][-1:]
    return "patients", {"charge": charge["id"], "purpose": "teaching"}


def rows_left(doer):
    policy_set(doer)
    doer.call("GET", "/kanon?data_source=patients&k=5")
    return "patients", {"release": "k-anonymous", "columns": ["age", "smokes"]}


def rows_fetched(doer):
    id = doer.release()
    doer.call("GET", f"/v1/releases/{id}/rows?format=ndjson&limit=3")
    return "patients", {"job": id, "format": "ndjson", "limit": 3}


def model_fetched(doer):
    id = doer.release()
    doer.call("GET", f"/v1/releases/{id}/model")
    return "patients", {"job": id, "format": "model"}


def release_deleted(doer):
    id = doer.release()
    for _ in range(2):
        doer.call("DELETE", f"/v1/releases/{id}")
    return "patients", {"job": id}


def model_exported(doer):
    id = doer.function()
    doer.call("POST", f"/v1/models/{id}/export")
    return "patients", {"model": id, "name": "ages"}


def model_deleted(doer):
    id = doer.function()
    doer.call("DELETE", f"/v1/models/{id}")
    return "patients", {"model": id, "name": "ages"}


def campaign_made(doer):
    body = {
        "title": "Smoking",
        "schema": {"tacita": 1, "attributes": [{"kind": "boolean", "name": "smokes"}]},
        "tables": [["smokes"]],
        "epsilon": 1.0,
        "respondents": 100,
    }
    made = doer.call("POST", "/v1/campaigns", body).json()
    assert [subject for subject, _ in doer.lines("campaign-opened")] == [made["id"]]  # it was no draft
    return made["id"], {"title": "Smoking", "epsilon": made["epsilon"]}


def campaign_opened(doer):
    id = doer.campaign(draft=True)
    for _ in range(2):
        doer.call("POST", f"/v1/campaigns/{id}/open")
    return id, {"title": "Smoking"}


def campaign_closed(doer):
    id = doer.campaign()
    for _ in range(2):
        doer.call("POST", f"/v1/campaigns/{id}/close")
    return id, {"title": "Smoking", "reason": "closed by its owner"}


def tally_taken(doer):
    id = doer.campaign()
    doer.call("GET", f"/v1/campaigns/{id}/tally")
    return id, {"title": "Smoking"}


def tally_merged(doer):
    id = doer.campaign()
    doer.call("POST", f"/v1/campaigns/{id}/merge", doer.call("GET", f"/v1/campaigns/{id}/tally").json())
    return id, {"title": "Smoking"}


def block_adopted(doer):
    origins = ["https://a.example", "https://b.example"]
    shared = {"aggregators": origins, "rounds": {"size": 1}, "channel": "rr", "minimum": 1}
    id = doer.campaign(**shared, shard=[1, 2])
    block = doer.call("GET", f"/v1/campaigns/{id}/block").json() | {"block": 2}
    block["questions"] = [question | {"question": question["question"] + ".2"} for question in block["questions"]]
    doer.call("POST", f"/v1/campaigns/{id}/block", block)
    return id, {"title": "Smoking", "block": 2}


def invitations_made(doer):
    id = doer.campaign(invited=True)
    doer.call("POST", f"/v1/campaigns/{id}/invitations", {"count": 3})
    return id, {"title": "Smoking", "count": 3}


DEEDS = [
    ("invitations-made", "steward", invitations_made),
    ("block-adopted", "steward", block_adopted),
    ("token-made", "admin", token_made),
    ("token-ended", "admin", token_ended),
    ("source-brought", "steward", source_brought),
    ("source-removed", "steward", source_removed),
    ("schema-drafted", "steward", schema_drafted),
    ("file-anonymized", "steward", file_anonymized),
    ("dataset-registered", "steward", dataset_registered),
    ("dataset-removed", "steward", dataset_removed),
    ("account-closed", "steward", account_closed),
    ("account-replaced", "steward", account_replaced),
    ("budget-raised", "steward", budget_raised),
    ("policy-set", "steward", policy_set),
    ("job-asked", "analyst", made_up),
    ("job-asked", "steward", anonymized),
    ("job-asked", "analyst", queried),
    ("job-asked", "analyst", function_asked),
    ("job-asked", "analyst", fit_asked),
    ("job-asked", "steward", assessment_asked),
    ("job-asked", "steward", comparison_asked),
    ("job-cancelled", "analyst", job_cancelled),
    ("charge", "steward", charged),
    ("rows-left", "steward", rows_left),
    ("rows-fetched", "analyst", rows_fetched),
    ("rows-fetched", "analyst", model_fetched),
    ("release-deleted", "analyst", release_deleted),
    ("model-exported", "steward", model_exported),
    ("model-deleted", "steward", model_deleted),
    ("campaign-made", "steward", campaign_made),
    ("campaign-opened", "steward", campaign_opened),
    ("campaign-closed", "steward", campaign_closed),
    ("tally-taken", "steward", tally_taken),
    ("tally-merged", "steward", tally_merged),
]
ELSEWHERE = {"log-begun", "model-loaded", "signed-in", "signed-out"}  # below, and in tests/console
# tests/privacy/test_reopening, tests/store/test_backup
ELSEWHERE |= {"account-reopened", "ledger-fenced", "ledger-reopened", "state-copied"}
# test_refused_tokens, tests/privacy/test_data_marks, releasing/test_seen
ELSEWHERE |= {"token-refused", "data-again", "answer-read"}


def page(world, token: str, **query: Any) -> Any:
    answer = world.call("GET", "/v1/audit", token=token, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_every_kind_is_tried():
    assert {kind for kind, *_ in DEEDS} | ELSEWHERE == set(KINDS)


@pytest.mark.parametrize(("kind", "role", "deed"), DEEDS, ids=[deed.__name__ for *_, deed in DEEDS])
def test_each_deed_leaves_one_line(world, kind, role, deed) -> None:
    doer = Doer(world, role)
    subject, detail = deed(doer)
    found = [line for line in doer.lines(kind) if line[0] == subject and detail.items() <= line[1].items()]
    assert len(found) == 1, doer.lines(kind)


def test_a_budget_stands_in_what_was_asked_for(world) -> None:
    doer = Doer(world, "analyst")
    made_up(doer)
    ((_, detail),) = doer.lines("job-asked")
    assert detail["budget"] == {"epsilon": 0.4, "delta": 0.0}
    assert set(detail) == {"job", "asked", "budget", "purpose"}  # nothing else of the request


def test_what_is_asked_for_again_with_its_key_leaves_no_second_line(world) -> None:
    doer = Doer(world, "analyst")
    doer.ready()
    for _ in range(3):
        doer.call("POST", "/v1/releases/synthetic", MADE_UP, headers={"Idempotency-Key": "once"})
    assert len(doer.lines("job-asked")) == 1


def test_a_model_that_comes_from_elsewhere(world_of, tmp_path) -> None:
    first, second = world_of(), world_of(home=tmp_path / "second")
    giver, taker = Doer(first), Doer(second)
    taker.ready()
    id = giver.function()
    bundle = giver.call("POST", f"/v1/models/{id}/export").json()
    body = {"bundle": bundle, "signed_by": [SigningKey.of(first.services.settings.home).public]}
    taker.call("POST", "/v1/models/bundles", body)
    assert taker.lines("model-loaded") == [("patients", {"model": id, "name": "ages", "version": 1})]


def test_a_run_with_holders_belongs_to_no_dataset(world_of, tmp_path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    away = {name: {"url": "http://127.0.0.1:1", "token_file": tmp_path / "token"} for name in NAMES}
    doer = Doer(world_of(holders=away))
    job = doer.call("POST", "/v1/releases/federated", federated_body()).json()["id"]
    ((subject, detail),) = doer.lines("job-asked")
    assert (subject, detail["asked"], detail["job"], detail["budget"]["epsilon"]) == ("", "federate", job, 1.0)


def test_a_campaign_that_closes_by_itself_says_so(world, monkeypatch) -> None:
    closes = now() + dt.timedelta(hours=1)
    id = world.campaign(closes=closes.isoformat())["id"]
    monkeypatch.setattr("tacita.collect.campaigns.store.now", lambda: closes)
    world.call("GET", f"/v1/campaigns/{id}", token=world.token("analyst"))  # whoever looks first does not close it
    (line,) = world.services.events.list(kind="campaign-closed")
    assert (line.subject, line.principal, line.detail["reason"]) == (id, "its own terms", "its time is up")


def test_what_was_refused_leaves_no_line(world) -> None:
    doer = Doer(world, "analyst")
    doer.ready()
    before = len(world.services.events.list(limit=1000))
    body = {"tables": [["smokes"]], "budget": {"epsilon": 99.0}}
    assert world.call("POST", "/v1/datasets/patients/query", token=doer.text, json=body).status_code == 403
    assert world.call("POST", "/v1/tokens", token=doer.text, json={"name": "x", "role": "admin"}).status_code == 403
    assert world.call("GET", "/v1/releases/job_x/rows", token=doer.text).status_code == 404
    assert world.call("DELETE", "/v1/sources/none", token=Doer(world).text).status_code == 404
    assert len(world.services.events.list(limit=1000)) == before + 1  # the token that was made for the last


def test_rows_do_not_leave_without_their_line(world, monkeypatch) -> None:
    doer = Doer(world, "analyst")
    id = doer.release()

    def away(*_: Any, **__: Any) -> None:
        raise SourceUnavailable("the state database cannot be reached", field="state")

    monkeypatch.setattr(type(world.services.events), "record", away)
    for path in ("rows", "model"):
        refused = world.call("GET", f"/v1/releases/{id}/{path}", token=doer.text)
        assert refused.status_code == 503
        assert refused.json()["code"] == "source-unavailable"


def test_a_file_that_cannot_be_anonymized_leaves_its_line_too(world) -> None:
    """The code of what went wrong, not its words; and what was refused before a row was read leaves none."""
    doer = Doer(world)
    form = {"schema": json.dumps(SCHEMA), "options": json.dumps(POLICY | {"k": 50})}

    def refused(rows: str, form: dict[str, str]) -> None:
        files = {"file": ("x", rows)}
        assert world.call("POST", "/v1/anonymize", token=doer.text, files=files, data=form).status_code in (404, 422)

    refused(f"smokes,age\n{PLANTED},31\n", form)
    refused(f"smokes,{PLANTED}\ndaily,31\n", form)
    refused("smokes,age\ndaily,31\n", form | {"options": json.dumps(POLICY | {"quasi": ["nothing"]})})
    found = doer.lines("file-anonymized")
    assert [(subject, detail["outcome"], detail["k"]) for subject, detail in found] == [
        ("", "data-error", 50),
        ("", "invalid-input", 50),
    ]
    assert PLANTED not in str(found)


@pytest.mark.parametrize("path", ["/v1/anonymize", "/v1/sources/extra/draft"])
def test_nothing_of_a_file_leaves_without_its_line(world, monkeypatch, path) -> None:
    doer = Doer(world)
    source_brought(doer)

    def away(*_: Any, **__: Any) -> None:
        raise SourceUnavailable("the state database cannot be reached", field="state")

    monkeypatch.setattr(type(world.services.events), "record", away)
    form = {"schema": json.dumps(SCHEMA), "options": json.dumps(POLICY)}
    sent = {"files": {"file": ("x", "smokes,age\n" + "daily,31\n" * 20)}, "data": form}
    method, parts = ("POST", sent) if path == "/v1/anonymize" else ("GET", {})
    refused = world.call(method, path, token=doer.text, **parts)
    assert (refused.status_code, refused.json()["code"]) == (503, "source-unavailable")


def numbers_in(value: Any) -> set[float]:
    if isinstance(value, dict):
        return set().union(*map(numbers_in, value.values()))
    if isinstance(value, list):
        return set().union(*map(numbers_in, value))
    return {float(value)} if isinstance(value, (int, float)) else set()


def test_no_line_holds_a_secret_or_a_private_value(world) -> None:
    """Everything is done once; then every line is searched for what must not be there."""
    texts = [world.services.tokens.issue(name="Eve", role="admin").text]
    for _, role, deed in DEEDS:
        if deed is not campaign_made:  # asserts that it is the only one
            doer = Doer(world, role)
            deed(doer)
            texts.append(doer.text)
    asker = Doer(world, "steward")
    body = {"tables": [["smokes"]], "budget": BUDGET}
    answered = asker.call("POST", "/v1/datasets/patients/query", body).json()["releases"][0]["estimate"]
    found = [line.as_dict() for line in world.services.events.list(limit=1000)]
    everything = json.dumps(found)
    assert {line["kind"] for line in found} == set(KINDS) - ELSEWHERE | {"log-begun"}
    assert '"name": "Eve"' in everything  # what is searched is the log
    for text in texts:
        assert text.split("_")[2] not in everything
    for cell in (PLANTED, "never", "daily"):  # of rows that were brought, read and fetched
        assert cell not in everything
    counts = {ROWS, sum(i % 3 == 0 for i in range(ROWS)), sum(i % 3 != 0 for i in range(ROWS))}
    told = numbers_in([line["detail"] for line in found])
    assert {20.0, 25.0, 0.4} <= told  # budgets are
    assert not told & {*map(float, counts), *answered}


def test_who_may_read_it_and_how_far(world) -> None:
    Doer(world).ready()
    id = world.campaign()["id"]
    for role in ("analyst", "holder"):
        assert world.call("GET", "/v1/audit", token=world.token(role)).status_code == 403
    assert world.call("GET", "/v1/audit").status_code == 401
    every = {line["subject"] for line in page(world, world.token("steward"))["events"]}
    assert {"patients", id, ""} < every
    for scope in (["patients"], [id], ["patients", id], ["nobody"], []):
        for role in ("steward", "admin"):
            seen = page(world, world.token(role, datasets=scope), limit=1000)
            assert {line["subject"] for line in seen["events"]} == set(scope) - {"nobody"}
            hidden = page(world, world.token(role, datasets=scope), kind="token-made")
            assert hidden == {"events": [], "next_before": None}


def test_pages_are_newest_first_and_meet_without_a_gap(both) -> None:
    for number in range(25):
        both.services.events.record("charge", f"set {number % 2}", "Ada (1)", number=number)
    token = both.token("admin")
    found, before, sizes = [], None, []
    while before is not None or not sizes:
        query = {"limit": 10, "kind": "charge"} | ({} if before is None else {"before": before})
        got = page(both, token, **query)
        found += [line["detail"]["number"] for line in got["events"]]
        sizes.append(len(got["events"]))
        before = got["next_before"]
        both.services.events.record("charge", "late", "Ada (1)", number=-1)  # what comes later moves no page
    assert (found, sizes) == (list(range(24, -1, -1)), [10, 10, 5])
    ids = [line["id"] for line in page(both, token, limit=1000)["events"]]
    assert ids == sorted(set(ids), reverse=True)
    scoped = page(both, both.token("steward", datasets=["set 1"]), limit=1000)["events"]
    assert [line["detail"]["number"] for line in scoped] == list(range(23, 0, -2))


@pytest.mark.parametrize(
    "query",
    [{"limit": 0}, {"limit": 1001}, {"limit": "x"}, {"before": 0}, {"before": 1 << 63}, {"kind": "guess"}],
)
def test_bad_questions(world, query) -> None:
    refused = world.call("GET", "/v1/audit", token=world.token(), params=query)
    assert refused.status_code == 422
    assert refused.json()["field"].endswith(next(iter(query)))

"""What leaves the browser: the page's own files, the request for the questions, and the report; nothing of the truth.

The coin is the browser's own (`crypto.getRandomValues`). Where a test must know how it falls, that one function is
replaced before the page loads; everything else is as it is.
"""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from scipy.stats import chisquare

from tacita.domain import Categorical
from tacita.server.respond.files import load

SETTINGS = {"TACITA_WORKER": "false", "TACITA_ANONYMOUS_RATE_LIMIT": "0"}
LEVELS = ["plant-amber", "plant-beryl", "plant-coral"]
PLANT = Categorical(name="plant", levels=LEVELS)
FALSE_ALARM = 1e-9

# All words of eight bytes are one and the same, and report numbers are noughts.
RIGGED = """Crypto.prototype.getRandomValues = function (array) {
  const low = WORD % 2 ** 21, view = new DataView(array.buffer);
  array.fill(0);
  if (array.length === 8) {
    view.setUint32(0, low * 2 ** 11, true);
    view.setUint32(4, Math.floor(WORD / 2 ** 21), true);
  }
  return array;
};"""


@dataclass
class Traffic:
    """Every request of a page, with all that it carries."""

    page: Any
    seen: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.context.on("request", self._note)

    def _note(self, request: Any) -> None:
        carried = {"method": request.method, "url": request.url, "body": request.post_data}
        self.seen.append(carried | {"headers": request.all_headers()})

    def bodies(self) -> list[Any]:
        return [json.loads(request["body"]) for request in self.seen if request["body"] is not None]


@pytest.fixture
def watched(browse):
    """A phone whose every request is seen: a worker's would not be."""
    page = browse(phone=True, service_workers="block")
    return page, Traffic(page)


def test_nothing_but_the_page_the_questions_and_the_report(service, campaign, watched, respondent):
    id, (page, traffic) = campaign(PLANT), watched
    person = respondent(page)
    person.answer(f"{service.url}/{id}", "plant-coral")
    person.sees("result.sent")
    addresses = {(request["method"], request["url"].removeprefix(service.url)) for request in traffic.seen}
    own = {("GET", f"/respond/{load().version}/{name}") for name in load().content}
    others = {("GET", f"/{id}"), ("GET", f"/v1/campaigns/{id}/questions"), ("POST", f"/v1/campaigns/{id}/reports")}
    assert others <= addresses <= others | own
    (body,) = traffic.bodies()
    (report,) = body["reports"]
    assert set(body) == {"reports"}
    assert set(report) == {"wire", "campaign", "question", "report", "answer"}
    assert type(report["answer"]) is int
    for request in traffic.seen:
        assert not any(request["headers"].get(name) for name in ("cookie", "referer", "authorization")), request


def test_the_worker_asks_for_the_page_and_nothing_else(service, campaign, phone, respondent):
    id, person = campaign(PLANT), respondent(phone)
    before = len(service.log.splitlines())
    person.answer(f"{service.url}/{id}", "plant-coral")
    person.sees("result.sent")
    person.keeps_page()
    phone.reload()
    person.sees("result.sent")
    lines = [json.loads(line) for line in service.log.splitlines()[before:]]
    routes = {(line["method"], line["route"]) for line in lines if "route" in line}
    routes.discard(("POST", "/v1/campaigns"))  # the line of its creation may be written late
    assert routes == {
        ("GET", "/{campaign}"),
        ("GET", "/respond/{version}/{name:path}"),
        ("GET", "/v1/campaigns/{id}/questions"),
        ("POST", "/v1/campaigns/{id}/reports"),
    }
    cached = phone.evaluate(
        """async () => {
          const found = [];
          for (const name of await caches.keys())
            for (const { url } of await (await caches.open(name)).keys()) found.push(new URL(url).pathname);
          return found;
        }"""
    )
    assert cached
    assert all(path.startswith(f"/respond/{load().version}/") for path in cached)


MANY = """async ([version, id, value, times]) => {
  const of = (name) => import(`/respond/${version}/${name}`);
  const [{ answerSurvey }, { Keeping }, { fetchSheet, sendWaiting }, { Device }] =
    await Promise.all(["answering.js", "keeping.js", "sending.js", "client/index.js"].map(of));
  const sheet = await fetchSheet(id);
  for (let i = 0; i < times; i++) {
    localStorage.clear(); // another device
    const keeping = new Keeping(localStorage);
    const { question, total } = keeping.limits;
    const limits = { limitQuestionEpsilon: question, limitTotalEpsilon: total };
    const device = new Device({ service: location.origin, storage: localStorage, ...limits });
    await answerSurvey(device, keeping, id, sheet, value);
    await sendWaiting(keeping);
  }
}"""


@pytest.mark.parametrize("truth", [0, 2])
def test_what_is_sent_follows_the_channel(service, campaign, received, watched, respondent, truth):
    """Always the truth, never the truth, or any other law than the channel's would be seen in 300 reports."""
    id, (page, traffic), times = campaign(PLANT), watched, 300
    page.goto(f"{service.url}/{id}")
    respondent(page).button("begin").wait_for()
    page.evaluate(MANY, [load().version, id, {"plant": LEVELS[truth]}, times])
    page.wait_for_timeout(100)
    answers = [report["answer"] for body in traffic.bodies() for report in body["reports"]]
    assert len(answers) == received(id) == times
    channel = _question(service, id)["channel"]
    law = [fake + channel["keep"] * (cell == truth) for cell, fake in enumerate(channel["fake"])]
    expected = [times * weight / sum(law) for weight in law]
    assert chisquare([answers.count(cell) for cell in range(3)], expected).pvalue > FALSE_ALARM
    for wrong in ([times * (cell == truth) for cell in range(3)], [times * (cell != truth) / 2 for cell in range(3)]):
        assert chisquare(wrong, expected).pvalue < FALSE_ALARM


def _question(service, id):
    with service.client() as client:
        (question,) = client.questions(id)
    return question


def _rigged_visit(service, browse, respondent, id, coin, level):
    """All that leaves and all that is kept, when the coin falls so and the truth is this."""
    page = browse(phone=True, service_workers="block")
    page.add_init_script(RIGGED.replace("WORD", str(coin)))
    traffic = Traffic(page)
    person = respondent(page)
    person.answer(f"{service.url}/{id}", level)
    page.locator("#state").get_by_text(person.words["result.sent"]).wait_for()
    kept = page.evaluate(
        """async () => JSON.stringify({
          local: Object.entries({ ...localStorage }).sort(),
          session: Object.entries({ ...sessionStorage }),
          databases: await indexedDB.databases(),
          caches: await caches.keys(),
          cookie: document.cookie,
          history: history.state,
          page: document.documentElement.outerHTML,
        })"""
    )
    return sorted(traffic.seen, key=json.dumps), kept, traffic.bodies()[0]["reports"][0]["answer"]


def test_when_the_coin_says_no_nothing_depends_on_the_truth(service, campaign, browse, respondent):
    """The same coin and another truth: every byte that is sent, kept or shown is the same."""
    browse.expect("status of 409")  # the same report number, made of noughts, counts once
    id = campaign(PLANT)
    channel = _question(service, id)["channel"]
    visits = []
    for level in (*LEVELS, "None of these"):
        seen, kept, answer = _rigged_visit(service, browse, respondent, id, channel["keep"] + 1, level)
        assert answer == 0, "the first fake, whatever the truth is"
        visits.append((seen, kept))
    assert all(visit == visits[0] for visit in visits)
    planted = json.loads(visits[0][1])
    survey = next(json.loads(text) for key, text in planted["local"] if key.startswith("tacita-survey:"))
    assert set(survey) == {"title", "questions", "digests", "reports", "receipts", "state"}
    del survey["questions"]  # they name all levels, for everybody
    for level in LEVELS[1:]:
        assert level not in json.dumps([visits[0][0], survey, planted["session"], planted["page"]])


def test_when_the_coin_says_yes_the_truth_is_sent(service, campaign, browse, respondent):
    """Or the test above could not fail."""
    browse.expect("status of 409")
    id = campaign(PLANT)
    sent = [_rigged_visit(service, browse, respondent, id, 0, level)[2] for level in LEVELS]
    assert sent == [0, 1, 2]

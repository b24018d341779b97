"""The page from another host than the aggregator, and invitations, in a browser."""

import functools
import http.server
import json
import threading

import pytest

from tacita.server.respond.standalone import build

SETTINGS = {"TACITA_WORKER": "false"}


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def host(service, tmp_path):
    """A third party that serves the page, for the service as aggregator; its address."""
    build(service.url, tmp_path / "page")
    handler = functools.partial(_Quiet, directory=str(tmp_path / "page"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_third_party_hosts_the_page(service, host, campaign, received, page, respondent):
    id, person = campaign(), respondent(page)
    requests = []
    page.on("request", lambda request: requests.append((request.method, request.url)))
    person.answer(f"{host}/index.html?survey={id}", "daily")
    person.sees("result.sent")
    assert received(id) == 1
    elsewhere = {(method, url) for method, url in requests if not url.startswith(host)}
    path = f"{service.url}/v1/campaigns/{id}"
    assert {pair for pair in elsewhere if pair[0] != "OPTIONS"} == {
        ("GET", f"{path}/questions"),
        ("POST", f"{path}/reports"),
    }
    (entry,) = person.stored()["tacita-ledger"]["entries"]
    assert entry["service"] == service.url
    page.reload()
    person.sees("result.sent")
    assert received(id) == 1


def test_the_aggregator_cannot_clear_the_ledger_of_the_page(service, host, campaign, page, respondent):
    """`Clear-Site-Data` clears the storage of the origin that sends it: the aggregator's, where nothing is kept."""
    person = respondent(page)

    def clearing(route):
        answer = route.fetch()
        route.fulfill(response=answer, headers=answer.headers | {"clear-site-data": '"storage"'})

    page.route(f"{service.url}/**", clearing)
    for _ in range(2):
        person.answer(f"{host}/index.html?survey={campaign()}", "daily")
        person.sees("result.sent")  # a page that is left before it knows sends its report again
    assert len(person.stored()["tacita-ledger"]["entries"]) == 2


def test_a_code_is_traded_when_the_page_is_opened_and_counts_once(
    service, host, campaign, received, browse, respondent
):
    id = campaign(invited=True)
    with service.client() as client:
        first, second = client.invite(id, 2)
    page = browse()
    person = respondent(page)
    sent = []
    page.on("request", lambda request: sent.append((request.url, request.post_data)))
    person.answer(f"{service.url}/{id}#{first}", "daily")
    person.sees("result.sent")
    assert received(id) == 1
    assert first not in page.url
    assert not [url for url, _ in sent if first in url]  # codes are in no address, and so in no log
    ((_, traded),) = [pair for pair in sent if pair[0].endswith("/redeem")]
    ((_, report),) = [pair for pair in sent if pair[0].endswith("/reports")]
    assert json.loads(traded)["code"] == first
    assert first not in report
    assert json.loads(traded)["blinded"] not in report
    assert first not in service.log

    other = browse()
    again = respondent(other)
    other.goto(f"{host}/index.html?survey={id}")
    again.sees("problem.code.heading")
    again.answer(f"{host}/index.html?survey={id}&again#{second}", "never")
    again.sees("result.sent")
    assert received(id) == 2

"""Without a network: the page opens, reports wait, and each counts once."""

import json

import pytest
from playwright.sync_api import Error, expect

from tacita.collect.device.question import Question

SETTINGS = {"TACITA_WORKER": "false"}
GONE = "ERR_INTERNET_DISCONNECTED|ERR_CONNECTION_REFUSED"


def test_answers_wait_for_the_network(service, campaign, received, browse, phone, respondent, picture):
    browse.expect(GONE)
    id, person = campaign(), respondent(phone)
    phone.goto(f"{service.url}/{id}")
    person.button("begin").wait_for()
    person.keeps_page()
    phone.context.set_offline(True)
    phone.reload()  # page, client and questions are on the device
    person.button("begin").click()
    person.choose("daily")
    person.button("send").click()
    person.sees("result.waiting")
    picture(phone, "respond-waiting")
    drawn = person.stored()[f"tacita-survey:{id}"]["reports"]
    phone.reload()
    person.sees("result.waiting")
    assert received(id) == 0
    phone.context.set_offline(False)  # the page notices by itself
    person.sees("result.sent")
    assert person.stored()[f"tacita-survey:{id}"]["reports"] == drawn
    phone.reload()
    person.sees("result.sent")
    assert received(id) == 1


def test_what_waits_is_sent_when_another_survey_is_opened(service, campaign, received, browse, phone, respondent):
    browse.expect(GONE)
    first, second, person = campaign(), campaign(), respondent(phone)
    phone.goto(f"{service.url}/{first}")
    person.button("begin").click()
    person.choose("daily")
    phone.context.set_offline(True)
    person.button("send").click()
    person.sees("result.waiting")
    phone.close()
    context = browse.contexts[-1]
    context.set_offline(False)
    again = respondent(context.new_page())
    again.page.goto(f"{service.url}/{second}")
    again.button("begin").wait_for()
    again.page.wait_for_function(
        "id => JSON.parse(localStorage.getItem(`tacita-survey:${id}`)).state === 'sent'", arg=first
    )
    assert (received(first), received(second)) == (1, 0)


def test_the_service_is_killed_in_the_middle(service, campaign, received, browse, phone, respondent):
    browse.expect(GONE)
    id, person = campaign(), respondent(phone)
    phone.goto(f"{service.url}/{id}")
    person.button("begin").click()
    person.keeps_page()
    service.kill()
    try:
        person.choose("sometimes")
        person.button("send").click()
        person.sees("result.waiting")
        phone.reload()
        person.sees("result.waiting")
    finally:
        service.start()
    person.sees("result.sent")  # it tries again by itself
    phone.reload()
    person.sees("result.sent")
    assert received(id) == 1


def test_an_answer_that_is_lost_on_its_way_back_does_not_count_twice(service, campaign, received, browse, respondent):
    browse.expect("ERR_FAILED|status of 409")
    page = browse(phone=True, service_workers="block")  # what a worker fetches cannot be tampered with here
    id, person, taken = campaign(), respondent(page), []

    def swallow(route) -> None:
        taken.append(route.fetch().status)
        route.abort() if len(taken) == 1 else route.fulfill(response=route.fetch())

    page.route("**/reports", swallow)
    person.answer(f"{service.url}/{id}", "daily")
    person.sees("result.waiting")
    assert (taken, received(id)) == ([200], 1)
    person.sees("result.sent")
    assert len(taken) > 1
    assert received(id) == 1


def test_a_survey_that_closes_before_the_report_arrives(service, campaign, received, browse, phone, respondent):
    browse.expect(f"{GONE}|status of 409")
    id, person = campaign(), respondent(phone)
    phone.goto(f"{service.url}/{id}")
    person.button("begin").click()
    person.choose("daily")
    phone.context.set_offline(True)
    person.button("send").click()
    person.sees("result.waiting")
    with service.client() as client:
        client.close_campaign(id)
    phone.context.set_offline(False)
    person.sees("result.closed")
    assert received(id) == 0


def test_who_comes_twice_is_asked_the_same(service, campaign, browse, page, respondent):
    """Each visit is given questions by lot; the device keeps the first, so that nobody pays for two."""
    id = campaign(tables=[["Do you smoke?"]])
    person = respondent(page)
    page.goto(f"{service.url}/{id}")
    person.button("begin").wait_for()
    kept = person.stored()[f"tacita-survey:{id}"]
    other = json.loads(json.dumps(kept["questions"]))
    other[0]["question"] = "q9"
    sheet = {"title": kept["title"], "questions": other, "digests": [Question.from_dict(other[0]).digest]}
    page.route("**/questions", lambda route: route.fulfill(json=sheet))
    page.reload()
    person.button("begin").wait_for()
    assert person.stored()[f"tacita-survey:{id}"] == kept
    person.button("begin").click()
    person.choose("never")
    person.button("send").click()
    expect(page.get_by_text(person.words["result.sent"])).to_be_visible()


def test_a_short_name_does_not_stand_before_other_pages(service, campaign, browse, phone, respondent):
    """A worker's scope is a prefix: that of a survey called `c` covers the console."""
    browse.expect(GONE)
    campaign(id="c")
    person = respondent(phone)
    phone.goto(f"{service.url}/c")
    person.button("begin").wait_for()
    person.keeps_page()
    phone.goto(f"{service.url}/console/enter")
    expect(phone.get_by_label("Your token")).to_be_visible()
    phone.context.set_offline(True)
    with pytest.raises(Error, match="ERR_INTERNET_DISCONNECTED"):
        phone.goto(f"{service.url}/console/tokens")
    again = respondent(phone.context.new_page())
    again.page.goto(f"{service.url}/c")  # its own path is kept
    again.button("begin").wait_for()


@pytest.mark.parametrize("kept", ['"x"', "5", '{"reports": []}', '{"title": "t", "questions": []}', "not JSON"])
def test_what_is_damaged_is_asked_for_again(service, campaign, phone, respondent, kept):
    id, person = campaign(), respondent(phone)
    phone.goto(f"{service.url}/{id}")
    person.button("begin").wait_for()
    phone.evaluate("([id, kept]) => localStorage.setItem(`tacita-survey:${id}`, kept)", [id, kept])
    phone.reload()
    person.button("begin").wait_for()

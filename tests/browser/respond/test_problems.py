"""Whatever goes wrong is one plain sentence with the way on, and nothing is sent."""

import json

import pytest
from playwright.sync_api import expect

SETTINGS = {"TACITA_WORKER": "false"}

BLOCKED = "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError'); } })"
INSECURE = "Object.defineProperty(window, 'isSecureContext', { value: false })"
OLD = "Object.defineProperty(Navigator.prototype, 'locks', { value: undefined })"
DAMAGED = "localStorage.setItem('tacita-ledger', '{}')"


def limits(question: float, total: float) -> str:
    kept = json.dumps({"question": question, "total": total})
    return f"localStorage.getItem('tacita-limits') ?? localStorage.setItem('tacita-limits', '{kept}')"


def sees_problem(person, check_accessible, kind):
    expect(person.page.locator("h1")).to_have_text(person.words[f"problem.{kind}.heading"])
    assert "Nothing was sent" in person.page.locator("main").inner_text()
    check_accessible(person.page)


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        (BLOCKED, "storage"),
        (INSECURE, "insecure"),
        (OLD, "browser"),
        (DAMAGED, "corrupt"),
        (limits(2, 0.5), "budget"),
        (limits(0.5, 2), "limit"),
    ],
    ids=lambda part: part if len(part) < 12 else "",
)
def test_what_the_browser_may_lack(service, campaign, received, page, respondent, check_accessible, script, kind):
    id, person, sent = campaign(), respondent(page), []
    page.context.on("request", lambda request: sent.append(request.method))
    page.add_init_script(script)
    page.goto(f"{service.url}/{id}")
    sees_problem(person, check_accessible, kind)
    assert set(sent) == {"GET"}
    assert received(id) == 0


def test_limits_can_be_raised_and_lowered_on_the_device(service, campaign, page, respondent, picture):
    person = respondent(page)
    page.add_init_script(limits(0.5, 0.5))
    page.goto(f"{service.url}/{campaign()}")
    person.sees("problem.limit.heading")
    picture(page, "respond-limit")

    def set_limits(question: str, total: str) -> None:
        page.get_by_label(person.words["limits.question"]).fill(question)
        page.get_by_label(person.words["limits.total"]).fill(total)
        person.button("limits").click()

    set_limits("3", "")
    person.sees("limits.wrong")
    page.get_by_label(person.words["limits.total"]).fill("6")
    person.button("limits").click()
    expect(page.get_by_text("6 of 6 is left, and 5 after this")).to_be_visible()
    page.get_by_text(person.words["limits.heading"]).click()
    set_limits("0.1", "6")
    person.sees("problem.limit.heading")


def test_no_such_campaign(service, browse, page, respondent, check_accessible):
    browse.expect("status of 404")
    page.goto(f"{service.url}/nothing-of-the-kind")
    sees_problem(respondent(page), check_accessible, "unknown")


@pytest.mark.parametrize("state", ["draft", "closed"])
def test_a_campaign_that_takes_no_answers(service, campaign, browse, page, respondent, check_accessible, state):
    browse.expect("status of 409")
    id, person = campaign(draft=True), respondent(page)
    with service.client() as client:
        if state == "closed":
            client.close_campaign(id)
        page.goto(f"{service.url}/{id}")
        sees_problem(person, check_accessible, "closed")
        if state == "draft":
            client.open_campaign(id)
            person.button("retry").click()
            person.button("begin").wait_for()


def test_the_service_is_away(service, campaign, browse, respondent, check_accessible):
    browse.expect("ERR_FAILED")
    page = browse(service_workers="block")
    person = respondent(page)
    page.route("**/questions", lambda route: route.abort())
    page.goto(f"{service.url}/{campaign()}")
    sees_problem(person, check_accessible, "away")
    page.unroute("**/questions")
    person.button("retry").click()
    person.button("begin").wait_for()


def changed(question):
    return question | {"asks": [{"attribute": "Do you smoke?", "levels": ["no", "yes", "I would rather not say"]}]}


def cheating(question):
    return question | {"epsilon": 0.1}


@pytest.mark.parametrize(("tamper", "before", "kind"), [(changed, True, "changed"), (cheating, False, "unfit")])
def test_a_service_that_cheats(service, campaign, browse, respondent, check_accessible, tamper, before, kind):
    page = browse(service_workers="block")
    id, person = campaign(), respondent(page)
    if before:
        page.goto(f"{service.url}/{id}")
        person.button("begin").wait_for()

    def cheat(route):
        sheet = route.fetch().json()
        route.fulfill(json=sheet | {"questions": [tamper(question) for question in sheet["questions"]]})

    page.route("**/questions", cheat)
    page.goto(f"{service.url}/{id}")
    sees_problem(person, check_accessible, kind)


def test_texts_of_a_campaign_are_never_read_as_html(service, campaign, page, respondent):
    from tacita.domain import Categorical

    evil = "<img src=x onerror=alert(1)>"
    id = campaign(Categorical(name=evil, levels=["<b>a</b>", "b"]), title=evil)
    person = respondent(page)
    page.goto(f"{service.url}/{id}")
    person.button("begin").wait_for()
    assert person.heading() == evil
    person.button("begin").click()
    assert person.heading() == evil
    person.choose("<b>a</b>")
    person.button("send").click()
    person.sees("result.sent")
    assert page.locator("main img, main b").count() == 0


def test_chosen_answers_do_not_survive_leaving_the_page(service, campaign, page, respondent):
    id, person = campaign(), respondent(page)
    page.goto(f"{service.url}/{id}")
    person.button("begin").click()
    page.get_by_role("radio", name="daily").check()
    page.goto("about:blank")
    page.go_back()
    person.button("begin").click()
    assert page.locator("input:checked").count() == 0
    assert page.evaluate("history.state") == {"place": 1}


def test_the_turns_of_a_series(service, campaign, received, page, respondent):
    """All waves are opened one after the other: the device answers in one, and says in the others when its turn is."""
    person = respondent(page)
    ids = [campaign(id="panel", waves=3)]
    answered = []
    for number in (1, 2, 3):
        page.goto(f"{service.url}/{ids[-1]}")
        turn, begin = person.words["problem.turn.heading"], person.button("begin")
        expect(page.get_by_role("heading", name=turn).or_(begin)).to_be_visible()
        if begin.is_visible():
            assert f"Wave {number} of 3 of a series" in page.locator("main").inner_text()
            person.answer(f"{service.url}/{ids[-1]}", "daily")
            person.sees("result.sent")
            answered.append(number)
        else:
            told = page.locator("main").inner_text()
            assert "Nothing was sent" in told
            assert ("Its next turn is wave" in told) == (not answered)
        if number < 3:
            with service.client() as client:
                ids.append(client.open_wave("panel", number + 1).id)
    assert len(answered) == 1
    assert [received(id) for id in ids] == [int(number in answered) for number in (1, 2, 3)]


def test_a_promise_beyond_all_numbers_is_shown_as_such(service, campaign, page, respondent):
    """The service states what a series promises; odds that no number holds are infinite."""
    id = campaign(waves=1000, turns=1000, epsilon=800.0, raised_limits=True)
    person = respondent(page)
    page.goto(f"{service.url}/{id}")
    expect(person.button("begin")).to_be_visible()
    assert "by a factor of ∞ at most" in page.locator("main").inner_text()

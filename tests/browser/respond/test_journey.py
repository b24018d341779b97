"""From the first look to the receipt: on a phone, by keyboard, in three languages, in the dark."""

import json

import pytest
from playwright.sync_api import expect

from tacita.domain import Boolean, Categorical, Numeric

SETTINGS = {"TACITA_WORKER": "false"}
AGE = Categorical(name="Your age", levels=["under 30", "30 to 60", "over 60"])
TOWN = Categorical(name="Your town", levels=[f"town {i}" for i in range(40)])


def test_a_person_answers_on_a_phone(
    service, campaign, received, phone, respondent, check_accessible, picture, tmp_path
):
    id, person = campaign(), respondent(phone)
    phone.goto(f"{service.url}/{id}")
    person.button("begin").wait_for()
    assert person.heading() == "Smoking in our town"
    expect(phone.get_by_text("With probability 0.3642 (about 36 in 100) your true answer")).to_be_visible()
    expect(phone.get_by_text("Your budget on this device: 4 of 4 is left, and 3 after this.")).to_be_visible()
    check_accessible(phone)
    picture(phone, "respond-welcome", docs=True)
    person.button("begin").click()
    assert person.heading() == "Do you smoke?"
    person.button("next").click()
    person.sees("ask.missing")
    check_accessible(phone)
    phone.get_by_role("radio", name="daily").check()
    picture(phone, "respond-question", docs=True)
    person.button("next").click()
    assert person.heading() == person.words["review.heading"]
    check_accessible(phone)
    picture(phone, "respond-review", full_page=True)
    assert received(id) == 0
    person.button("send").click()
    person.sees("result.sent")
    person.sees("toss.illustration")
    check_accessible(phone)
    picture(phone, "respond-report", docs=True)
    assert received(id) == 1

    with phone.expect_download() as download:
        person.button("save").click()
    download.value.save_as(tmp_path / "receipt.json")
    receipt = json.loads((tmp_path / "receipt.json").read_text())
    (report,), (entry,) = receipt["reports"], receipt["receipts"]
    assert (report["report"], report["answer"]) == (entry["report"], entry["answer"])
    expect(phone.get_by_text(f"“Do you smoke?”: {entry['sent'][0]}")).to_be_visible()

    phone.reload()  # the same report, and nothing is asked or sent again
    person.sees("result.sent")
    assert phone.get_by_text(report["report"]).count() > 0
    assert received(id) == 1
    assert phone.context.cookies() == []


def test_several_attributes_one_at_a_time(service, campaign, received, phone, respondent, check_accessible):
    id = campaign(AGE, TOWN, tables=[["Your age"], ["Your town"]], mode="singles", answers="view", channel="auto")
    person = respondent(phone)
    phone.goto(f"{service.url}/{id}")
    person.button("begin").click()
    headings = []
    while person.heading() != person.words["review.heading"]:
        headings.append(person.heading())
        if phone.get_by_role("radio").count():
            phone.get_by_role("radio", name="30 to 60").check()
        else:
            phone.get_by_role("combobox", name=headings[-1]).select_option("town 7")
            check_accessible(phone)
        person.button("next").click()
    assert set(headings) == {"Your age", "Your town"}
    # back to one of them by its own button, and by the browser's
    phone.get_by_role("button", name="Change: Your age").click()
    assert phone.get_by_role("radio", name="30 to 60").is_checked()
    phone.get_by_role("radio", name=person.words["ask.none"]).check()
    person.button("next").click()
    phone.go_back()
    assert person.heading() == "Your age"
    person.button("next").click()
    person.button("send").click()
    person.sees("result.sent")
    assert received(id) == 2


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_refusing_sends_nothing(service, campaign, received, page, respondent, check_accessible, picture, steps):
    id, person, sent = campaign(), respondent(page), []
    page.context.on("request", lambda request: sent.append(request.method))
    page.goto(f"{service.url}/{id}")
    if steps > 0:
        person.button("begin").click()
    if steps > 1:
        person.choose("daily")
    person.button("refuse").click()
    person.sees("refused.text")
    check_accessible(page)
    picture(page, "respond-refused")
    assert set(sent) == {"GET"}
    assert received(id) == 0
    assert "tacita-ledger" not in person.stored()
    person.button("again").click()
    person.button("begin").click()
    assert page.locator("input:checked").count() == 0  # nor is what was chosen before still there


def test_by_keyboard_alone(service, campaign, received, page, respondent):
    id, person = campaign(), respondent(page)
    page.goto(f"{service.url}/{id}")
    person.button("begin").wait_for()

    def focused() -> str:
        return page.evaluate("document.activeElement.textContent || document.activeElement.type")

    def press(*keys: str) -> None:
        for key in keys:
            page.keyboard.press(key)

    assert focused() == person.heading()
    press("Tab")
    assert focused() == person.words["button.begin"]
    press("Enter")
    assert focused() == person.heading() == "Do you smoke?"
    press("Tab", "Space", "ArrowDown")
    assert page.get_by_role("radio", name="sometimes").is_checked()
    press("Enter")
    assert focused() == person.heading() == person.words["review.heading"]
    press("Tab")
    assert page.evaluate("document.activeElement.ariaLabel") == "Change: Do you smoke?"
    press("Tab")
    assert focused() == person.words["button.send"]
    press("Enter")
    person.sees("result.sent")
    assert focused() == person.heading() == person.words["result.heading"]
    assert received(id) == 1


@pytest.mark.parametrize(("locale", "language"), [("it-IT", "it"), ("el-GR", "el"), ("de-DE", "en")])
def test_languages(service, campaign, phone, respondent, check_accessible, picture, language):
    id, person = campaign(), respondent(phone, language)
    phone.goto(f"{service.url}/{id}")
    person.sees("welcome.how")
    assert phone.locator("html").get_attribute("lang") == language
    check_accessible(phone)
    picture(phone, f"respond-welcome-{language}", full_page=True)
    other = respondent(phone, "it" if language != "it" else "el")
    phone.get_by_role("combobox").select_option("it" if language != "it" else "el")
    other.sees("welcome.how")
    other.button("begin").click()
    other.choose("daily")
    other.button("send").click()
    other.sees("result.sent")
    picture(phone, f"respond-report-{language}", full_page=True)
    phone.reload()  # the choice is kept on the device
    other.sees("result.sent")
    assert "?" not in phone.url


def test_in_the_dark_and_without_motion(service, campaign, browse, respondent, check_accessible, picture):
    phone = browse(phone=True, color_scheme="dark", reduced_motion="reduce")
    person = respondent(phone)
    phone.goto(f"{service.url}/{campaign()}")
    person.button("begin").wait_for()
    check_accessible(phone)
    picture(phone, "respond-welcome-dark")
    person.button("begin").click()
    check_accessible(phone)
    person.choose("never")
    check_accessible(phone)
    person.button("send").click()
    person.sees("result.sent")
    assert phone.evaluate("document.getAnimations().length") == 0
    check_accessible(phone)
    picture(phone, "respond-report-dark")


def test_targets_are_large_enough_for_a_thumb(service, campaign, phone, respondent):
    person = respondent(phone)
    phone.goto(f"{service.url}/{campaign()}")
    person.button("begin").wait_for()
    for step in ("begin", "next"):
        boxes = phone.locator("button:visible, select:visible, summary:visible, .choice").all()
        assert all(min(box.bounding_box()["height"], box.bounding_box()["width"]) >= 44 for box in boxes), step
        assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
        person.button("begin").click() if step == "begin" else None


@pytest.mark.parametrize("channel", ["wave", "duchi", "piecewise", "hybrid", "fourier", "chain"])
def test_a_person_answers_through_each_channel_for_numbers_and_parities(
    service, campaign, received, page, respondent, channel
):
    if channel == "fourier":
        asked = [Boolean(name="Do you smoke?"), Boolean(name="Do you drink?")]
        picks = ["true", "false"]
    else:
        asked, picks = [Numeric(name="How old are you?", bounds=(0, 100), bins=5)], ["[40, 60)"]
    id, person = campaign(*asked, channel=channel), respondent(page)
    page.goto(f"{service.url}/{id}")
    person.button("begin").click()
    for pick in picks:
        page.get_by_role("radio", name=pick).check()
        person.button("next").click()
    person.button("send").click()
    person.sees("result.sent")
    assert received(id) == 1
    with service.client() as client:
        assert [question.channel for question in client.campaign(id).questions] == [channel]

"""An owner plans a campaign, opens it, watches reports come in, reads what they tell, and closes it."""

from __future__ import annotations

import re
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
from playwright.sync_api import expect

from tacita.collect.device.device import Device
from tacita.collect.device.question import Refusal
from tacita.domain import Boolean, Domain, Numeric

SETTINGS = {"TACITA_ANONYMOUS_RATE_LIMIT": "0", "TACITA_WORKER": "false"}
REPORTS = 400


def answer(service, id: str, count: int, seed: int) -> None:
    """So many people answer, each on a device of their own: who smokes lives in the north."""
    rng = np.random.default_rng(seed)
    with service.client() as client, tempfile.TemporaryDirectory() as folder:
        sent = []
        for number in range(count):
            smokes = rng.random() < 0.5
            truth = {
                "Do you smoke?": "daily" if smokes else "never",
                "Where do you live?": "north" if smokes else "south",
            }
            device = Device(
                service="https://survey.example",
                ledger_path=Path(folder) / f"{seed}-{number}",
                limit_total_epsilon=9.0,
                limit_question_epsilon=9.0,
            )
            sheet = client.questions(id)
            asked = {ask["attribute"] for question in sheet for ask in question["asks"]}
            answers = device.answer_sheet(sheet, {name: truth[name] for name in asked})
            sent += [report for report, _ in answers]
        client.send_reports(id, sent)


def test_an_owner_runs_a_campaign(page, service, console, check_accessible, picture, tmp_path):
    console.sign_in(page, service, service.token())
    page.get_by_role("link", name="Campaigns").first.click()
    expect(page.get_by_text("There is no campaign yet.")).to_be_visible()
    check_accessible(page)
    page.get_by_role("link", name="New campaign").click()
    expect(page.get_by_text("Expected errors")).to_be_attached()
    picture(page, "console-campaign-plan", docs=True, full_page=True)
    check_accessible(page)

    # errors fall as epsilon grows
    first = expected_error(page, "Chosen by the owner")
    console.slide(page, "Epsilon of each respondent", 2)
    expect(
        page.get_by_text("An answer changes the odds of any guess about a respondent by a factor of 7.39")
    ).to_be_visible()
    assert expected_error(page, "Chosen by the owner") < first
    expect(console.chart(page, "Expected error")).to_be_visible()
    expect(page.locator(".read").first).to_contain_text("leave this device")

    page.get_by_label("Title").fill("How people live")
    page.get_by_label("Minimum number of answers").fill("10")
    page.get_by_role("button", name="Open the campaign").click()
    expect(page.get_by_text("Open this campaign?")).to_be_visible()
    console.settle(page)
    check_accessible(page)
    page.get_by_role("button", name="Open it").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("How people live")
    expect(page.get_by_text("This table is shown after 10 answers")).to_be_visible()

    id = page.url.rsplit("/", 1)[1]
    expect(page.get_by_text(f"{service.url}/{id}", exact=True)).to_be_visible()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy the address").click()
    expect(page.get_by_text("Copied")).to_be_visible()
    assert page.evaluate("() => navigator.clipboard.readText()") == f"{service.url}/{id}"
    answer(service, id, REPORTS // 2, seed=1)
    expect(page.locator(".big").first).to_have_text(str(REPORTS // 2))
    answer(service, id, REPORTS // 2, seed=2)
    expect(page.locator(".big").first).to_have_text(str(REPORTS))
    expect(console.chart(page, "Shares of")).to_be_visible()
    converging = [row for row in console.numbers(page, "Largest half-width") if row[0] == "observed"]
    assert float(converging[-1][2]) < float(converging[0][2])
    expect(page.get_by_text("This campaign has no stop rule.")).to_be_visible()
    expect(page.get_by_text("The estimate uses all")).to_be_visible()  # the tables are pooled

    page.get_by_role("button", name="Test").click()
    expect(page.get_by_text("The attributes depend on each other")).to_be_visible()
    page.get_by_role("button", name="Find rules").click()
    expect(page.get_by_text("smokes = daily").first).to_be_visible()
    page.get_by_role("button", name="Check integrity").click()
    expect(page.get_by_text("1 % false reports by")).to_be_visible()
    (tmp_path / "census.csv").write_text("smokes,count\nnever,7000\ndaily,3000\n")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Upload a public table").click()
    chooser.value.set_files(tmp_path / "census.csv")
    expect(page.get_by_text("Public tables: census.csv")).to_be_visible()
    page.get_by_role("button", name="Publish with public tables").click()
    expect(page.get_by_text("the public tables, which were trusted to")).to_be_visible()
    with page.expect_download() as made:
        page.get_by_role("button", name="Download all tables (JSON)").click()
    assert made.value.suggested_filename == f"{id}-with-prior.json"
    assert '"tacita": "releases/1"' in Path(made.value.path()).read_text()  # clear reports need no prior
    with page.expect_download() as made:
        page.get_by_role("link", name="synthetic rows").click()
    assert Path(made.value.path()).read_text().splitlines()[0] == '"smokes","region"'
    console.to_top(page)
    picture(page, "console-campaign-live", docs=True, full_page=True)
    check_accessible(page)

    page.get_by_role("button", name="Close the campaign").click()
    page.get_by_role("button", name="Close it").click()
    expect(page.locator(".state").first).to_have_text("closed")
    expect(page.get_by_role("button", name="Close the campaign")).to_have_count(0)
    with service.client() as client:
        assert (client.campaign(id).state, client.campaign(id).received) == ("closed", REPORTS)
    console.turn_dark(page)
    check_accessible(page)
    picture(page, "console-campaign-dark", full_page=True)

    page.get_by_role("link", name="Network and what-if questions").click()
    expect(console.chart(page, "Network of the attributes")).to_be_visible()
    console.choose(page, "Attribute in question", "region")
    console.choose(page, "smokes", "daily")
    expect(page.get_by_text("among people with smokes = daily")).to_be_visible()
    check_accessible(page)
    console.to_top(page)
    picture(page, "console-network", docs=True, full_page=True)
    console.visit(page, service, "/campaigns", "Campaigns")
    check_accessible(page)
    console.visit(page, service, "/campaigns/new", "New campaign")
    expect(page.get_by_text("Expected errors")).to_be_attached()
    check_accessible(page)


def expected_error(page, reason: str) -> float:
    """What the planner says of the first table, when it has planned for that reason."""
    expect(page.get_by_text(reason)).to_be_visible()
    return float(page.locator("table").first.locator("tbody tr td").nth(3).inner_text())


def test_what_is_wrong_is_said_and_mended(page, service, console, check_accessible):
    console.sign_in(page, service, service.token("steward"))
    console.visit(page, service, "/campaigns/new", "New campaign")
    page.get_by_label("Answers 1").fill("always")
    expect(page.get_by_text("smokes: needs at least two answers.")).to_be_visible()
    check_accessible(page)
    page.get_by_label("Answers 1").fill("always, never")
    expect(page.get_by_text("needs at least two answers")).to_have_count(0)
    page.get_by_label("Name 1").fill("<i>smokes</i>")  # words, and nothing that a browser would do
    page.get_by_role("button", name="Open the campaign").click()
    page.get_by_role("button", name="Open it").click()
    expect(page.get_by_role("alert")).to_contain_text("title")
    page.get_by_role("button", name="Close", exact=True).click()
    page.get_by_label("Title").fill("A draft")
    page.get_by_text("Close automatically when all intervals are narrow enough").click()
    page.get_by_role("button", name="Save as a draft").click()
    expect(page.get_by_text("The campaign accepts no answers yet")).to_be_visible()
    expect(page.get_by_text("Too few answers yet: <i>smokes</i>")).to_be_visible()
    assert page.locator("main i:not(.q-icon)").count() == 0
    check_accessible(page)
    page.get_by_role("button", name="Open the campaign").click()
    page.get_by_role("button", name="Open it").click()
    expect(page.get_by_text("Anyone with this address may answer")).to_be_visible()
    with service.client() as client:
        assert client.campaign(page.url.rsplit("/", 1)[1]).terms["stop"]["half_width"] == 0.05


def test_a_question_that_is_added_is_asked_or_the_page_says_so(page, service, console, check_accessible, picture):
    console.sign_in(page, service, service.token("steward"))
    console.visit(page, service, "/campaigns/new", "New campaign")
    expect(page.get_by_text("Expected errors")).to_be_attached()
    page.get_by_role("button", name="Add an attribute").click()
    page.get_by_label("Question 3").fill("Do you drive?")
    page.get_by_label("Answers 3").fill("yes, no")
    page.get_by_label("Name 3").press_sequentially("drives")
    expect(page.get_by_role("row", name="smokes x drives")).to_be_visible()
    expect(page.get_by_role("row", name="region x drives")).to_be_visible()
    page.get_by_label("Title").fill("With one more")

    # what is in no table is not forgotten in silence
    for table in ("smokes x drives", "region x drives"):
        page.get_by_role("combobox", name="Tables").click()
        page.get_by_role("option", name=table).click()
        page.keyboard.press("Escape")
    expect(page.get_by_text("drives: is in no table, so no respondent would be asked.")).to_be_visible()
    picture(page, "console-campaign-not-asked", full_page=True)
    check_accessible(page)
    page.get_by_role("button", name="Open the campaign").click()
    expect(page.get_by_role("alert")).to_contain_text("Select a table that contains it, or remove its row")
    page.get_by_role("button", name="Close", exact=True).click()
    page.get_by_role("combobox", name="Tables").click()
    page.get_by_role("option", name="region x drives").click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("row", name="region x drives")).to_be_visible()

    # all of it survives a page that is loaded again
    page.wait_for_timeout(1000)
    page.reload()
    expect(page.get_by_text("Your earlier input was restored.")).to_be_visible()
    expect(page.get_by_label("Name 3")).to_have_value("drives")
    expect(page.get_by_label("Question 3")).to_have_value("Do you drive?")
    expect(page.get_by_label("Title")).to_have_value("With one more")
    expect(page.get_by_role("row", name="region x drives")).to_be_visible()
    page.get_by_role("button", name="Save as a draft").click()
    expect(page.get_by_text("The campaign accepts no answers yet")).to_be_visible()
    with service.client() as client:
        made = client.campaign(page.url.rsplit("/", 1)[1])
    asked = {tuple(sorted(question.attributes)) for question in made.questions}
    assert {("region", "smokes"), ("drives", "region")} <= asked

    # a form that was sent begins afresh, and one that was not does so when it is told to
    console.visit(page, service, "/campaigns/new", "New campaign")
    expect(page.get_by_label("Title")).to_have_value("")
    expect(page.get_by_label("Name 3")).to_have_count(0)
    page.get_by_label("Title").fill("Never mind")
    page.wait_for_timeout(1000)
    page.reload()
    expect(page.get_by_label("Title")).to_have_value("Never mind")
    page.get_by_role("button", name="Discard it").click()
    expect(page.get_by_label("Title")).to_have_value("")
    expect(page.get_by_text("Your earlier input was restored.")).to_have_count(0)


def test_defaults_ask_what_was_chosen_and_what_cannot_be_answered_says_why(page, service, console, check_accessible):
    console.sign_in(page, service, service.token("steward"))
    console.visit(page, service, "/campaigns/new", "New campaign")
    expect(page.get_by_text("Chosen by the owner.")).to_be_visible()
    page.get_by_label("Title").fill("By default")
    page.get_by_role("button", name="Save as a draft").click()
    expect(page.get_by_text("The campaign accepts no answers yet")).to_be_visible()
    with service.client() as client:
        made = client.campaign(page.url.rsplit("/", 1)[1])
        names = ["smokes", "region", "works"]
        domain = Domain(attributes=[Boolean(name=name) for name in names])
        terms = {"epsilon": 1.0, "respondents": 1000, "title": "Alone", "minimum": 1}
        alone = client.create_campaign(domain, [["smokes", "region"]], mode="singles", **terms).id
        some = client.create_campaign(domain, [["smokes", "region"], ["works"]], mode="tables", **terms).id
    assert ["smokes", "region"] in [list(question.attributes) for question in made.questions]
    expect(page.get_by_role("button", name="Test")).to_be_enabled()

    page.goto(f"{service.url}/console/campaigns/{alone}")
    expect(page.get_by_text("cannot be tested, and there is no network")).to_be_visible()
    expect(page.get_by_role("button", name="Test")).to_have_count(0)
    expect(page.get_by_role("link", name="Network and what-if questions")).to_have_count(0)
    check_accessible(page)

    page.goto(f"{service.url}/console/campaigns/{some}")
    expect(page.get_by_role("button", name="Test")).to_be_enabled()
    console.choose(page, "Second attribute", "smokes")
    expect(page.get_by_text("Choose different attributes.")).to_be_visible()
    expect(page.get_by_role("button", name="Test")).to_be_disabled()
    check_accessible(page)


def test_an_analyst_cannot_plan_one(page, service, console):
    console.sign_in(page, service, service.token("analyst"))
    console.visit(page, service, "/campaigns/new", "New campaign")
    expect(page.get_by_role("alert")).to_contain_text("Ask an admin for a token with the role steward")
    console.visit(page, service, "/campaigns", "Campaigns")
    expect(page.get_by_role("link", name="New campaign")).to_have_count(0)


PASTED = """
title: a pasted one
attributes:
- {kind: boolean, name: works}
- {kind: boolean, name: drives}
- {kind: numeric, name: age, bounds: [0, 99], edges: [0, 30, 99], integer: true}
- {kind: categorical, name: sex, levels: [f, m]}
"""


def test_a_schema_is_pasted_and_many_tables_are_rehearsed_on_demand(page, service, console, check_accessible, picture):
    console.sign_in(page, service, service.token("steward"))
    console.visit(page, service, "/campaigns/new", "New campaign")
    console.choose(page, "Start with", "A schema from a file or as text")
    page.get_by_label("Schema, as YAML or JSON").fill("no schema")
    page.get_by_role("button", name="Use this schema").click()
    expect(page.get_by_role("alert")).to_contain_text("schema: must be a schema")
    page.get_by_role("button", name="Close", exact=True).click()
    page.get_by_label("Schema, as YAML or JSON").fill(PASTED)
    page.get_by_role("button", name="Use this schema").click()
    expect(page.get_by_label("Name 3")).to_have_value("age")
    expect(page.get_by_label("Answers 3")).to_have_value("0..29, 30..99")
    page.get_by_label("Larger tables").fill("works + drives + age")
    console.choose(page, "Mode", "Automatic: the mode with the smallest expected error")
    expect(page.get_by_text("too many tables for an automatic rehearsal")).to_be_visible()
    page.get_by_text("And 8 more").click()
    expect(page.locator(".read").last).to_be_visible()
    check_accessible(page)
    picture(page, "console-campaign-many", full_page=True)
    page.get_by_role("button", name="Rehearse all modes").click()
    expect(page.get_by_text("Chosen by the owner.")).to_be_visible()


def test_an_owner_chooses_how_answers_are_randomised(page, service, console, check_accessible, picture):
    console.sign_in(page, service, service.token("steward"))
    console.visit(page, service, "/campaigns/new", "New campaign")
    console.choose(page, "Start with", "A schema from a file or as text")
    page.get_by_label("Schema, as YAML or JSON").fill(PASTED)
    page.get_by_role("button", name="Use this schema").click()
    expect(page.get_by_label("Name 3")).to_have_value("age")
    console.choose(page, "Channel", "Mean of a number by Duchi's coin")
    expect(page.locator(".problem")).to_be_visible()  # not all of them are numbers
    check_accessible(page)
    console.choose(page, "Channel", "Means of numbers, tables of all else")
    expect(page.locator(".problem")).to_have_count(0)
    page.get_by_label("Larger tables").fill("age")
    expect(page.get_by_role("row", name="mean of age mean of a number by the hybrid mechanism")).to_have_count(1)
    picture(page, "console-campaign-channel", full_page=True)
    page.get_by_label("Title").fill("Mixed")
    page.get_by_role("button", name="Save as a draft").click()
    expect(page.get_by_text("The campaign accepts no answers yet")).to_be_visible()
    with service.client() as client:
        kinds = {question.channel for question in client.campaign(page.url.rsplit("/", 1)[1]).questions}
    assert kinds == {"hybrid", "rr"}


def test_invitations_are_made_in_the_console(page, service, console, check_accessible, tmp_path):
    smokes = Domain(attributes=[Boolean(name="smokes")])
    with service.client() as client:
        made = client.create_campaign(
            smokes, [["smokes"]], epsilon=1.0, respondents=100, title="By invitation", invited=True
        )
    console.sign_in(page, service, service.token("steward"))
    page.goto(f"{service.url}/console/campaigns/{made.id}")
    expect(page.get_by_text(made.fingerprint)).to_be_visible()
    expect(page.get_by_text("each person counts once")).to_be_visible()
    page.get_by_label("Number of invitations").fill("3")
    check_accessible(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Create invitations").click()
    download.value.save_as(tmp_path / "invitations.txt")
    lines = (tmp_path / "invitations.txt").read_text().split()
    assert len(set(lines)) == 3
    assert all(line.startswith(f"{service.url}/{made.id}#") for line in lines)


def test_means_of_a_campaign_are_shown(page, service, console, check_accessible, picture):
    domain = Domain(attributes=[Numeric(name="Hours of sleep", bounds=(0, 12), bins=6)])
    rng = np.random.default_rng(5)
    with service.client() as client, tempfile.TemporaryDirectory() as folder:
        made = client.create_campaign(
            domain, [["Hours of sleep"]], epsilon=2.0, respondents=80, title="Sleep", minimum=20, channel="hybrid"
        )
        sent = []
        for number in range(80):
            device = Device(
                service="https://survey.example",
                ledger_path=Path(folder) / str(number),
                limit_total_epsilon=9.0,
                limit_question_epsilon=9.0,
            )
            truth = {"Hours of sleep": str(rng.choice(domain["Hours of sleep"].labels[3:5]))}
            sent += [report for report, _ in device.answer_sheet(client.questions(made.id), truth)]
        client.send_reports(made.id, sent)
    console.sign_in(page, service, service.token())
    console.visit(page, service, f"/campaigns/{made.id}", "Sleep")
    table = page.get_by_role("table", name="Means")
    expect(table.get_by_role("row")).to_have_count(2)
    expect(table).to_contain_text("Hours of sleep")
    expect(page.get_by_text("Respondents were asked for the mean only. It is shown below.")).to_be_visible()
    expect(page.get_by_text("The page is out of date")).to_have_count(0)
    check_accessible(page)
    picture(page, "console-means", full_page=True)


def test_an_owner_opens_the_waves_of_a_series(page, service, console):
    console.sign_in(page, service, service.token())
    console.visit(page, service, "/campaigns/new", "New campaign")
    expect(page.get_by_text("Expected errors")).to_be_attached()
    page.get_by_label("Waves", exact=True).fill("0")  # is not taken for a single campaign
    expect(page.get_by_text(re.compile(r"^waves: "))).to_be_visible()
    page.get_by_label("Waves", exact=True).fill("3")
    page.get_by_label("Turns", exact=True).fill("2")
    expect(page.get_by_text("Each respondent answers in 2 of 3 waves.")).to_be_visible()
    page.get_by_label("Title").fill("A panel")
    page.get_by_label("Minimum number of answers").fill("5")
    page.get_by_role("button", name="Open the campaign").click()
    expect(page.get_by_text("an epsilon of up to 1 over all 3 waves together")).to_be_visible()
    page.get_by_role("button", name="Open it").click()
    expect(page.get_by_text("Wave 1 of 3.")).to_be_visible()
    expect(page.get_by_text("spends an epsilon of up to 1 in all waves together")).to_be_visible()
    id = page.url.rsplit("/", 1)[1]
    answer_turns(service, id, 60)
    page.get_by_role("button", name="Open wave 2").click()
    page.get_by_role("button", name="Open it").click()
    expect(page.get_by_text("Wave 2 of 3.")).to_be_visible()
    page.get_by_role("button", name="Show the changes").click()
    expect(page.get_by_text("Both waves must have enough answers")).to_be_visible()
    answer_turns(service, f"{id}.2", 60)
    page.get_by_role("button", name="Show the changes").click()
    expect(page.get_by_text("Changes, the clearest first")).to_be_attached()
    page.get_by_role("link", name="Wave 1").click()
    expect(page.locator(".state").first).to_have_text("closed")


def answer_turns(service, id: str, count: int) -> None:
    """So many devices are asked, and those answer whose turn it is."""
    with service.client() as client, tempfile.TemporaryDirectory() as folder:
        sent = []
        for number in range(count):
            device = Device(
                service="https://survey.example",
                ledger_path=Path(folder) / str(number),
                limit_total_epsilon=4.0,
                limit_question_epsilon=2.0,
            )
            with suppress(Refusal):
                truth = {"Do you smoke?": "daily", "Where do you live?": "north"}
                sent += [report for report, _ in device.answer_sheet(client.questions(id), truth)]
        client.send_reports(id, sent)

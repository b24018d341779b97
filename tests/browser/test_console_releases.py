"""The wizard's other kinds: statistics, anonymized rows, a model; and the list of jobs."""

import re

import pytest
from playwright.sync_api import expect

from tacita.console.parts.sample import SAMPLE
from tacita.report.statement import Statement, verify


@pytest.fixture(scope="module")
def sample(service, chromium, console):
    """The sample is there, brought by its button."""
    page = chromium.new_page()
    console.sign_in(page, service, service.token())
    page.get_by_role("button", name="Start the tour").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(SAMPLE)
    page.close()
    return SAMPLE


def wizard(page, service, console, sample, kind, **more):
    extra = "".join(f"&{name}={value}" for name, value in more.items())
    console.visit(page, service, f"/releases/new?dataset={sample}&kind={kind}{extra}", "Make a release")
    button = page.get_by_role("button", name="Make the release")
    expect(button).to_be_enabled()
    return button


def test_statistics_show_their_error_before_and_after(service, sample, page, console, check_accessible, picture):
    console.sign_in(page, service, service.token("analyst"))
    button = wizard(page, service, console, sample, "tables", epsilon=0.5)
    expect(page.get_by_text(re.compile(r"counts within ± \d+ \(95 %\)"))).to_be_visible()
    button.click()
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Noisy tables of {sample}")
    expect(page.locator(".chart-picture svg")).to_be_visible()
    check_accessible(page)
    picture(page, "console-statistics", full_page=True)
    with service.client() as client:
        assert client.budget(sample).spent == pytest.approx(0.5)


def test_synthetic_rows_for_an_attribute_that_will_be_predicted(
    service, sample, page, console, check_accessible, picture
):
    console.sign_in(page, service, service.token("analyst"))
    button = wizard(page, service, console, sample, "synthetic", epsilon=0.4)
    page.get_by_role("combobox", name="Attribute to predict").click()
    page.get_by_role("option", name="smoking").click()
    expect(page.get_by_text(re.compile("measured (together )?with smoking"))).to_be_visible()
    check_accessible(page)
    picture(page, "console-target", full_page=True)
    expect(button).to_be_enabled()
    button.click()
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("heading", name="Preview")).to_be_visible()
    expect(page.get_by_text("smoking").first).to_be_visible()


def test_synthetic_rows_that_keep_numbers(service, sample, page, console):
    console.sign_in(page, service, service.token("analyst"))
    wizard(page, service, console, sample, "synthetic", epsilon=0.4)
    page.get_by_role("combobox", name="Numbers and dates").click()
    page.get_by_role("option", name="as numbers, in bins found privately").click()
    expect(page.get_by_text(re.compile(r"at most \d+ bins each, for [\d.]+ % of the budget"))).to_be_visible()


def test_tables_are_attacked_by_their_steward(service, sample, page, console, check_accessible):
    console.sign_in(page, service, service.token("steward"))
    wizard(page, service, console, sample, "tables", epsilon=0.3).click()
    page.get_by_role("button", name="Confirm").click()
    page.get_by_role("button", name="Assess").click()
    expect(page.get_by_text("Full report")).to_be_visible(timeout=120_000)
    expect(page.get_by_role("row", name="exact copies")).to_contain_text("It needs released rows.")
    check_accessible(page)


def test_anonymized_rows_cost_nothing_and_say_what_holds(service, sample, page, console, check_accessible, picture):
    console.sign_in(page, service, service.token("analyst"))
    with service.client() as client:
        before = client.budget(sample).spent
    wizard(page, service, console, sample, "anonymized", k=10).click()
    asked = page.get_by_role("dialog", name="Release these rows?")  # nothing is spent, and rows of real people leave
    expect(asked).to_contain_text("Rows of real people are released")
    expect(asked).to_contain_text(
        "No budget is spent, and there is no differential privacy. Criteria: every row is alike with"
    )
    picture(page, "console-anonymized-confirm")
    page.get_by_role("button", name="Not now").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Make a release")
    page.get_by_role("button", name="Make the release").click()
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("heading", name="Preview")).to_be_visible()
    expect(page.get_by_text("No differential privacy.")).to_be_visible()
    expect(page.get_by_text("Only the steward of the data can make an assessment")).to_be_visible()
    check_accessible(page)
    picture(page, "console-anonymized", full_page=True)
    with page.expect_download() as download:
        page.get_by_role("link", name="Privacy statement, signed").click()
    statement = Statement.read(download.value.path())
    assert (statement.guarantee, statement.epsilon) == ("none", None)
    assert statement.mechanism["asked"]["k"] == 10
    assert all(check.good for check in verify(statement))
    with service.client() as client:
        assert client.budget(sample).spent == before


def test_an_assessment_shows_every_attack_that_its_headline_could_name(service, sample, page, console, picture):
    token = service.token("steward")
    console.sign_in(page, service, token)
    wizard(page, service, console, sample, "synthetic", epsilon=0.2).click()
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("heading", name="Preview")).to_be_visible()
    page.get_by_role("button", name="Assess").click()
    chart = console.chart(page, "Risk by attack")
    expect(chart).to_be_visible(timeout=240_000)
    said = chart.get_attribute("aria-label")
    with service.client() as client:
        job = next(job for job in client.jobs() if job.kind == "assess")
    answer = page.request.get(
        f"{service.url}/v1/assessments/{job.id}", headers={"Authorization": f"Bearer {token}"}
    ).json()
    assert {"membership, distance", "membership, density ratio"} & {each["name"] for each in answer["risks"]}
    assert all(each["name"] in said for each in answer["risks"])
    assert answer["worst"] in said
    expect(page.get_by_text(answer["headline"])).to_be_visible()
    console.to_top(page)
    picture(page, "console-assessment", full_page=True)
    console.turn_dark(page)
    picture(page, "console-assessment-dark", full_page=True)


def test_a_kind_without_a_form_of_its_own_has_one_from_its_schema(
    service, sample, page, console, check_accessible, picture
):
    console.sign_in(page, service, service.token("analyst"))
    console.visit(page, service, f"/releases/new?dataset={sample}&kind=clusters&epsilon=0.5", "Make a release")
    button = page.get_by_role("button", name="Make the release")
    expect(page.get_by_text("columns: must not be empty.")).to_be_visible()
    expect(button).to_be_disabled()
    page.get_by_role("combobox", name="Columns").click()
    page.get_by_role("option", name="age", exact=True).click()
    page.keyboard.press("Escape")
    page.get_by_label("Clusters", exact=True).fill("3")
    expect(button).to_be_enabled()
    check_accessible(page)
    picture(page, "console-clusters-form", full_page=True)
    button.click()
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Clusters of {sample}")
    table = page.get_by_role("table", name="Released numbers")
    expect(table.get_by_role("row")).to_have_count(4)
    check_accessible(page)
    picture(page, "console-clusters", full_page=True)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download CSV").click()
    assert download.value.path().read_text().splitlines()[0] == '"age","size","size_std"'
    with service.client() as client:
        assert any(job.kind == "clusters" for job in client.jobs())


def test_a_network_of_numbers_is_drawn(service, sample, page, console, check_accessible, picture):
    console.sign_in(page, service, service.token("analyst"))
    console.visit(page, service, f"/releases/new?dataset={sample}&kind=network&epsilon=0.5", "Make a release")
    for name in ("age", "income"):
        page.get_by_role("combobox", name="Columns").click()
        page.get_by_role("option", name=name, exact=True).click()
        page.keyboard.press("Escape")
    page.get_by_label("Require", exact=True).fill("age:income")
    button = page.get_by_role("button", name="Make the release")
    expect(button).to_be_enabled()
    check_accessible(page)
    button.click()
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"A network of numbers of {sample}")
    expect(page.get_by_role("img", name="income follows age")).to_be_visible()
    expect(page.get_by_role("table", name="Released numbers").get_by_role("row")).to_have_count(4)
    check_accessible(page)
    picture(page, "console-network-of-numbers", full_page=True)


def test_rows_are_masked_by_a_steward(service, sample, page, console, check_accessible, picture):
    console.sign_in(page, service, service.token("steward"))
    console.visit(page, service, f"/releases/new?dataset={sample}&kind=masked", "Make a release")
    expect(page.get_by_text("steps: must have at least one step.")).to_be_visible()
    page.get_by_label("Microaggregate", exact=True).fill("income=5")
    page.get_by_label("Round", exact=True).fill("age=10")
    page.get_by_label("Suppress locally", exact=True).fill("age=3")
    expect(page.get_by_text("microaggregate, round, suppress locally")).to_be_visible()
    button = page.get_by_role("button", name="Make the release")
    expect(button).to_be_enabled()
    check_accessible(page)
    picture(page, "console-masked-form", full_page=True)
    button.click()
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Masked rows of {sample}")
    expect(page.get_by_text("No differential privacy: these are rows of real people, masked.")).to_be_visible()
    expect(page.get_by_text("Variance lost: income")).to_be_visible()
    expect(page.get_by_role("heading", name="Preview")).to_be_visible()
    check_accessible(page)
    page.get_by_role("button", name="Assess").click()
    expect(page.get_by_text("Full report")).to_be_visible(timeout=120_000)


def test_imputed_rows_are_for_stewards_who_confirm(service, sample, page, console):
    console.sign_in(page, service, service.token("analyst"))
    console.visit(page, service, f"/releases/new?dataset={sample}", "Make a release")
    page.get_by_role("combobox", name="Kind of release").click()
    expect(page.get_by_role("option", name="Clusters (k-means)")).to_be_visible()
    expect(page.get_by_role("option", name="Imputed rows, without a guarantee")).to_have_count(0)


def test_a_model_is_made_and_asked(service, sample, page, console, check_accessible, picture):
    console.sign_in(page, service, service.token("steward"))
    button = wizard(page, service, console, sample, "model", model="trees", epsilon=0.5)
    expect(page.get_by_text("Wrong predictions, blind guess")).to_be_visible()
    shown = page.locator("dl.facts").last
    errors = re.findall(r"(\d+\.\d) % ± (\d+\.\d) %", shown.inner_text())
    assert len(errors) >= 3  # each with the chance of the rehearsal
    useful = "The model would be better than a blind guess" in shown.inner_text()
    assert useful != ("No better than a blind guess" in shown.inner_text())
    button.click()
    page.get_by_role("button", name="Confirm").click()
    page.get_by_role("button", name="Predict", exact=True).click()
    expect(page.get_by_text(re.compile("Prediction: (never|formerly|sometimes|daily)"))).to_be_visible()
    expect(page.get_by_text("The accuracy on real people was not measured")).to_be_visible()
    check_accessible(page)
    picture(page, "console-model", full_page=True)
    page.get_by_role("button", name="Assess").click()
    chart = console.chart(page, "Risk by attack")
    expect(chart).to_be_visible(timeout=240_000)
    assert "loss threshold, trees model of" in chart.get_attribute("aria-label")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download parameters").click()
    assert "parameters" in download.value.path().read_text()


def test_jobs_are_watched_and_stopped(service, sample, page, console, check_accessible):
    """The list moves by itself; what waits can be stopped, and is asked about first."""
    token = service.token("steward")
    console.sign_in(page, service, token)
    wizard(page, service, console, sample, "synthetic", epsilon=0.2).click()
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Synthetic rows of {sample}")
    console.visit(page, service, "/jobs", "Jobs")
    expect(page.get_by_role("row", name="synthetic rows").first).to_contain_text("done")
    check_accessible(page)
    with service.paused():
        wizard(page, service, console, sample, "synthetic", epsilon=0.2).click()
        page.get_by_role("button", name="Confirm").click()
        page.get_by_role("button", name="Cancel").click()
        expect(page.get_by_text("Budget that it has spent is not refunded.")).to_be_visible()

"""A steward compares releases of the sample, and goes on to make the one that is recommended."""

from __future__ import annotations

import re
import time

import httpx
from playwright.sync_api import expect

from tacita.console.parts.sample import SAMPLE


def make_sample(page, service) -> None:
    """The tour begins with it."""
    page.goto(f"{service.url}/console/")
    page.get_by_role("button", name="the tour").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(SAMPLE)


CLEAR = """svg => {
  const light = (colour) => {
    const [r, g, b] = colour.match(/[0-9.]+/g).map(Number);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = light(getComputedStyle(svg.closest(".panel")).backgroundColor);
  const marks = [...svg.querySelectorAll("path[stroke]:not([fill-opacity])")];
  const fills = marks.map((each) => each.getAttribute("fill") ?? "");
  const clear = fills.filter((each) => each.startsWith("rgb")).map((each) => Math.abs(light(each) - ground));
  const probe = document.body.appendChild(document.createElement("span"));
  probe.style.color = "var(--mark-1)";
  const mark = Math.abs(light(getComputedStyle(probe).color) - ground);
  probe.remove();
  return [Math.max(...clear), Math.min(...clear), mark].map((each) => Math.round(each));
}"""
"""How far the strongest mark of a chart, the faintest, and the colour of marks are from the surface they are on."""


def strongest_is_clearest(page, console) -> bool:
    """Whether the strongest pair has the colour that is farthest from the page."""
    svg = console.chart(page, "Mutual information of pairs").locator("svg")
    expect(svg).to_be_visible()
    console.settle(page)
    strong, faint, of_marks = svg.evaluate(CLEAR)
    return strong > faint and strong == of_marks


def test_a_steward_compares_releases(page, service, console, check_accessible, picture):
    token = service.token("steward")
    console.sign_in(page, service, token)
    console.visit(page, service, "/comparisons", "Compare releases")
    expect(page.get_by_text("There is no dataset yet.")).to_be_visible()
    check_accessible(page)
    make_sample(page, service)

    console.visit(page, service, f"/comparisons?dataset={SAMPLE}", "Compare releases")
    expect(page.get_by_text("There is no comparison yet.")).to_be_visible()
    check_accessible(page)
    console.choose(page, "Start with", "k-anonymity at several k")
    expect(page.get_by_label("Releases", exact=True)).to_have_value(
        "\n".join(f"anonymize: {{k: {k}}}" for k in (3, 5, 10, 20, 50))
    )
    page.get_by_label("Releases", exact=True).fill("nothing: {k: 5}")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("alert")).to_contain_text("line 1")
    page.get_by_role("button", name="Close").click()
    page.get_by_label("Releases", exact=True).fill("statistics: {epsilon: 1.0}\nsynthesize: {epsilon: 1.0}")
    page.get_by_label("Guesses of each attack").fill("100")
    page.get_by_label("Most trials").fill("6")
    console.slide(page, "Largest risk allowed", 3)
    expect(page.get_by_text("Largest risk allowed: 30 %")).to_be_visible()
    picture(page, "console-comparison-form", full_page=True)
    page.get_by_role("button", name="Compare").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Comparison of releases")
    expect(
        page.get_by_role("heading", name=re.compile("Recommended: (statistics|synthesize) epsilon 1"))
    ).to_be_visible()
    expect(page.get_by_text("It has a guarantee that does not depend on what an intruder knows")).to_be_visible()
    expect(page.get_by_role("heading", name="Differences")).to_be_visible()
    expect(page.get_by_text(re.compile("^6: ")).first).to_be_visible()
    made = page.get_by_role("link", name="Make this release").get_attribute("href")
    assert f"/console/releases/new?dataset={SAMPLE}&kind=" in made
    expect(console.chart(page, "Risk and utility")).to_be_visible()
    console.settle(page)
    check_accessible(page)
    console.to_top(page)
    picture(page, "console-comparison", docs=True, full_page=True)
    console.turn_dark(page)
    check_accessible(page)
    picture(page, "console-comparison-dark", full_page=True)
    printed = page.get_by_role("link", name="Report to print").get_attribute("href")
    assert "<svg" in page.request.get(f"{service.url}{printed}").text()
    assert (
        page.request.get(
            f"{service.url}/v1/datasets/{SAMPLE}/budget", headers={"Authorization": f"Bearer {token}"}
        ).json()["spent"]
        == 0
    )

    page.get_by_role("link", name="Make: synthesize epsilon 1").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Make a release")
    assert f"dataset={SAMPLE}&kind=synthetic&epsilon=1" in page.url
    console.visit(page, service, "/comparisons", "Compare releases")
    expect(page.get_by_role("link", name=f"Releases of {SAMPLE}")).to_be_visible()
    check_accessible(page)


def test_a_model_answers_what_if(page, service, console, check_accessible, picture):
    token = service.token("steward")
    console.sign_in(page, service, token)
    make_sample(page, service)
    console.visit(page, service, "/network", "Network")
    expect(page.get_by_text("There is no model yet.")).to_be_visible()
    check_accessible(page)
    headers = {"Authorization": f"Bearer {token}"}
    jobs = []
    for method in ("pairs", "privbayes"):
        body = {"dataset": SAMPLE, "budget": {"epsilon": 1.0}, "method": method, "rows": 100}
        jobs.append(
            httpx.post(f"{service.url}/v1/releases/synthetic", json=body, headers=headers, timeout=120).json()["id"]
        )
    with service.client() as client:
        for job in jobs:
            while (found := client.job(job)).state != "done":
                assert found.state in ("queued", "running"), found.error
                time.sleep(0.2)
    console.visit(page, service, "/network", "Network")
    page.get_by_role("combobox", name="Model").click()
    page.get_by_role("option").nth(1).click()  # the older one: of pairs
    expect(page.get_by_text("This model is not a network: it was fitted to tables.")).to_be_visible()
    expect(console.chart(page, "Mutual information of pairs")).to_be_visible()
    expect(page.get_by_text("The stronger the colour of a pair, the more")).to_be_visible()
    assert strongest_is_clearest(page, console)
    expect(page.get_by_text(re.compile("darker|lighter", re.IGNORECASE))).to_have_count(0)
    console.turn_dark(page)
    assert strongest_is_clearest(page, console)  # the chart is drawn anew in the colours of the theme
    picture(page, "console-pairs-dark", full_page=True)
    check_accessible(page)
    page.get_by_role("button", name="Light or dark").click()
    page.wait_for_selector("body:not(.body--dark)")
    console.choose(page, "Attribute in question", "region")
    console.choose(page, "smoking", "daily")
    expect(page.get_by_text("among people with smoking = daily")).to_be_visible()
    head, *rows = console.numbers(page, "Shares of region")
    assert head[0] == "region"
    assert head[-1] == "given the known attributes, to"
    assert all(len(row) == 7 for row in rows)
    expect(page.get_by_text("each with 95 % confidence").first).to_be_visible()
    check_accessible(page)
    console.to_top(page)
    picture(page, "console-model", full_page=True)
    console.visit(page, service, f"/network?release={jobs[1]}", "Network")
    expect(console.chart(page, "Network of the attributes")).to_be_visible()
    check_accessible(page)
    console.turn_dark(page)
    check_accessible(page)
    picture(page, "console-network-release", full_page=True)

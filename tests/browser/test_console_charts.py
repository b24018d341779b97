"""Charts: the same numbers in the picture, the table, the files and the REST answer; keys, themes, zoom, phones."""

from __future__ import annotations

import csv
import io
import re
import time

import httpx
import pytest
from playwright.sync_api import expect

from tacita.console.parts.sample import SAMPLE
from tacita.tables.release import Releases

BIGGER = {"viewport": {"width": 640, "height": 400}}
"""A window of 1280 x 800 at a zoom of 200 %."""
TEXT = """svg => [...svg.querySelectorAll("text")].map(each => parseFloat(getComputedStyle(each).fontSize))"""
WEIGHT = """() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
    .reduce((sum, each) => sum + each.encodedBodySize, 0)"""


@pytest.fixture(scope="module")
def tables(service, chromium, console):
    """The sample, with noisy tables and with synthetic rows: their ids."""
    page = chromium.new_page()
    console.sign_in(page, service, service.token())
    page.get_by_role("button", name="Start the tour").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(SAMPLE)
    page.close()
    headers = {"Authorization": f"Bearer {service.token()}"}
    asked = {
        "tables": {"tables": [["smoking"], ["sex", "smoking"], ["region"]], "budget": {"epsilon": 0.5}},
        "synthetic": {"budget": {"epsilon": 1.0}, "method": "pairs"},
    }
    made = []
    with service.client() as client:
        for kind, body in asked.items():
            url = f"{service.url}/v1/releases/{kind}"
            answer = httpx.post(url, json={"dataset": SAMPLE} | body, headers=headers, timeout=120).json()
            while (job := client.job(answer["id"])).state != "done":
                assert job.state in ("queued", "running"), job.error
                time.sleep(0.2)
            made.append(answer["id"])
    return tuple(made)


def released(service, id):
    headers = {"Authorization": f"Bearer {service.token()}"}
    return Releases.from_json(httpx.get(f"{service.url}/v1/releases/{id}", headers=headers, timeout=120).text)


def number(text: str) -> float:
    return float(text.replace(",", ""))


def test_the_table_of_a_chart_has_the_numbers_of_the_interface(service, tables, page, console, check_accessible):
    console.sign_in(page, service, service.token())
    console.visit(page, service, f"/releases/{tables[0]}", f"Noisy tables of {SAMPLE}")
    for release in released(service, tables[0]).values():
        _, *rows = console.numbers(page, f"Table of {' by '.join(release.attributes)}:")
        low, high = release.interval(0.95)
        for place, values in enumerate((release.values, low, high), start=1):
            assert [number(row[place]) for row in rows] == pytest.approx(values.ravel().tolist(), rel=1e-3, abs=0.01)
    # by keys alone: the table opens
    page.locator("figure.chart summary").first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("table", name="Table of smoking")).to_be_visible()
    expect(page.get_by_role("cell", name="never").first).to_be_visible()
    check_accessible(page)


def test_files_of_a_chart(service, tables, page, console):
    console.sign_in(page, service, service.token())
    console.visit(page, service, f"/releases/{tables[0]}", f"Noisy tables of {SAMPLE}")
    expect(console.chart(page, "Table of smoking").locator("svg")).to_be_visible()
    figure = page.locator("figure.chart", has=console.chart(page, "Table of smoking"))
    found = {}
    for kind in ("PNG", "SVG", "CSV"):
        with page.expect_download() as download:
            figure.get_by_role("button", name=kind).click()
        assert download.value.suggested_filename == f"table-of-smoking.{kind.lower()}"
        found[kind] = download.value.path().read_bytes()
    assert found["PNG"].startswith(b"\x89PNG")
    assert len(found["PNG"]) > 5000
    assert b"<svg" in found["SVG"]
    assert b"formerly" in found["SVG"]
    assert b"var(--" not in found["SVG"]  # the file has its colours by itself
    head, *rows = csv.reader(io.StringIO(found["CSV"].decode()))
    assert head == ["smoking", "value", "95 % from", "95 % to"]
    release = released(service, tables[0])["smoking",]
    assert [float(row[1]) for row in rows] == release.values.tolist()


def test_arrow_keys_go_from_mark_to_mark_and_say_the_numbers(service, tables, page, console):
    console.sign_in(page, service, service.token())
    console.visit(page, service, f"/releases/{tables[0]}", f"Noisy tables of {SAMPLE}")
    chart = console.chart(page, "Table of smoking")
    expect(chart.locator("svg")).to_be_visible()
    chart.focus()
    page.keyboard.press("ArrowRight")
    value = released(service, tables[0])["smoking",].values[0]
    said = page.locator("figure.chart", has=chart).locator(".chart-said")
    expect(said).to_have_text(re.compile(f"never, {value:,.0f} ± "))
    expect(page.locator(".chart-tip")).to_contain_text("never")
    page.keyboard.press("ArrowRight")
    expect(said).to_have_text(re.compile("formerly"))
    page.keyboard.press("ArrowLeft")
    expect(said).to_have_text(re.compile("never"))


def test_a_chart_is_zoomed_by_buttons_and_keys(service, tables, page, console):
    console.sign_in(page, service, service.token())
    console.visit(page, service, "/calculators", "Calculators")
    chart = console.chart(page, "Belief over epsilon")
    expect(chart.locator("svg")).to_be_visible()
    labels = "svg => [...svg.querySelectorAll('text')].map(each => each.textContent)"
    whole = chart.locator("svg").evaluate(labels)
    assert "8" in whole
    page.locator("figure.chart", has=chart).get_by_role("button", name="Zoom in").click()
    expect(chart.locator("svg text", has_text=re.compile("^8$"))).to_have_count(0)
    chart.focus()
    page.keyboard.press("0")
    expect(chart.locator("svg text", has_text=re.compile("^8$"))).to_have_count(1)
    page.keyboard.press("+")
    expect(chart.locator("svg text", has_text=re.compile("^8$"))).to_have_count(0)


def test_two_attributes_are_a_crosstab_and_regions_are_tiles(service, tables, page, console, check_accessible, picture):
    console.sign_in(page, service, service.token())
    console.visit(page, service, f"/releases/{tables[0]}", f"Noisy tables of {SAMPLE}")
    console.choose(page, "Show sex by smoking as", "Shares with totals")
    _, *rows = console.numbers(page, "Shares of sex by smoking")
    shares = {(row[0], row[1]): float(row[2].removesuffix(" %")) for row in rows}
    release = released(service, tables[0])["sex", "smoking"]
    assert shares["all", "all"] == 100
    first = 100 * float(release.values[0, 0] / release.values.sum())
    assert shares["female", "never"] == pytest.approx(first, rel=1e-3)
    console.choose(page, "Show region as", "Map of tiles")
    expect(console.chart(page, "Regions of region")).to_be_visible()
    check_accessible(page)
    panels = page.locator(".page-main .panel")
    picture(panels.filter(has=console.chart(page, "Shares of sex by smoking")), "console-look-crosstab", docs=True)
    picture(panels.filter(has=console.chart(page, "Regions of region")), "console-look-tiles", docs=True)


def test_synthetic_rows_are_shown_beside_released_tables(service, tables, page, console, check_accessible, picture):
    console.sign_in(page, service, service.token())
    console.visit(page, service, f"/releases/{tables[1]}", f"Synthetic rows of {SAMPLE}")
    head, *rows = console.numbers(page, "Real and synthetic: smoking")
    assert head[1:] == [
        "released table of the data",
        "released table of the data, from",
        "released table of the data, to",
        "synthetic rows",
    ]
    release = released(service, tables[0])["smoking",]
    shares = release.values / release.values.sum()
    assert [float(row[1].removesuffix(" %")) / 100 for row in rows] == pytest.approx(shares.tolist(), abs=1e-3)
    assert sum(float(row[4].removesuffix(" %")) for row in rows) == pytest.approx(100, abs=0.1)
    expect(console.chart(page, "Real and synthetic: sex by smoking")).to_be_visible()
    check_accessible(page)
    panel = page.locator(".panel", has=page.get_by_role("heading", name="Real against synthetic"))
    picture(panel, "console-look-against", docs=True)


def test_a_chart_follows_the_theme(service, tables, page, console, picture):
    console.sign_in(page, service, service.token())
    console.visit(page, service, f"/releases/{tables[0]}", f"Noisy tables of {SAMPLE}")
    words = console.chart(page, "Table of smoking").locator("svg text", has_text="never").first
    expect(words).to_be_visible()
    light = words.evaluate("each => getComputedStyle(each).fill")
    assert light == page.evaluate("() => getComputedStyle(document.body).color")
    console.turn_dark(page)
    expect(words).to_be_visible()
    dark = words.evaluate("each => getComputedStyle(each).fill")
    assert dark == page.evaluate("() => getComputedStyle(document.body).color")
    assert light != dark
    picture(page.locator(".page-main .panel").first, "console-look-dark", docs=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", ["phone", "zoomed"])
def test_pages_with_charts_fit_and_are_accessible(
    service, tables, browse, console, check_accessible, picture, scheme, size
):
    page = browse(phone=size == "phone", color_scheme=scheme, **({} if size == "phone" else BIGGER))
    console.sign_in(page, service, service.token())
    paths = {
        "/": "Start",
        "/calculators": "Calculators",
        "/releases": "Releases",
        f"/datasets/{SAMPLE}": SAMPLE,
        f"/releases/{tables[0]}": f"Noisy tables of {SAMPLE}",
        f"/releases/{tables[1]}": f"Synthetic rows of {SAMPLE}",
        f"/network?release={tables[1]}": "Network",
    }
    for path, heading in paths.items():
        console.visit(page, service, path, heading)
        for chart in page.locator(".chart-picture").all():
            svg = chart.locator("svg").first
            expect(svg).to_be_visible()
            assert min(svg.evaluate(TEXT)) >= 11
        assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth"), path
        check_accessible(page, strictly=True)
    picture(page, f"console-charts-{size}-{scheme}", full_page=True)


def test_the_module_of_charts_is_loaded_only_where_there_is_one(service, tables, browse, console):
    page = browse()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    console.sign_in(page, service, service.token())
    console.visit(page, service, "/releases", "Releases")
    assert not any("/esm/" in url for url in asked)
    console.visit(page, service, f"/releases/{tables[0]}", f"Noisy tables of {SAMPLE}")
    expect(page.locator(".chart-picture svg").first).to_be_visible()
    assert any("/esm/" in url for url in asked)
    assert all(url.startswith((service.url, service.url.replace("http", "ws"), "data:")) for url in asked)
    assert 100_000 < page.evaluate(WEIGHT) < 1_000_000


def test_the_budget_has_a_gauge_with_its_unit_and_the_ledger_its_costs(service, tables, page, console, picture):
    console.sign_in(page, service, service.token())
    console.visit(page, service, f"/datasets/{SAMPLE}", SAMPLE)
    expect(page.get_by_role("img", name="Budget: ε 1.5 of ε 4 spent, ε 2.5 left")).to_be_visible()
    expect(page.get_by_text("A forecast needs a day since the first charge.")).to_be_visible()
    ledger = page.get_by_role("table", name="Latest charges")
    expect(ledger.get_by_role("row").nth(1)).to_contain_text("ε\u00a01")
    expect(ledger.get_by_role("row").nth(2)).to_contain_text("ε\u00a00.5")
    picture(page.locator(".page-side .panel").first, "console-look-gauge", docs=True)
    head, *rows = console.numbers(page, "Spent budget over time")
    assert head == ["time", "epsilon"]
    assert float(rows[-1][1]) == 1.5
    ledger.get_by_role("link").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Synthetic rows of {SAMPLE}")


def test_the_cost_of_a_release_is_a_part_of_the_budget(service, tables, page, console, check_accessible, picture):
    console.sign_in(page, service, service.token())
    console.visit(page, service, f"/releases/new?dataset={SAMPLE}&kind=tables&epsilon=0.5", "Make a release")
    gauge = page.get_by_role("img", name="Budget: ε 1.5 of ε 4 spent, this release ε 0.5, ε 2 left afterwards")
    expect(gauge).to_be_visible()
    check_accessible(page)
    picture(page.locator(".page-side .panel").first, "console-look-cost", docs=True)
    expect(page.locator(".skeleton")).to_have_count(0)


def test_cards_of_releases_name_their_promise(service, tables, page, console, picture):
    console.sign_in(page, service, service.token())
    console.visit(page, service, "/releases", "Releases")
    cards = page.get_by_role("listitem")
    expect(cards).to_have_count(2)
    expect(cards.filter(has_text="Synthetic rows")).to_contain_text("differential privacy")
    picture(page.locator(".cards"), "console-look-cards", docs=True)
    cards.get_by_role("link", name="Noisy tables").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Noisy tables of {SAMPLE}")


def test_the_menu_is_a_drawer_on_a_phone(service, tables, phone, console, check_accessible, picture):
    console.sign_in(phone, service, service.token())
    menu = phone.get_by_role("navigation", name="Pages")
    expect(menu).to_have_count(0)  # hidden from eyes, ears and keys
    button = phone.get_by_role("button", name="Menu")
    button.click()
    expect(menu).to_be_visible()
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(menu.get_by_role("link", name="Start")).to_be_focused()
    console.settle(phone)
    check_accessible(phone, strictly=True)
    picture(phone, "console-look-drawer", docs=True)
    phone.keyboard.press("Escape")
    expect(menu).to_have_count(0)
    expect(button).to_be_focused()
    button.click()
    phone.locator(".menu-shade").click(position={"x": 370, "y": 400})
    expect(menu).to_have_count(0)
    button.click()
    menu.get_by_role("link", name="Datasets").click()
    expect(phone.get_by_role("heading", level=1)).to_have_text("Datasets")
    expect(menu).to_have_count(0)

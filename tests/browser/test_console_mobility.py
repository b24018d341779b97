"""Synthetic tap records in the console: the form, the map of flows, the assessment."""

import io

import httpx
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import expect

from tacita.demo.city import build_city, simulate_taps
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit

CITY = build_city(lines=4, stations=6, stops=1)


@pytest.fixture(scope="module")
def city(service):
    """Tap records of a simulated city, and of as many cards that were held back."""
    token = service.token("steward")
    with service.client() as client:
        for name, seed in (("city", 1), ("held", 2)):
            out = io.BytesIO()
            pq.write_table(simulate_taps(CITY, 1000, seed=seed), out)
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/vnd.apache.parquet"}
            url = f"{service.url}/v1/sources/{name}"
            assert httpx.put(url, content=out.getvalue(), headers=headers, timeout=120).status_code == 200
            client.register(
                name,
                source=name,
                domain=CITY.schema.domain,
                unit=Unit.of_person("card", max_rows=20),
                neighbours=Neighbours.ADD_REMOVE,
                budget=Budget.pure(10.0),
            )
    return "city"


def test_a_map_of_flows(service, city, page, console, check_accessible, picture, tmp_path):
    console.sign_in(page, service, service.token("steward"))
    console.visit(page, service, f"/releases/new?dataset={city}&kind=mobility&epsilon=5", "Make a release")
    CITY.places.write(tmp_path / "places.csv")
    page.get_by_label("Approximate number of cards (if public)").fill("1000")
    page.get_by_label("Public places (CSV)").fill("nothing\nhere")
    expect(page.get_by_text("places: must be a CSV text with a column `id`.")).to_be_visible()
    page.get_by_label("Public places (CSV)").fill((tmp_path / "places.csv").read_text())
    button = page.get_by_role("button", name="Make the release")
    expect(button).to_be_enabled()
    expect(page.get_by_text("standard error").first).to_be_visible()
    check_accessible(page)
    picture(page, "console-mobility-plan", full_page=True)
    button.click()
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Synthetic tap records of {city}")
    expect(page.get_by_role("img", name="Flows between places")).to_be_visible()
    expect(page.get_by_role("img", name="Trips by hour of day")).to_be_visible()
    check_accessible(page)
    picture(page, "console-mobility", full_page=True)
    console.choose(page, "Control rows (people who are not in the data)", "held")
    page.get_by_role("button", name="Assess").click()
    expect(page.get_by_text("Full report")).to_be_visible(timeout=240_000)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download Parquet").click()
    assert pq.read_table(download.value.path()).num_rows > 1000

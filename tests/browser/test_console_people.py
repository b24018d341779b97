"""Who may see what: roles, refusals, signing in and out, and a server that goes away."""

import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from tacita.console.parts.sample import SAMPLE
from tacita.privacy.budget import Budget
from tacita.tables.release import Releases

WEIGHT = """() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
    .reduce((sum, each) => sum + each.encodedBodySize, 0)"""  # as it travels, also where it came from the cache
PAGES = {
    "/": "Start",
    "/datasets": "Datasets",
    "/datasets/new": "Add a dataset",
    f"/datasets/{SAMPLE}": SAMPLE,
    "/releases/new": "Make a release",
    "/releases": "Releases",
    "/jobs": "Jobs",
    "/audit": "Audit log",
    "/tokens": "People and tokens",
}


@pytest.fixture(scope="module")
def sample(service, chromium, console):
    """The sample is there, brought by its button."""
    page = chromium.new_page()
    console.sign_in(page, service, service.token())
    page.get_by_role("button", name="Start the tour").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(SAMPLE)
    page.close()
    return SAMPLE


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_accessible_and_light(service, sample, browse, console, check_accessible, picture, scheme):
    page = browse(color_scheme=scheme)
    console.sign_in(page, service, service.token())
    weights = {}
    for path, heading in PAGES.items():
        console.visit(page, service, path, heading)
        page.wait_for_timeout(400)
        check_accessible(page, strictly=True)
        picture(page, f"console-{heading.lower().replace(' ', '-')}-{scheme}", full_page=True)
        weights[path] = page.evaluate(WEIGHT)
    assert min(weights.values()) > 100_000  # something was weighed
    assert max(weights.values()) < 1_000_000


def test_everything_comes_from_the_server_itself(service, sample, page, console):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    console.sign_in(page, service, service.token())
    console.visit(page, service, "/releases/new", "Make a release")
    assert {re.match(r"\w+://[^/]+", url)[0] for url in asked} <= {service.url, service.url.replace("http", "ws")}


def test_a_buyer_is_refused_with_the_way_out(service, sample, page, browse, console, check_accessible, picture):
    console.sign_in(page, service, service.token("analyst"))
    menu = page.get_by_role("navigation", name="Pages")
    expect(menu.get_by_role("link", name="People and tokens")).to_have_count(0)
    page.goto(f"{service.url}/console/tokens")
    expect(page.get_by_role("alert")).to_contain_text("role: may not see this page (it is analyst)")
    expect(page.get_by_role("alert")).to_contain_text("Ask an admin")
    check_accessible(page)
    picture(page, "console-refused")
    # fewer people alike than the owner allows
    console.visit(page, service, f"/releases/new?dataset={sample}&kind=anonymized&k=2", "Make a release")
    expect(page.get_by_text(re.compile("k: must be at least 5|k: .*5"))).to_be_visible()
    expect(page.get_by_role("button", name="Make the release")).to_be_disabled()
    # the same behind the pages' back
    cookies = {cookie["name"]: cookie["value"] for cookie in page.context.cookies()}
    answer = httpx.get(f"{service.url}/console/files/v1/datasets/{sample}/charges", cookies=cookies, timeout=120)
    assert answer.status_code == 403


def test_a_member_of_the_board_sees_what_was_released_and_changes_nothing(
    service, sample, page, browse, console, check_accessible, picture
):
    with service.client() as client:
        charged = client.query(sample, [["sex"]], Budget.pure(0.01), purpose="sexes in the sample")
        paid = client.release("synthetic", dataset=sample, budget={"epsilon": 0.05}, rows=50).id
        client.wait_release(paid)
        plain = client.release("anonymized", dataset=sample, k=20).id
        client.wait_release(plain)
    console.sign_in(page, service, service.token("reader"))
    console.visit(page, service, "/releases", "Releases")
    expect(page.get_by_role("link", name="Make a release")).to_have_count(0)
    check_accessible(page)
    picture(page, "console-reader-releases", full_page=True)
    console.visit(page, service, f"/datasets/{sample}", sample)
    for absent in ("Make a release", "Compare releases"):
        expect(page.get_by_role("link", name=absent)).to_have_count(0)
    expect(page.get_by_text("Raise the budget")).to_have_count(0)
    with page.expect_download() as answer:
        page.get_by_role("link", name="sexes in the sample").first.click()
    assert Releases.from_json(Path(answer.value.path()).read_text()).to_json() == charged.to_json()
    check_accessible(page)
    picture(page, "console-reader-dataset", full_page=True)
    page.goto(f"{service.url}/console/releases/{paid}")
    expect(page.get_by_role("heading", name="Preview")).to_be_visible()
    expect(page.get_by_role("link", name="What-if questions")).to_have_count(0)
    page.goto(f"{service.url}/console/releases/{plain}")
    expect(page.get_by_text("only if a budget has paid for it")).to_be_visible()
    expect(page.get_by_role("link", name="Download CSV")).to_have_count(0)
    page.goto(f"{service.url}/console/releases/new")
    expect(page.get_by_role("alert")).to_contain_text("may not see this page")


def test_a_scope_holds_in_the_console_too(service, sample, page, console):
    console.sign_in(page, service, service.token("analyst", datasets=["something-else"]))
    expect(page.get_by_text("There is no dataset that you may use.")).to_be_visible()
    page.goto(f"{service.url}/console/datasets/{sample}")
    expect(page.get_by_role("alert")).to_contain_text("not in the scope")


def test_more_than_the_budget_is_said_before_it_is_asked(service, sample, page, console):
    with service.client() as client:
        left = client.budget(sample).remaining
        client.query(sample, [["sex"]], Budget.pure(left - 0.01))
    console.sign_in(page, service, service.token("analyst"))
    console.visit(page, service, f"/releases/new?dataset={sample}&kind=tables", "Make a release")
    expect(page.get_by_text("The budget is not enough.")).to_be_visible()
    expect(page.get_by_role("button", name="Make the release")).to_be_disabled()


def test_tokens_are_shown_once_and_end_at_once(service, page, browse, console, check_accessible):
    console.sign_in(page, service, service.token())
    console.visit(page, service, "/tokens", "People and tokens")
    page.get_by_label("Name of the person or program").fill("a new analyst")
    page.get_by_role("button", name="Create the token").click()
    expect(page.get_by_role("alert")).to_contain_text("choose at least one dataset or campaign")
    page.get_by_role("button", name="Close", exact=True).click()
    console.choose(page, "Scope", "all, also later ones")
    page.get_by_role("button", name="Create the token").click()
    text = page.locator("code.token").inner_text()
    assert re.fullmatch(r"tct_[0-9a-f]{16}_[0-9a-f]{64}", text)
    check_accessible(page)
    page.get_by_role("button", name="Done").click()
    expect(page.locator("code.token")).to_have_count(0)
    assert text not in page.content()
    headers = {"Authorization": f"Bearer {text}"}
    assert httpx.get(f"{service.url}/v1/datasets", headers=headers, timeout=120).status_code == 200
    page.get_by_role("row", name="a new analyst").get_by_role("button", name="Revoke").click()
    page.get_by_role("button", name="Revoke the token").click()
    expect(page.get_by_role("row", name="a new analyst")).to_contain_text("revoked")
    assert httpx.get(f"{service.url}/v1/datasets", headers=headers, timeout=120).status_code == 401


def test_who_is_shut_out_is_asked_to_sign_in(service, page, browse, console):
    browse.expect("401")
    with service.client() as client:
        issued = client.create_token(name="somebody", role="analyst", datasets=None)
        console.sign_in(page, service, issued.token)
        client.revoke_token(issued.id)
    page.goto(f"{service.url}/console/datasets")
    expect(page.get_by_label("Your token")).to_be_visible()
    page.get_by_label("Your token").fill("tct_wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("is not a token of this form")


def test_signing_out_ends_the_session(service, page, console, check_accessible):
    console.sign_in(page, service, service.token())
    cookie = page.context.cookies()[0]
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Lax"
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Your token")).to_be_visible()
    check_accessible(page)
    answer = httpx.get(
        f"{service.url}/console/files/v1/datasets", cookies={cookie["name"]: cookie["value"]}, timeout=120
    )
    assert answer.status_code == 401


def test_signing_out_ends_every_page_that_is_open(service, page, console):
    """A tab that stays open on a shared desk can do nothing more."""
    console.sign_in(page, service, service.token())
    console.visit(page, service, "/tokens", "People and tokens")
    other = page.context.new_page()
    other.goto(f"{service.url}/console/")
    other.get_by_role("button", name="Sign out").click()
    expect(other.get_by_label("Your token")).to_be_visible()
    page.get_by_label("Name of the person or program").fill(
        "made after the end"
    )  # the first message of the page, and its last
    expect(page.get_by_label("Your token")).to_be_visible()
    with service.client() as client:
        assert "made after the end" not in {token.name for token in client.tokens()}


def test_a_page_speaks_for_the_session_that_opened_it_alone(service, sample, page, browse, console):
    """Whoever reads the number of a page in a proxy's log cannot use it."""
    asked = []
    page.on("websocket", lambda socket: asked.append(socket.url))
    console.sign_in(page, service, service.token("steward"))
    console.visit(page, service, "/datasets/new", "Add a dataset")
    number = re.search(r"client_id=([0-9a-f-]+)", asked[-1])[1]
    socket = f"{service.url}/console/_nicegui_ws/socket.io/?client_id={number}&EIO=4&transport=polling"
    uploads = [f"{service.url}/console/_nicegui/client/{number}/upload/{place}" for place in range(1, 60)]
    other = browse()
    console.sign_in(other, service, service.token("analyst"))
    stranger = {cookie["name"]: cookie["value"] for cookie in other.context.cookies()}
    for cookies in ({}, stranger):
        assert httpx.get(socket, cookies=cookies, timeout=120).status_code == 401
        for url in uploads:
            answer = httpx.post(url, files={"file": ("sneaked.csv", b"a,b\n1,2\n")}, cookies=cookies, timeout=120)
            assert answer.status_code == 401
    with service.client() as client:
        assert "sneaked" not in client._get("/v1/sources").decode()


def test_strangers_are_led_to_the_door(service):
    for path in ("/console/", "/console/datasets", "/console/nowhere"):
        answer = httpx.get(f"{service.url}{path}", timeout=120)
        assert answer.status_code == 303
        assert answer.headers["location"] == "/console/enter"


def test_a_server_that_was_killed_is_found_again(service, sample, page, browse, console):
    browse.expect("WebSocket|ERR_CONNECTION|failed:|401|404")
    console.sign_in(page, service, service.token())
    console.visit(page, service, "/", "Start")  # alive: a page that was never connected has nothing to lose
    service.kill()
    expect(page.locator("#popup")).to_have_attribute("aria-hidden", "false")
    expect(page.locator("#popup")).to_be_visible()
    service.start()
    page.goto(f"{service.url}/console/datasets")
    console.sign_in(page, service, service.token())
    console.visit(page, service, "/datasets", "Datasets")
    expect(page.get_by_role("link", name=sample)).to_be_visible()

"""People sign in with an account of their organisation: a real provider, a real browser."""

import json
import subprocess
import time
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect
from tests.support.ports import free_port

from tacita.server.auth.tokens import Tokens
from tacita.store import Database

FOLDER = Path(__file__).parent
PROVIDER = free_port()
BACK = "/console/openid/back"
SETTINGS = {
    "TACITA_OPENID": json.dumps(
        {
            "issuer": f"http://127.0.0.1:{PROVIDER}",
            "client_id": "tacita",
            "client_secret": "of the tests",
            "label": "the university",
            "scopes": ["openid", "profile"],
            "grants": [{"claim": "groups", "value": "ethics-board", "role": "reader", "datasets": "all"}],
        }
    ),
}


@pytest.fixture(scope="module", autouse=True)
def provider(service, tmp_path_factory):
    log = tmp_path_factory.mktemp("provider") / "log"
    with log.open("w") as out:
        process = subprocess.Popen(
            ["node", "openid_provider.mjs", str(PROVIDER), service.url + BACK], cwd=FOLDER, stdout=out, stderr=out
        )
    deadline = time.monotonic() + 180
    while True:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, "it never started"
        try:
            httpx.get(f"http://127.0.0.1:{PROVIDER}/.well-known/openid-configuration", timeout=120)
            break
        except httpx.TransportError:
            time.sleep(0.1)
    yield process
    process.terminate()
    process.wait(120)


def tokens(service):
    database = Database(f"sqlite:///{service.home / 'state.db'}")
    found = Tokens(database).list()
    database.close()
    return found


def sign_in(page, service, name):
    for asked in ("**://fonts.googleapis.com/**", f"http://127.0.0.1:{PROVIDER}/favicon.ico"):  # of the provider's page
        page.route(asked, lambda route: route.fulfill(content_type="text/css", body=""))
    page.goto(f"{service.url}/console/enter")
    page.get_by_role("link", name="Sign in with the university").click()
    page.get_by_placeholder("Enter any login").fill(name)
    page.get_by_placeholder("and password").fill("any")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()


def test_a_member_of_the_board_reads_and_signs_out(service, page, check_accessible, picture):
    page.goto(f"{service.url}/console/enter")
    expect(page.get_by_role("link", name="Sign in with the university")).to_be_visible()
    check_accessible(page)
    picture(page, "console-enter-openid")
    sign_in(page, service, "ada")
    expect(page).to_have_url(f"{service.url}/console/")
    page.goto(f"{service.url}/console/audit")
    expect(page.get_by_text("ada@example.org").first).to_be_visible()
    expect(page.get_by_role("link", name="People and tokens")).to_have_count(0)
    cookies = {each["name"]: each for each in page.context.cookies()}
    assert cookies["tacita_console"]["httpOnly"]
    assert "tacita_openid" not in cookies
    (token,) = [each for each in tokens(service) if each.name == "ada@example.org"]
    assert (token.role, token.datasets, token.revoked) == ("reader", None, None)
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(f"{service.url}/console/enter")
    (token,) = [each for each in tokens(service) if each.name == "ada@example.org"]
    assert token.revoked is not None


def test_a_person_without_a_role_is_refused_and_written_down(service, page, browse):
    browse.expect("401")
    sign_in(page, service, "bob")
    expect(page.get_by_role("alert")).to_have_text("The sign-in has no role here.")
    assert not [each for each in tokens(service) if each.name == "bob@example.org"]


def test_a_link_of_another_browser_signs_no_one_in(service, page, browse):
    """What comes back must have been begun here: else a stranger's account would collect what is typed."""
    browse.expect("401")
    page.goto(f"{service.url}{BACK}?code=stolen&state={'x' * 43}")
    expect(page.get_by_role("alert")).to_contain_text("another browser")
    assert not [each for each in page.context.cookies() if each["name"] == "tacita_console"]

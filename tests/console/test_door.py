import httpx
import pytest

from tacita.console.door import routes
from tacita.console.sessions import COOKIE, Sessions
from tacita.server.auth.openid import Provider, Started
from tacita.settings import OpenIdSettings

ENTER = "/console/enter"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def enter(world, body, **headers):
    return world.call("POST", ENTER, content=body, headers=FORM | headers)


def test_a_token_signs_in_and_sets_a_cookie_that_scripts_cannot_read(doored):
    world, sessions = doored
    answer = enter(world, f"token={world.token('steward')}")
    assert answer.status_code == 303
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Path=/console" in cookie
    assert sessions.find(cookie.partition("=")[2].partition(";")[0]) is not None


@pytest.mark.parametrize("body", ["", "token=", "token=tct_x", "code=guess", "token=" + "x" * 5000, "\xff\xfe"])
def test_anything_else_is_refused_and_not_repeated(doored, body):
    world, _ = doored
    answer = enter(world, body)
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
    assert "tct_x" not in answer.text.replace("tct_…", "")


def test_a_form_of_another_site_is_refused(doored):
    world, _ = doored
    body = f"token={world.token()}"
    assert enter(world, body, **{"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert enter(world, body, **{"Sec-Fetch-Site": "same-origin"}).status_code == 303


def test_guessing_is_slow(doored):
    world, _ = doored
    answers = [enter(world, "code=guess").status_code for _ in range(40)]
    assert answers[:30] == [401] * 30
    assert 429 in answers


def test_files_pass_with_the_rights_of_the_session_alone(doored):
    world, sessions = doored
    world.register()
    steward = {"Cookie": f"{COOKIE}={sessions.enter(world.token('steward'))}"}
    analyst = {"Cookie": f"{COOKIE}={sessions.enter(world.token('analyst'))}"}
    path = "/console/files/v1/datasets/patients/charges"
    assert world.call("GET", path, headers=steward).status_code == 200
    assert world.call("GET", path, headers=analyst).status_code == 403
    assert world.call("GET", path).status_code == 401
    query = "/console/files/v1/datasets/patients/charges?limit=0"
    assert world.call("GET", query, headers=steward).status_code == 422  # what is behind the ? passes too


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_changed_through_files(doored, method):
    world, sessions = doored
    cookie = {"Cookie": f"{COOKIE}={sessions.enter(world.token())}"}
    path = "/console/files/v1/tokens" if method == "POST" else "/console/files/v1/datasets/patients/policy"
    before = len(world.services.tokens.list())
    assert world.call(method, path, headers=cookie, json={}).status_code == 405
    assert len(world.services.tokens.list()) == before


def test_files_lead_to_the_interface_and_nowhere_else(doored):
    world, sessions = doored
    cookie = {"Cookie": f"{COOKIE}={sessions.enter(world.token())}"}
    for path in ("/console/files/metrics", "/console/files/", "/console/files/console/enter"):
        assert world.call("GET", path, headers=cookie).status_code == 404
    # a token that is sent along does not count for more than the session's
    mixed = cookie | {"Authorization": "Bearer nonsense"}
    assert world.call("GET", "/console/files/v1/datasets", headers=mixed).status_code == 200


def test_leaving_ends_the_session(doored):
    world, sessions = doored
    id = sessions.enter(world.token())
    answer = world.call("POST", "/console/leave", headers={"Cookie": f"{COOKIE}={id}"})
    assert answer.status_code == 303
    assert sessions.find(id) is None


def test_another_site_cannot_sign_anybody_out(doored):
    world, sessions = doored
    id = sessions.enter(world.token())
    cookie = {"Cookie": f"{COOKIE}={id}", "Sec-Fetch-Site": "cross-site"}
    answer = world.call("POST", "/console/leave", headers=cookie)
    assert sessions.find(id) is not None
    assert "set-cookie" not in answer.headers


def test_a_browser_that_has_begun_nothing_reaches_no_provider_often(world_of):
    """Each sign-in that comes back is an exchange with our secret: an address has few of them."""
    asked = []

    def answer(request):
        asked.append(request.url.path)
        return httpx.Response(400, json={})

    settings = OpenIdSettings(
        issuer="https://login.example",
        client_id="tacita",
        back="https://tacita.example/console/openid/back",
        grants=({"claim": "sub", "value": "x", "role": "reader", "datasets": "all"},),
    )
    provider = Provider(settings, transport=httpx.MockTransport(answer))
    world = world_of()
    world.app.router.routes[:0] = routes(world.app, Sessions(world.services.tokens), provider)
    forged = Started.now()
    headers = {"Cookie": f"tacita_openid={forged.text}"}
    back = f"/console/openid/back?code=c&state={forged.state}"
    answers = [world.call("GET", back, headers=headers).status_code for _ in range(60)]
    assert answers[-1] == 429
    assert len(asked) <= 30


def test_one_person_does_not_sign_others_out(world_of):
    sessions = Sessions(world_of().services.tokens)
    other = sessions.enter_as("bob", "reader", None)
    mine = [sessions.enter_as("ada", "reader", None) for _ in range(30)]
    assert sessions.find(other) is not None
    assert sum(sessions.find(each) is not None for each in mine) == 10
    assert sessions.find(mine[-1]) is not None

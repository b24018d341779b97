from tacita.console.pages.audit import KINDS, details
from tacita.console.sessions import COOKIE
from tacita.store.events import KINDS as LOGGED


def test_every_kind_has_words():
    assert sorted(KINDS) == sorted(LOGGED)
    assert len(set(KINDS.values())) == len(KINDS)


def test_details_of_any_line_are_words():
    known = {"title": "Smoking", "reason": "its time is up", "k": 5, "several": False, "columns": ["age", "town"]}
    assert details("cp_1", known) == "its time is up; k 5; columns age, town; cp_1"
    assert details("", {}) == ""


def test_signing_in_and_out_leaves_lines_without_the_secret(doored):
    world, _ = doored
    text = world.token("steward")
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = world.call("POST", "/console/enter", content=f"token={text}", headers=form)
    id = answer.headers["set-cookie"].partition("=")[2].partition(";")[0]
    assert world.call("POST", "/console/enter", content="token=tct_x", headers=form).status_code == 401
    for _ in range(2):  # who is out cannot leave again
        world.call("POST", "/console/leave", headers={"Cookie": f"{COOKIE}={id}"})
    events = world.services.events
    number = text.split("_")[1]
    for kind in ("signed-in", "signed-out"):
        (line,) = events.list(kind=kind)
        assert (line.subject, line.principal, line.detail) == (number, f"a steward ({number})", {})
    everything = str(events.list(limit=1000))
    assert text.split("_")[2] not in everything
    assert id not in everything


def test_who_is_not_let_in_leaves_a_line_for_each_reason_and_no_more(doored):
    world, _ = doored
    ended = world.services.tokens.issue(name="Ada", role="admin")
    world.services.tokens.revoke(ended.token.id)
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    for body in ("", "token=", "code=guess-1", "code=guess-2", "token=tct_x", "token=hunter2", f"token={ended.text}"):
        assert world.call("POST", "/console/enter", content=body, headers=form).status_code == 401
    found = world.services.events.list(kind="token-refused")
    assert [(line.principal, line.detail["reason"]) for line in found] == [
        (f"Ada ({ended.token.id})", "has been revoked"),
        ("unknown", "is not a token of this form: tct_<id>_<secret>"),
        ("unknown", "is not a valid sign-in code"),
    ]
    assert {(line.detail["door"], line.detail["route"]) for line in found} == {("console", "/console/enter")}
    everything = str(world.services.events.list())
    assert not any(part in everything for part in ("guess", "hunter2", "tct_x", ended.text.split("_")[2]))


def test_a_link_that_signs_in_is_seen_too(doored):
    world, sessions = doored
    code = sessions.code()
    id = sessions.enter_by_code(code)
    sessions.leave(id)
    events = world.services.events
    kinds = [line.kind for line in events.list()]
    assert kinds == ["token-ended", "signed-out", "signed-in", "token-made", "log-begun"]
    assert code not in str(events.list())

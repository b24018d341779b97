import pytest

from tacita.console.sessions import Sessions
from tacita.errors import Unauthorized
from tacita.server.auth.tokens import Tokens
from tacita.store import Database


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def tokens(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'state.db'}")
    yield Tokens(database)
    database.close()


def test_a_token_opens_a_session_for_half_a_day(tokens):
    clock = Clock()
    sessions = Sessions(tokens, clock=clock)
    text = tokens.issue(name="Ada", role="steward").text
    id = sessions.enter(text)
    assert sessions.find(id).token == text
    assert text not in repr(sessions.find(id))
    clock.now += 11 * 3600
    assert sessions.find(id) is not None
    clock.now += 2 * 3600  # however much it was used: an open page asks by itself
    assert sessions.find(id) is None
    assert tokens.authenticate(text)  # the person's own token goes on


def test_wrong_tokens_and_unknown_sessions_open_nothing(tokens):
    sessions = Sessions(tokens)
    with pytest.raises(Unauthorized):
        sessions.enter("tct_0000000000000000_" + "0" * 64)
    assert sessions.find(None) is None
    assert sessions.find("") is None
    assert sessions.find("guess") is None


def test_leaving_forgets(tokens):
    sessions = Sessions(tokens)
    id = sessions.enter(tokens.issue(name="Ada", role="steward").text)
    sessions.leave(id)
    assert sessions.find(id) is None
    sessions.leave(id)


def test_a_code_is_good_once_and_makes_its_token_when_used(tokens):
    sessions = Sessions(tokens)
    code = sessions.code()
    assert tokens.list() == []
    assert sessions.enter_by_code("x" + code) is None
    id = sessions.enter_by_code(code)
    assert sessions.find(id) is not None
    (issued,) = tokens.list()
    assert issued.role == "admin"
    assert issued.expires is not None
    assert sessions.enter_by_code(code) is None
    assert len(tokens.list()) == 1


def test_a_code_grows_old(tokens):
    clock = Clock()
    sessions = Sessions(tokens, clock=clock)
    old = sessions.code()
    clock.now += 599
    fresh = sessions.code()
    clock.now += 2
    assert sessions.enter_by_code(old) is None
    assert sessions.enter_by_code(fresh) is not None


def test_the_oldest_session_makes_room(tokens, monkeypatch):
    clock = Clock()
    monkeypatch.setattr("tacita.console.sessions._MOST", 2)
    sessions = Sessions(tokens, clock=clock)
    text = tokens.issue(name="Ada", role="steward").text
    ids = []
    for _ in range(3):
        clock.now += 1
        ids.append(sessions.enter(text))
    assert [sessions.find(id) is not None for id in ids] == [False, True, True]


def test_the_token_of_a_link_ends_with_its_session(tokens):
    clock = Clock()
    sessions = Sessions(tokens, clock=clock)
    for end in (sessions.leave, lambda id: setattr(clock, "now", clock.now + 13 * 3600)):
        id = sessions.enter_by_code(sessions.code())
        text = sessions.find(id).token
        assert tokens.authenticate(text)
        end(id)
        assert sessions.find(id) is None
        with pytest.raises(Unauthorized):
            tokens.authenticate(text)

import json

import httpx
import pytest

from tacita.client import holder as holder_client
from tacita.client.holder import HolderClient, read_holders
from tacita.errors import BudgetExceeded, Forbidden, InvalidInput, SourceUnavailable

TOKEN = "t" * 40


def client(answer, **parts):
    seen = []

    def handle(request):
        seen.append(request)
        return answer(len(seen))

    made = HolderClient("https://north.example", TOKEN, transport=httpx.MockTransport(handle), **parts)
    return made, seen


def problem(status, code):
    return httpx.Response(
        status, headers={"content-type": "application/problem+json"}, content=json.dumps({"code": code, "rule": "no"})
    )


def lost(_request=None):
    raise httpx.ConnectError("nobody there")


@pytest.mark.parametrize("failure", [lost, lambda: httpx.Response(502), lambda: problem(503, "source-unavailable")])
def test_what_may_pass_is_tried_again_with_the_same_message(failure):
    made, seen = client(lambda count: failure() if count < 3 else httpx.Response(200, json={"ok": 1}))
    assert made.ask({"step": 1}) == {"ok": 1}
    assert len(seen) == 3
    assert {request.content for request in seen} == {seen[0].content}
    assert seen[0].headers["authorization"] == f"Bearer {TOKEN}"


def test_patience_ends():
    made, seen = client(lambda count: lost(), patience=0.0)
    with pytest.raises(SourceUnavailable, match="reached"):
        made.ask({})
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("status", "code", "kind"), [(403, "forbidden", Forbidden), (403, "budget-exceeded", BudgetExceeded)]
)
def test_what_is_refused_is_not_asked_again(status, code, kind):
    made, seen = client(lambda count: problem(status, code))
    with pytest.raises(kind):
        made.ask({})
    assert len(seen) == 1


def test_what_is_no_holder():
    made, _ = client(lambda count: httpx.Response(404, content=b"not here"))
    with pytest.raises(SourceUnavailable, match="no holder"):
        made.ask({})
    made, _ = client(lambda count: httpx.Response(200, content=b"<html>"))
    with pytest.raises(InvalidInput, match="JSON"):
        made.ask({})


def test_no_more_is_read_than_a_reply_can_have(monkeypatch):
    monkeypatch.setattr(holder_client, "MOST_BYTES", 100)
    made, _ = client(lambda count: httpx.Response(200, content=b"1" * 101))
    with pytest.raises(InvalidInput, match="bytes"):
        made.ask({})


@pytest.mark.parametrize(
    "url", ["http://north.example", "ftp://x", "north", "https://me:secret@north.example", "https://x?token=1"]
)
def test_tokens_do_not_travel_in_the_clear(url):
    with pytest.raises(InvalidInput, match="url") as refused:
        HolderClient(url, TOKEN, timeout=120)
    assert "secret" not in str(refused.value)
    assert TOKEN not in repr(HolderClient("http://127.0.0.1:1", TOKEN))


def test_holders_are_read_from_a_file(tmp_path):
    file = tmp_path / "holders.yaml"
    file.write_text("holders:\n- {name: north, url: 'https://n', token_file: n.token}\n")
    (address,) = read_holders(file)
    assert address.name == "north"
    assert address.token_file == tmp_path / "n.token"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "holders: []",
        "holders: 3",
        "a: [",
        "holders:\n- {name: n, url: u}\n",
        "holders:\n- {name: n, url: u, token_file: t, token: secret}\n",
        "holders:\n- &n {name: n, url: u, token_file: t}\n- *n\n",
    ],
)
def test_bad_files(tmp_path, text):
    file = tmp_path / "holders.yaml"
    file.write_text(text)
    with pytest.raises(InvalidInput) as refused:
        read_holders(file)
    assert "secret" not in str(refused.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(SourceUnavailable, match="holders"):
        read_holders(tmp_path / "none.yaml")


def test_a_proxy_of_the_environment_never_sees_the_token(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("ALL_PROXY", "http://proxy.example:3128")
    made = HolderClient("https://north.example", TOKEN)
    assert not made._http._mounts, "a mount is the way through a proxy"
    made.close()

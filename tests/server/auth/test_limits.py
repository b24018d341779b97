from __future__ import annotations

from collections.abc import Iterator

import pytest

from tacita.server.auth.limits import RateLimiter
from tacita.wire.refusals import TooManyRequests


def test_a_bucket_refills() -> None:
    now = 0.0
    limiter = RateLimiter(clock=lambda: now)
    for _ in range(60):
        limiter.take("a", 60)
    with pytest.raises(TooManyRequests) as caught:
        limiter.take("a", 60)
    assert caught.value.retry_after == 1
    limiter.take("b", 60)  # others are not held up
    now = 1.0
    limiter.take("a", 60)
    with pytest.raises(TooManyRequests):
        limiter.take("a", 60)
    now = 3600.0
    for _ in range(60):  # and no more than a minute's worth is saved up
        limiter.take("a", 60)
    with pytest.raises(TooManyRequests):
        limiter.take("a", 60)


def test_a_slow_limit_says_when_to_come_back() -> None:
    limiter = RateLimiter(clock=lambda: 0.0)
    limiter.take("a", 1)
    with pytest.raises(TooManyRequests) as caught:
        limiter.take("a", 1)
    assert caught.value.retry_after == 60


def test_no_limit() -> None:
    limiter = RateLimiter(clock=lambda: 0.0)
    for _ in range(1000):
        limiter.take("a", 0)


def test_memory_is_bounded() -> None:
    limiter = RateLimiter(clock=lambda: 0.0)
    for number in range(25_000):
        limiter.take(str(number), 60)
    assert len(limiter._buckets) == 20_000


def test_for_each_token(world_of) -> None:
    world = world_of(rate_limit=3)
    token, other = world.token(), world.token()
    for _ in range(3):
        assert world.call("GET", "/v1/datasets", token=token).status_code == 200
    refused = world.call("GET", "/v1/datasets", token=token)
    assert (refused.status_code, refused.json()["code"]) == (429, "too-many-requests")
    assert int(refused.headers["retry-after"]) == refused.json()["retry_after"] == 20
    assert world.call("GET", "/v1/datasets", token=other).status_code == 200


def test_for_respondents_and_for_guessing(world_of) -> None:
    world = world_of(anonymous_rate_limit=3)
    path = f"/v1/campaigns/{world.campaign()['id']}"
    assert world.call("GET", f"{path}/questions").status_code == 200
    assert world.call("POST", f"{path}/reports", json={"reports": []}).status_code == 422
    assert world.call("GET", "/v1/datasets", token="guess").status_code == 401
    for response in (
        world.call("GET", f"{path}/questions"),
        world.call("POST", f"{path}/reports", json={"reports": []}),
        world.call("GET", "/v1/datasets", token="guess"),
    ):
        assert response.status_code == 429
        assert response.headers["retry-after"]


@pytest.mark.parametrize("path", ["/v1/tokens", "/v1/campaigns/x/reports"])
def test_large_bodies(world_of, path: str) -> None:
    world = world_of(max_request_bytes=2000)
    token, headers = world.token(), {"Content-Type": "application/json"}
    body = b'{"reports": [' + b" " * 3000 + b"]}"
    declared = world.call("POST", path, token=token, content=body, headers=headers)

    async def pieces() -> Iterator[bytes]:
        for start in range(0, len(body), 500):
            yield body[start : start + 500]

    streamed = world.call("POST", path, token=token, content=pieces(), headers=headers)
    for response in (declared, streamed):
        assert (response.status_code, response.json()["code"]) == (413, "too-large"), response.text
    assert "content-length" not in streamed.request.headers


@pytest.mark.parametrize("media", [None, "text/plain", "application/x-www-form-urlencoded", "application/xml"])
@pytest.mark.parametrize("path", ["/v1/tokens", "/v1/campaigns/x/reports"])
def test_only_json(world, path: str, media: str | None) -> None:
    headers = {} if media is None else {"Content-Type": media}
    response = world.call("POST", path, token=world.token(), content=b'{"reports": []}', headers=headers)
    assert (response.status_code, response.json()["code"]) == (415, "unsupported-media-type")


def test_json_with_a_charset(world) -> None:
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    body = b'{"name": "Ada", "role": "analyst", "datasets": null}'
    assert world.call("POST", "/v1/tokens", token=world.token(), content=body, headers=headers).status_code == 201


@pytest.mark.parametrize("path", ["/v1/datasets", "/healthz", "/nothing", "/v1/campaigns/x/reports"])
def test_headers(world, path: str) -> None:
    response = world.call("GET", path)
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["referrer-policy"] == "no-referrer"
    assert len(response.headers["x-request-id"]) == 32
    assert "server" not in response.headers

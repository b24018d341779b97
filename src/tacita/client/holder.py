"""Client of the holders of a federated synthesis over HTTP, as the parties of a run.

    holders:
    - {name: north, url: "https://north.example", token_file: north.token}

Every step may be sent again: a holder computes the answer once, and sends the stored answer after that. So after a lost
connection, or while a holder restarts, the step is sent again until `patience` ends. A refusal by a holder is raised as
the same error.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tacita._version import __version__
from tacita.common.yaml_text import load_yaml
from tacita.errors import InvalidInput, SourceUnavailable, rebuild

__all__ = ["Address", "HolderClient", "read_holders", "read_token"]

MOST_BYTES = 256 << 20
"""Largest reply that is read."""

_LOOPBACK = {"127.0.0.1", "::1", "localhost"}
_WAIT, _MOST_WAIT = 0.1, 2.0
_LEAST_TOKEN = 32
_PASSING = {429, 502, 503, 504}  # statuses that may pass when the request is repeated


class Address(BaseModel):
    """Address of a holder, and the file with its token."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    name: str = Field(min_length=1, max_length=200)
    url: str
    token_file: Path


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    holders: tuple[Address, ...] = Field(min_length=1, max_length=1000)


def read_holders(path: Path) -> tuple[Address, ...]:
    """Read the holders that a YAML file names; paths of token files are relative to it."""
    try:
        found = _File.model_validate(load_yaml(path.read_text(encoding="utf-8"), field="holders"))
    except OSError as error:
        raise SourceUnavailable("cannot be read", field="holders", value=f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInput("must be YAML", field="holders", value=path) from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "holders"
        raise InvalidInput(first["msg"][:1].lower() + first["msg"][1:], field=where) from None
    names = [address.name for address in found.holders]
    if len(set(names)) != len(names):
        raise InvalidInput("must name each holder once", field="holders", value=names)
    folder = path.parent
    return tuple(each.model_copy(update={"token_file": folder / each.token_file}) for each in found.holders)


def read_token(path: Path) -> str:
    """Read the token in a file, on one line."""
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not text"
        raise SourceUnavailable("cannot be read", field="token_file", value=f"{path}: {reason}") from None
    if len(text) < _LEAST_TOKEN or not text.isascii() or not text.isprintable() or " " in text:
        hint = "Write one with: tacita holder token FILE"
        raise InvalidInput(f"must hold one token of {_LEAST_TOKEN} or more characters", field="token_file", hint=hint)
    return text


class HolderClient:
    """One holder, as an analyst with its token sees it.

    Args:
        url: Address of the holder; https, or http on this machine only.
        token: The holder's token.
        timeout: Seconds to wait for one answer.
        patience: Seconds to go on trying when the holder cannot be reached.
        transport: How to reach it; for tests.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 60.0,
        patience: float = 30.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
            rule = "must be an address such as https://north.example, without credentials"
            raise InvalidInput(rule, field="url")
        if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            hint = "Put a proxy with TLS before the holder, or use a tunnel to this machine"
            raise InvalidInput("must be https: the token would travel in the clear", field="url", hint=hint)
        self._url, self._patience = url.rstrip("/"), patience
        headers = {"User-Agent": f"tacita/{__version__}", "Authorization": f"Bearer {token}"}
        # the environment may name a proxy, and a proxy would see the token
        self._http = httpx.Client(
            base_url=self._url, headers=headers, timeout=timeout, transport=transport, trust_env=False
        )

    def __repr__(self) -> str:
        return f"HolderClient({self._url!r})"  # not the token

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def describe(self) -> Any:
        """Return the holder's description of itself."""
        return self._send("GET", "/v1/holder")

    def ask(self, message: Mapping[str, Any]) -> object:
        """Send one step, and return the reply as plain data."""
        return self._send("POST", "/v1/holder/answers", json=dict(message))

    def _send(self, method: str, path: str, **parts: Any) -> Any:
        until, wait = time.monotonic() + self._patience, _WAIT
        while True:
            try:
                status, kind, body = self._once(method, path, **parts)
            except httpx.TransportError as error:
                lost: Exception = SourceUnavailable(
                    "the holder cannot be reached", field="url", value=self._url, private=str(error)
                )
            else:
                if status < 400:
                    return _parsed(body)
                if not kind.startswith("application/problem+json"):
                    lost = SourceUnavailable("what answers is no holder", field="url", value=f"status {status}")
                else:
                    lost = rebuild(_parsed(body))
                if status not in _PASSING:
                    raise lost
            if time.monotonic() + wait > until:
                raise lost
            time.sleep(wait)
            wait = min(2 * wait, _MOST_WAIT)

    def _once(self, method: str, path: str, **parts: Any) -> tuple[int, str, bytes]:
        """Send one request, and read at most `MOST_BYTES` of the reply."""
        with self._http.stream(method, path, **parts) as response:
            body = bytearray()
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > MOST_BYTES:
                    raise InvalidInput(f"must have at most {MOST_BYTES} bytes", field="reply")
            return response.status_code, response.headers.get("content-type", ""), bytes(body)


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise InvalidInput("must be JSON", field="reply") from None

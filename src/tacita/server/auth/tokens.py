"""API tokens: `tct_<id>_<secret>`, shown once, stored as a digest.

The secret is 256 random bits, so a plain SHA-256 of it cannot be searched; a slow hash is for passwords that
people think up. Digests are compared in constant time, and a token is looked up at every request, so that
revoking it works at once.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import sqlalchemy as sa

from tacita.common.roles import Role
from tacita.common.wellformed import check_characters
from tacita.errors import Conflict, InvalidInput, Unauthorized, UnknownName
from tacita.server.events import principal_of
from tacita.store import Database, aware, now
from tacita.store.events import LOCAL, append
from tacita.store.schema import tokens

__all__ = ["IssuedToken", "Role", "Token", "Tokens"]

_FORM = re.compile(r"tct_([0-9a-f]{16})_([0-9a-f]{64})")
_NO_DIGEST = "0" * 64  # compared with when there is no such token, so that both cases take the same time


@dataclass(frozen=True, kw_only=True)
class Token:
    """A token: a principal with a role and a scope. Holds no secret.

    Attributes:
        datasets: The names of datasets, and ids of campaigns, in its scope; None for all.
    """

    id: str
    name: str
    role: Role
    datasets: tuple[str, ...] | None
    created: dt.datetime
    expires: dt.datetime | None = None
    revoked: dt.datetime | None = None

    def covers(self, dataset: str) -> bool:
        """Whether a dataset is in its scope."""
        return self.datasets is None or dataset in self.datasets

    @property
    def principal(self) -> str:
        """Name and id, as stored in the history of a ledger."""
        return f"{self.name} ({self.id})"

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "id": self.id,
            "name": self.name,
            "role": self.role,
            "datasets": None if self.datasets is None else list(self.datasets),
            "created": self.created.isoformat(),
            "expires": self.expires.isoformat() if self.expires else None,
            "revoked": self.revoked.isoformat() if self.revoked else None,
        }


@dataclass(frozen=True, kw_only=True)
class IssuedToken:
    """A new token with its text, which is written down nowhere else."""

    token: Token
    text: str = field(repr=False)


class Tokens:
    """All tokens of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def issue(
        self,
        *,
        name: str,
        role: Role,
        datasets: Iterable[str] | None = None,
        expires: dt.datetime | None = None,
        principal: str = LOCAL,
    ) -> IssuedToken:
        """Make a token. Its text is in the answer and never again anywhere.

        Args:
            name: Whose it is; stands in the ledger's history.
            role: What it may do.
            datasets: What it may be used on; None for everything.
            expires: When it ends; None for never.
            principal: Who makes it.
        """
        _check(name, role, expires)
        secret = secrets.token_hex(32)
        token = Token(
            id=secrets.token_hex(8),
            name=name,
            role=role,
            datasets=None if datasets is None else _scope(datasets),
            created=now(),
            expires=expires,
        )
        row = {
            "id": token.id,
            "name": name,
            "digest": _digest(secret),
            "role": role,
            "datasets": json.dumps(token.datasets),
            "created": token.created,
            "expires": expires.astimezone(dt.UTC) if expires else None,
        }
        with self._database.writing() as connection:
            connection.execute(tokens.insert().values(row))
            detail = {"name": name, "role": role, "datasets": token.datasets, "expires": token.as_dict()["expires"]}
            append(connection, "token-made", token.id, principal, **detail)
        return IssuedToken(token=token, text=f"tct_{token.id}_{secret}")

    def authenticate(self, text: str) -> Token:
        """The token with this text.

        Raises:
            Unauthorized: It is malformed, unknown, expired or revoked; the message never repeats it. Whose it was
                stands in `private`, if its secret is right.
        """
        match = _FORM.fullmatch(text)
        if match is None:
            raise _refuse("is not a token of this form: tct_<id>_<secret>")
        with self._database.reading() as connection:
            row = connection.execute(tokens.select().where(tokens.c.id == match[1])).one_or_none()
        known = hmac.compare_digest(_digest(match[2]), _NO_DIGEST if row is None else row.digest)
        if row is None or not known:
            raise _refuse("is not known")
        return _current(_read(row))

    def check(self, id: str) -> Token:
        """The token with this id, for what was begun with it and goes on.

        Raises:
            Unauthorized: It has expired, was revoked, or never was.
        """
        with self._database.reading() as connection:
            row = connection.execute(tokens.select().where(tokens.c.id == id)).one_or_none()
        if row is None:
            raise _refuse("is not known")
        return _current(_read(row))

    def get(self, id: str) -> Token:
        """Return the token with this id."""
        with self._database.reading() as connection:
            row = connection.execute(tokens.select().where(tokens.c.id == id)).one_or_none()
        if row is None:
            raise UnknownName(id if len(id) <= 40 else "(too long)", field="token", available=())
        return _read(row)

    def list(self) -> list[Token]:
        """Return all tokens, oldest first, including those that have ended."""
        with self._database.reading() as connection:
            return [_read(row) for row in connection.execute(tokens.select().order_by(tokens.c.created, tokens.c.id))]

    def revoke(self, id: str, *, principal: str = LOCAL) -> Token:
        """End a token for good."""
        token = self.get(id)
        if token.revoked is not None:
            raise Conflict("has been revoked before", field="token", value=id)
        with self._database.writing() as connection:
            ended = connection.execute(
                tokens.update().where(tokens.c.id == id, tokens.c.revoked.is_(None)).values(revoked=now())
            )
            if ended.rowcount:
                append(connection, "token-ended", id, principal, name=token.name, role=token.role)
        return self.get(id)

    def note(self, kind: Literal["signed-in", "signed-out"], id: str) -> None:
        """Write a sign-in or a sign-out with a token to the audit log."""
        with self._database.writing() as connection:
            append(connection, kind, id, principal_of(connection, id))


def _check(name: str, role: str, expires: dt.datetime | None) -> None:
    if not isinstance(name, str) or not 1 <= len(name.strip()) <= 100 or not name.isprintable():
        raise InvalidInput("must be 1 to 100 printable characters", field="name", value=name)
    if role not in get_args(Role):
        raise InvalidInput("must be one of " + ", ".join(get_args(Role)), field="role", value=role)
    if expires is not None and expires.tzinfo is None:
        raise InvalidInput("must have a time zone", field="expires", value=expires.isoformat())
    if expires is not None and expires <= now():
        raise InvalidInput("must lie in the future", field="expires", value=expires.isoformat())
    if expires is not None and expires.year >= dt.MAXYEAR:  # its time in another zone may not exist
        raise InvalidInput(f"must lie before the year {dt.MAXYEAR}", field="expires", value=expires.isoformat())


def _scope(datasets: Iterable[str]) -> tuple[str, ...]:
    names = datasets if isinstance(datasets, str) else tuple(datasets)
    if isinstance(names, str) or not all(isinstance(name, str) and name for name in names):
        raise InvalidInput("must be a list of names", field="datasets", value=datasets)
    for name in names:
        check_characters(name, field="datasets")
    return names


def _digest(secret: str) -> str:
    return hashlib.sha256(bytes.fromhex(secret)).hexdigest()


def _refuse(rule: str, token: Token | None = None) -> Unauthorized:
    whose = None if token is None else token.principal
    return Unauthorized(rule, field="token", hint="Ask an admin of this server for a token", private=whose)


def _current(token: Token) -> Token:
    if token.revoked is not None:
        raise _refuse("has been revoked", token)
    if token.expires is not None and token.expires <= now():
        raise _refuse("has expired", token)
    return token


def _read(row: sa.Row[Any]) -> Token:
    scope = json.loads(row.datasets)
    return Token(
        id=row.id,
        name=row.name,
        role=row.role,
        datasets=None if scope is None else tuple(scope),
        created=aware(row.created),
        expires=row.expires and aware(row.expires),
        revoked=row.revoked and aware(row.revoked),
    )

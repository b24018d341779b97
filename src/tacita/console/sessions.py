"""Sessions: a cookie names a session, and each session has the API token that it acts with.

A session lasts twelve hours at most, and ends for every open page when its owner signs out: pages look it up at every
request. Tokens are held in memory only: after a restart of the server, all people sign in anew. The cookie is
a random number that scripts cannot read and that forms of other sites do not send. A link that signs in once carries
its code behind the #, which no browser sends to a server; the code is good for one use and a few minutes, and becomes
an admin's token only when used.
"""

from __future__ import annotations

import datetime as dt
import hmac
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from tacita.console.drafts import Draft
from tacita.errors import Conflict
from tacita.server.auth.tokens import Role, Token, Tokens
from tacita.store import now

__all__ = ["COOKIE", "ConsoleSession", "Sessions"]

COOKIE = "tacita_console"
_SECONDS = 12 * 3600.0
_CODE_SECONDS = 600.0
_MOST = 1000
_MOST_OF_ONE = 10


@dataclass(kw_only=True)
class ConsoleSession:
    """One browser that is signed in.

    Attributes:
        token: The text that requests are sent with.
        made: The id of the token, where it was made for this session alone and ends with it.
        pages: Ids of the pages that were opened in it: no other session may speak for them.
        dark: Dark or light; None for what the browser wants.
        drafts: What was typed into forms that were not sent yet, by the address of the form.
    """

    token: str = field(repr=False)
    name: str
    begun: float
    made: str | None = None
    pages: set[str] = field(default_factory=set, repr=False)
    dark: bool | None = None
    drafts: dict[str, Draft] = field(default_factory=dict, repr=False)


class Sessions:
    """All sessions of this process.

    Args:
        tokens: Where tokens are known.
        clock: Seconds that only grow.
    """

    def __init__(self, tokens: Tokens, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._tokens, self._clock = tokens, clock
        self._held: dict[str, ConsoleSession] = {}
        self._codes: dict[str, float] = {}
        self._lock = threading.Lock()

    def code(self) -> str:
        """A code that signs in once."""
        code = secrets.token_urlsafe(24)
        with self._lock:
            self._codes[code] = self._clock()
        return code

    def enter_by_code(self, code: str) -> str | None:
        """Use up a code: the id of a new session, or None where the code is not good."""
        with self._lock:
            for known, made in list(self._codes.items()):
                fresh = self._clock() - made < _CODE_SECONDS
                if not fresh or hmac.compare_digest(known.encode(), code.encode()):
                    del self._codes[known]
                    if fresh:
                        break
            else:
                return None
        until = now() + dt.timedelta(seconds=_SECONDS)
        issued = self._tokens.issue(name="console", role="admin", expires=until)
        return self._begin(issued.token, issued.text, made=issued.token.id)

    def enter(self, text: str) -> str:
        """Sign in with a token: the id of a new session.

        Raises:
            Unauthorized: It is no good token.
        """
        return self._begin(self._tokens.authenticate(text), text)

    def enter_as(self, name: str, role: Role, datasets: Iterable[str] | None) -> str:
        """Sign in a person whom a provider of sign-ins has named: the id of a new session, with a token of its own."""
        with self._lock:
            own = sorted((each.begun, id) for id, each in self._held.items() if each.made and each.name == name)
        for _, id in own[: max(0, len(own) - _MOST_OF_ONE + 1)]:  # one person does not sign others out
            self.leave(id)
        until = now() + dt.timedelta(seconds=_SECONDS)
        issued = self._tokens.issue(name=name, role=role, datasets=datasets, expires=until, principal="openid")
        return self._begin(issued.token, issued.text, made=issued.token.id)

    def find(self, id: str | None) -> ConsoleSession | None:
        """The session of that id, while it lasts."""
        with self._lock:
            found = self._held.get(id or "")
        if found is not None and self._clock() - found.begun > _SECONDS:
            self.leave(id)
            return None
        return found

    def leave(self, id: str | None) -> None:
        """Sign out: the session ends for all its pages, and so does a token that was made for it."""
        with self._lock:
            found = self._held.pop(id or "", None)
        if found is not None:
            self._tokens.note("signed-out", found.token.split("_")[1])
        if found is not None and found.made is not None:
            with suppress(Conflict):  # an admin was faster
                self._tokens.revoke(found.made)

    def _begin(self, token: Token, text: str, made: str | None = None) -> str:
        id = secrets.token_urlsafe(32)
        with self._lock:
            if len(self._held) >= _MOST:  # the oldest goes
                del self._held[min(self._held, key=lambda known: self._held[known].begun)]
            self._held[id] = ConsoleSession(token=text, name=token.name, begun=self._clock(), made=made)
        self._tokens.note("signed-in", token.id)
        return id

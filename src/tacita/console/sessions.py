"""Who is signed in: a cookie that names a session, and for each session the API token that it acts with.

Tokens are held in memory alone: a server that starts again asks everybody to sign in anew. The cookie is a random
number that scripts cannot read and that forms of other sites do not send. A link that signs in once carries its code
behind the #, which no browser sends to a server; the code is good for one use and a few minutes, and becomes an admin's
token only when used.
"""

from __future__ import annotations

import datetime as dt
import hmac
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tacita.server.tokens import Token, Tokens
from tacita.store import now

__all__ = ["COOKIE", "Session", "Sessions"]

COOKIE = "tacita_console"
_IDLE_SECONDS = 12 * 3600.0
_CODE_SECONDS = 600.0
_MOST = 1000


@dataclass(kw_only=True)
class Session:
    """One browser that is signed in.

    Attributes:
        token: The text that requests are sent with.
        dark: Dark or light; None for what the browser wants.
    """

    token: str = field(repr=False)
    name: str
    dark: bool | None = None
    used: float = 0.0


class Sessions:
    """All sessions of this process.

    Args:
        tokens: Where tokens are known.
        clock: Seconds that only grow.
    """

    def __init__(self, tokens: Tokens, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._tokens, self._clock = tokens, clock
        self._held: dict[str, Session] = {}
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
        until = now() + dt.timedelta(seconds=_IDLE_SECONDS)
        issued = self._tokens.issue(name="console", role="admin", expires=until)
        return self._begin(issued.token, issued.text)

    def enter(self, text: str) -> str:
        """Sign in with a token: the id of a new session.

        Raises:
            Unauthorized: It is no good token.
        """
        return self._begin(self._tokens.authenticate(text), text)

    def find(self, id: str | None) -> Session | None:
        """The session of that id, if it is there and was used lately."""
        with self._lock:
            found = self._held.get(id or "")
            if found is None:
                return None
            if self._clock() - found.used > _IDLE_SECONDS:
                del self._held[str(id)]
                return None
            found.used = self._clock()
            return found

    def leave(self, id: str | None) -> None:
        """Sign out."""
        with self._lock:
            self._held.pop(id or "", None)

    def _begin(self, token: Token, text: str) -> str:
        id = secrets.token_urlsafe(32)
        with self._lock:
            if len(self._held) >= _MOST:  # the one that was used longest ago goes
                del self._held[min(self._held, key=lambda known: self._held[known].used)]
            self._held[id] = Session(token=text, name=token.name, used=self._clock())
        return id

"""Errors that only exist over HTTP.

NotFound            404   no such route
MethodNotAllowed    405
BadRequest          400   of the compatibility routes
NotJson             400   a body that cannot be read as JSON
TooLarge            413
NotJsonMedia        415
UnknownSource       415   of the compatibility routes
TooManyRequests     429
ClientGone          499   for the log alone
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tacita.errors import DataError, InternalError, InvalidInput, SourceUnavailable, TacitaError, rebuild

__all__ = [
    "BadRequest",
    "ClientGone",
    "MethodNotAllowed",
    "NotFound",
    "NotJson",
    "NotJsonMedia",
    "TooLarge",
    "TooManyRequests",
    "UnknownSource",
    "invalid_input",
    "rebuild",
    "unreachable",
    "without_details",
]


class NotFound(TacitaError):
    """No such route."""

    code = "not-found"
    title = "There is nothing here"
    status = 404


class MethodNotAllowed(TacitaError):
    """The route exists, but not with this method."""

    code = "method-not-allowed"
    title = "This route does not do that"
    status = 405


class NotJson(TacitaError):
    """A body that cannot be read as JSON."""

    code = "not-json"
    title = "The body is not JSON"
    status = 400


class BadRequest(TacitaError):
    """A request of the compatibility routes that lacks something or has what it must not."""

    code = "bad-request"
    title = "The request cannot be understood"
    status = 400


class UnknownSource(TacitaError):
    """Error of the compatibility routes for an unknown source; clients expect this status."""

    code = "unknown-source"
    title = "There is no such source"
    status = 415


class TooLarge(TacitaError):
    """A body over the limit."""

    code = "too-large"
    title = "The body is too large"
    status = 413


class NotJsonMedia(TacitaError):
    """A body of another kind than JSON."""

    code = "unsupported-media-type"
    title = "Only JSON is understood"
    status = 415


class ClientGone(TacitaError):
    """The client hung up before it was answered: for the log and the counters, as no one reads the answer."""

    code = "client-gone"
    title = "The client has gone"
    status = 499


class TooManyRequests(TacitaError):
    """More requests a minute than the server allows one party."""

    code = "too-many-requests"
    title = "Slow down"
    status = 429

    def __init__(self, rule: str, *, retry_after: int = 1, **parts: Any) -> None:
        self.retry_after = retry_after
        super().__init__(rule, **parts)

    def extra(self) -> dict[str, Any]:
        """Return the time after which to try again, in seconds."""
        return {"retry_after": self.retry_after}


def internal_fault() -> InternalError:
    """Return the error that a caller sees for a fault of the server: without any details."""
    return InternalError("the server could not finish this request")


def unreachable(error: SourceUnavailable, what: str, *, ask: str) -> SourceUnavailable:
    """Return the same error without the address of the source.

    Args:
        error: What happened.
        what: What has the source: a dataset, a holder.
        ask: Whom to ask.
    """
    return SourceUnavailable(
        f"the source of this {what} cannot be reached",
        field=what,
        hint=f"Try again later; ask {ask} if it stays away",
        private=str(error.private or error),
    )


@contextmanager
def without_details(what: str, *, ask: str, value: str | None = None) -> Iterator[None]:
    """Raise errors of a source without their details: these are for the owner of the data, not for the caller.

    Args:
        what: What has the source: a dataset, a holder.
        ask: Whom to ask.
        value: Its name.
    """
    try:
        yield
    except SourceUnavailable as error:
        raise unreachable(error, what, ask=ask) from error
    except DataError as error:
        raise DataError(
            f"the data of this {what} does not fit its schema",
            field=what,
            value=value,
            hint=f"Ask {ask} to check the source",
            private=str(error.private or error),
        ) from error


def invalid_input(faults: Sequence[Mapping[str, Any]], *, skip: int = 0) -> InvalidInput:
    """Return the first fault that pydantic found, as an error of Tacita.

    Args:
        faults: Faults, at least one.
        skip: Parts of the location that do not name a member.
    """
    first = faults[0]
    where = [str(part) for part in first["loc"][skip:]]
    rule = first["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    given = first.get("input")
    # only a scalar is worth repeating: a whole body may hold anything
    value = given if isinstance(given, str | int | float | bool) and first["type"] != "missing" else None
    more = f"{len(faults) - 1} more to correct" if len(faults) > 1 else None
    return InvalidInput(rule[:1].lower() + rule[1:], field=".".join(where) or "body", value=value, hint=more)

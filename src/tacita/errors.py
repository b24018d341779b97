"""All errors that Tacita raises.

    TacitaError
    ├── InvalidInput           a value breaks a rule            field, rule, value, hint
    │   ├── SchemaError        a domain is not well formed
    │   └── UnknownName        a name that is not there         + the names that are
    ├── DataError              a source does not hold what its schema says
    ├── SourceUnavailable      a file or database cannot be reached
    ├── NotPublic              something derived from private data would be treated as public
    ├── BudgetExceeded         requested, remaining             the ledger says no
    ├── Refused                a respondent's client will not answer
    ├── Unauthorized           no token, a wrong one, or one out of date
    ├── Forbidden              a good token without the right
    ├── Conflict               it exists already, or has moved on
    └── InternalError          our fault; please report

An error is part of the interface: it names the field, the rule, the value it got and a remedy. The command line
(`--json`) and the server (problem+json) both print `as_dict`.

Values of private rows never enter an error: a message travels further than the data may. Details for the owner of the
data only (which line of the file is broken, never its contents) go into `private`, which `as_dict` omits.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any, ClassVar, Self

__all__ = [
    "BudgetExceeded",
    "Conflict",
    "DataError",
    "Forbidden",
    "InternalError",
    "InvalidInput",
    "NotPublic",
    "PrivacyWarning",
    "Refused",
    "SchemaError",
    "SourceUnavailable",
    "TacitaError",
    "Unauthorized",
    "UnknownName",
    "rebuild",
]

_SHOWN = 120  # characters of an offending value that a message repeats


def _shorten(value: object) -> str:
    """The first characters of a value as text.

    Builds no more text than it shows: a value of a few hundred bytes (nested YAML aliases) can have a representation of
    gigabytes, and a list of a million entries takes seconds to write down.
    """
    text = ""
    for piece in (str(value),) if isinstance(value, PurePath) else _pieces(value, quoted=False):
        text += piece
        if len(text) > _SHOWN:
            return text[: _SHOWN - 1] + "…"
    return text


def _pieces(value: object, *, quoted: bool = True) -> Iterator[str]:
    """Write a value piece by piece; each level of nesting gives a character before it goes deeper."""
    if isinstance(value, str | bytes):
        start = value[: _SHOWN + 1]
        yield repr(start) if quoted or isinstance(start, bytes) else start
    elif isinstance(value, int) and value.bit_length() > _SHOWN * 4:  # Python refuses to write very long ones
        yield f"an integer of {value.bit_length()} bits"
    elif type(value) is dict:
        yield from _enclosed("{", value.items(), "}")
    elif type(value) in _BRACKETS and isinstance(value, Collection):
        before, after = ("(", ",)") if type(value) is tuple and len(value) == 1 else _BRACKETS[type(value)]
        yield from _enclosed(before, ((part,) for part in value), after) if value else (repr(value),)
    else:
        yield repr(value)


_BRACKETS = {list: ("[", "]"), tuple: ("(", ")"), set: ("{", "}"), frozenset: ("frozenset({", "})")}


def _enclosed(before: str, entries: Iterable[tuple[object, ...]], after: str) -> Iterator[str]:
    yield before
    for place, entry in enumerate(entries):
        if place:
            yield ", "
        for part, each in enumerate(entry):
            if part:
                yield ": "
            yield from _pieces(each)
    yield after


class PrivacyWarning(UserWarning):
    """Something spends privacy that no ledger keeps account of."""


class TacitaError(Exception):
    """Base of all errors that Tacita raises on purpose.

    Args:
        rule: What must hold, as a full clause: "must be positive and finite".
        field: The input the rule is about, by the name the caller used.
        value: What was given instead; never a private value.
        hint: The way out.
        private: Detail for the owner of the data only (a line number); never a value of a row.
    """

    code: ClassVar[str] = "error"
    title: ClassVar[str] = "Something went wrong"
    status: ClassVar[int] = 400

    def __init__(
        self,
        rule: str,
        *,
        field: str | None = None,
        value: object = None,
        hint: str | None = None,
        private: str | None = None,
    ) -> None:
        self.rule = rule
        self.field = field
        self.value = None if value is None else _shorten(value)
        self.hint = hint
        self.private = private
        super().__init__(self._message())

    def _message(self) -> str:
        text = f"{self.field}: {self.rule}" if self.field else self.rule
        if self.value is not None:
            text += f", got {self.value!r}"
        if self.hint:
            text += f". {self.hint}"
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the parts as they are: subclasses compose theirs from other arguments."""
        return _restore, (type(self), self.args, self.__dict__)

    def advise(self, hint: str) -> None:
        """Add a hint that only a caller further up can give."""
        self.hint = f"{self.hint}. {hint}" if self.hint else hint
        self.args = (self._message(),)

    def extra(self) -> dict[str, Any]:
        """Members that a subclass adds to the common shape."""
        return {}

    def as_dict(self) -> dict[str, Any]:
        """The error as data, without its private part.

        >>> InvalidInput("must be positive and finite", field="epsilon", value=-1).as_dict()["detail"]
        "epsilon: must be positive and finite, got '-1'"
        """
        shape: dict[str, Any] = {"code": self.code, "title": self.title, "detail": str(self)}
        for name in ("field", "rule", "value", "hint"):
            if getattr(self, name) is not None:
                shape[name] = getattr(self, name)
        return shape | self.extra()


def _restore(kind: type[TacitaError], args: tuple[Any, ...], parts: dict[str, Any]) -> TacitaError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(parts)
    return error


class InvalidInput(TacitaError):
    """A value that the caller gave breaks a rule."""

    code = "invalid-input"
    title = "A value breaks a rule"
    status = 422


class SchemaError(InvalidInput):
    """A domain description is not well formed."""

    code = "schema-error"
    title = "The schema is not well formed"


class UnknownName(InvalidInput):
    """A name that is not there; says which names are, nearest first."""

    code = "unknown-name"
    title = "No such name"
    status = 404

    def __init__(self, name: str, *, field: str, available: Iterable[str], hint: str | None = None) -> None:
        self.available = sorted(available)
        near = difflib.get_close_matches(name, self.available, n=3)
        if hint is None and near:
            hint = "Did you mean " + " or ".join(repr(n) for n in near) + "?"
        elif hint is None and self.available:
            hint = "Known: " + ", ".join(self.available[:12]) + (", …" if len(self.available) > 12 else "")
        super().__init__("no such name", field=field, value=name, hint=hint)


class DataError(TacitaError):
    """A source does not hold what its schema says; the detail is for the owner of the data."""

    code = "data-error"
    title = "The data does not fit its schema"
    status = 422


class SourceUnavailable(TacitaError):
    """A file or database that a dataset lives in cannot be reached."""

    code = "source-unavailable"
    title = "The data source cannot be reached"
    status = 503
    reached = False
    """Whether it was reached and gave up: that it did, and how soon, may depend on its rows."""

    def while_reading(self) -> Self:
        """The same error of a source that had begun to work."""
        self.reached = True
        return self


class NotPublic(TacitaError):
    """Something that was read off private data would be used as if it were public."""

    code = "not-public"
    title = "Not confirmed as public"
    status = 409


class BudgetExceeded(TacitaError):
    """The ledger refuses a charge: it would take an account over its budget."""

    code = "budget-exceeded"
    title = "The privacy budget does not allow this"
    status = 403

    def __init__(self, *, account: str, requested: str, remaining: str, budget: str) -> None:
        self.account, self.requested, self.remaining, self.budget = account, requested, remaining, budget
        super().__init__(
            f"the account {account!r} cannot bear this: requested {requested}, remaining {remaining} of {budget}",
            field="budget",
            hint="Ask for less, or ask the steward of the dataset to raise its budget",
        )

    def extra(self) -> dict[str, Any]:
        """Requested, remaining and total, so that a caller can ask for what is left."""
        names = ("account", "requested", "remaining", "budget")
        return {name: getattr(self, name) for name in names}


class Refused(TacitaError):
    """A respondent's client will not answer: what it was asked breaks its promise to its owner."""

    code = "refused"
    title = "The client refuses to answer"
    status = 422


class Unauthorized(TacitaError):
    """No token, one that is not known, expired or revoked."""

    code = "unauthorized"
    title = "A valid token is needed"
    status = 401


class Forbidden(TacitaError):
    """A valid token that does not carry the right."""

    code = "forbidden"
    title = "This token does not allow that"
    status = 403


class Conflict(TacitaError):
    """Request that conflicts with the stored state."""

    code = "conflict"
    title = "This clashes with what is there"
    status = 409


class InternalError(TacitaError, AssertionError):
    """Our own mistake, never the caller's."""

    code = "internal-error"
    title = "A fault in Tacita"
    status = 500

    def __init__(self, rule: str, **parts: Any) -> None:
        super().__init__(rule, hint="This is a fault in Tacita; please report it", **parts)


_COMMON = {
    "type",
    "title",
    "status",
    "detail",
    "instance",
    "code",
    "field",
    "rule",
    "value",
    "hint",
    "request_id",
}


def _family(kind: type[TacitaError]) -> Iterator[type[TacitaError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _family(child)


def rebuild(problem: Mapping[str, Any]) -> TacitaError:
    """The error that a problem document was made of, of the same class and with the same parts.

    Members that a class adds (requested, remaining, retry_after, ...) become attributes, as they were.
    """
    kinds: dict[str, type[TacitaError]] = {}
    for kind in _family(TacitaError):
        kinds.setdefault(kind.code, kind)  # parents come first: a special case does not stand for its family
    kind = kinds.get(str(problem.get("code")), TacitaError)
    error = kind.__new__(kind)
    # subclasses with arguments of their own compose their rule; here it is composed already
    parts = {name: problem.get(name) for name in ("field", "value", "hint")}
    TacitaError.__init__(error, str(problem.get("rule") or problem.get("detail") or kind.title), **parts)
    for name, value in problem.items():
        if name not in _COMMON:
            setattr(error, name, value)
    return error

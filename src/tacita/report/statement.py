"""A privacy statement: the guarantee of a release, machine-readable, signed, and verifiable by anyone.

It names the mechanism, the protected unit and the neighbours, the cost as an event and as an epsilon; what was assumed
to be public, and what is not protected; the versions; and the digests of the released files. `verify` does not trust
it: it checks the signature, computes the digest of the file again, and lets the accountant compose the event again.

Privacy: holds no count and no value; a release without a guarantee states `none`, and never an epsilon.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tacita.common.whole import write_text
from tacita.errors import InvalidInput
from tacita.privacy.accountant import INFINITE, epsilon_at, pure_epsilon
from tacita.privacy.budget import MOST_DELTA
from tacita.privacy.event import Event, NonPrivate, event_from_dict
from tacita.privacy.unit import Neighbours
from tacita.report.signing import SigningKey, canonical, check_signature, fingerprint_of, read_canonical
from tacita.tables.release import Provenance

__all__ = ["Check", "Statement", "digest_of", "state", "verify"]

KIND = "privacy-statement/1"
_ROUNDING = 1e-9
_STATED = 1e-9
"""The delta at which a cost without a pure epsilon is stated."""
_MEMBERS = {
    "tacita",
    "mechanism",
    "guarantee",
    "unit",
    "neighbours",
    "epsilon",
    "delta",
    "event",
    "public",
    "not_protected",
    "digests",
    "provenance",
    "key",
    "signature",
}


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_number(value: object, below: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < below


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


_GOOD: Mapping[str, Callable[[Any], bool]] = {
    "mechanism": _is_object,
    "guarantee": _is_text,
    "unit": _is_text,
    "neighbours": _is_text,
    "epsilon": lambda value: value is None or _is_number(value, 1e300),
    "delta": lambda value: _is_number(value, 1),
    "event": _is_object,
    "public": _is_texts,
    "not_protected": _is_texts,
    "digests": lambda value: _is_object(value) and all(map(_is_text, value.values())),
    "provenance": _is_object,
    "key": _is_text,
    "signature": _is_text,
}
"""The type of each member; `verify` checks whether its value is true."""

FOLDER = "folder/1:"
"""Begins the digest of a folder."""
NOT_PROTECTED = (
    "What is true of a group or of the population, and so can be guessed of its members.",
    "The schema: names, levels, bounds and bins are taken as public.",
    "That the data was used at all, and when.",
)


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A privacy statement. Made by `state`, read by `from_json`."""

    mechanism: Mapping[str, Any]
    guarantee: str
    unit: str
    neighbours: str
    epsilon: float | None
    delta: float
    event: Event
    public: tuple[str, ...]
    not_protected: tuple[str, ...]
    digests: Mapping[str, str]
    provenance: Mapping[str, Any]
    key: str = ""
    signature: str = ""

    def as_dict(self, *, signed: bool = True) -> dict[str, Any]:
        """Plain data."""
        plain = {
            "tacita": KIND,
            "mechanism": dict(self.mechanism),
            "guarantee": self.guarantee,
            "unit": self.unit,
            "neighbours": self.neighbours,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "event": self.event.as_dict(),
            "public": list(self.public),
            "not_protected": list(self.not_protected),
            "digests": dict(self.digests),
            "provenance": dict(self.provenance),
            "key": self.key,
        }
        return plain | ({"signature": self.signature} if signed else {})

    def to_json(self) -> str:
        """Serialise as indented JSON, which people can read as well."""
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def write(self, path: str | Path) -> None:
        """To a file."""
        try:
            write_text(path, self.to_json())
        except OSError as error:
            raise InvalidInput("cannot be written", field="statement", value=f"{path}: {error.strerror}") from None

    @classmethod
    def from_json(cls, text: str) -> Statement:
        """Parse the output of `to_json`; refuse anything else."""
        data = read_canonical(text, field="statement")
        if data.get("tacita") != KIND or set(data) != _MEMBERS:
            raise InvalidInput(f"must be a `{KIND}` with exactly its members", field="statement")
        for name, good in _GOOD.items():
            if not good(data[name]):
                raise InvalidInput("is of the wrong kind", field=f"statement.{name}")
        return cls(
            mechanism=data["mechanism"],
            guarantee=data["guarantee"],
            unit=data["unit"],
            neighbours=data["neighbours"],
            epsilon=data["epsilon"],
            delta=data["delta"],
            event=event_from_dict(data["event"]),
            public=tuple(data["public"]),
            not_protected=tuple(data["not_protected"]),
            digests=data["digests"],
            provenance=data["provenance"],
            key=data["key"],
            signature=data["signature"],
        )

    @classmethod
    def read(cls, path: str | Path) -> Statement:
        """From a file."""
        try:
            return cls.from_json(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            raise InvalidInput("cannot be read", field="statement", value=path) from None


def state(
    *,
    event: Event,
    unit: object,
    neighbours: Neighbours,
    provenance: Provenance,
    delta: float = 0.0,
    guarantee: str | None = None,
    public: tuple[str, ...] = (),
    files: Mapping[str, Path] | None = None,
    key: SigningKey,
) -> Statement:
    """State the guarantee of a release, and sign it.

    Args:
        event: The cost of the release.
        unit, neighbours: Who is protected and against what change.
        provenance: Recipe, versions, time.
        delta: The delta at which epsilon is stated; 0 for a pure one. A cost without a pure epsilon is then stated
            at 1e-9.
        guarantee: The guarantee in words; by default from the event.
        public: Facts that were assumed to be public besides the schema.
        files: The released files by name; their digests are included.
        key: Signs it.
    """
    none = isinstance(event, NonPrivate) or provenance.simulated
    delta = delta or (0.0 if none or _is_pure(event, neighbours) else _STATED)
    epsilon = None if none else _epsilon(event, delta, neighbours)
    unprotected: tuple[str, ...] = NOT_PROTECTED
    if none:
        reason = event.reason if isinstance(event, NonPrivate) else "the noise can be repeated: it came from a seed"
        unprotected = (f"Anyone in the data: no guarantee, because {reason}.", *NOT_PROTECTED)
    unsigned = Statement(
        mechanism=provenance.recipe,
        guarantee="none" if none else (guarantee or "differential privacy"),
        unit=str(unit),
        neighbours=str(neighbours),
        epsilon=epsilon,
        delta=0.0 if none else delta,
        event=event,
        public=("schema", *public),
        not_protected=unprotected,
        digests={name: digest_of(path) for name, path in (files or {}).items()},
        provenance=provenance.as_dict(),
        key=key.public,
    )
    return replace(unsigned, signature=key.sign(canonical(unsigned.as_dict(signed=False))))


def _is_pure(event: Event, neighbours: Neighbours) -> bool:
    try:
        pure_epsilon(event, neighbours)
    except InvalidInput:
        return False
    return True


def _epsilon(event: Event, delta: float, neighbours: Neighbours) -> float | None:
    """Compute the epsilon of an event; None if it is not finite."""
    if delta:
        found = epsilon_at(event, delta, neighbours)
        return found if math.isfinite(found) else None
    total = pure_epsilon(event, neighbours)
    return None if total >= INFINITE else float(total)


def digest_of(path: Path) -> str:
    """Compute SHA-256 of a file; of a folder, that of the marked list of its files, so that no file has the same."""
    try:
        if path.is_dir():
            files = sorted(file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file())
            listed = canonical({name: _sha256(path / name) for name in files})
            return f"{FOLDER}{hashlib.sha256(listed).hexdigest()}"
        return _sha256(path)
    except OSError as error:
        raise InvalidInput("cannot be read", field="file", value=f"{path}: {error.strerror}") from None


def _sha256(path: Path) -> str:
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


@dataclass(frozen=True, kw_only=True)
class Check:
    """Result of one check."""

    what: str
    good: bool
    detail: str = field(default="")


def verify(statement: Statement, *, files: Mapping[str, Path] | None = None, key: str | None = None) -> list[Check]:
    """Verify a statement without trusting it.

    Args:
        statement: The statement.
        files: Some or all of the released files, by their names in the statement.
        key: The public key that must have signed. Without it, the key in the statement is used, which shows that the
            statement was not changed since it was signed, but not who signed it.
    """
    signer = key or statement.key
    signed = check_signature(canonical(statement.as_dict(signed=False)), statement.signature, signer)
    who = f"key {fingerprint_of(signer)}" + ("" if key else ", as stated in the statement itself")
    checks = [Check(what="signature", good=signed and (key is None or key == statement.key), detail=who)]
    checks.append(_added_up(statement))
    checks.append(_words(statement))
    for name, digest in statement.digests.items():
        path = (files or {}).get(name)
        if path is not None:
            checks.append(Check(what=f"file {name}", good=digest_of(path) == digest, detail=str(path)))
    for name in files or {}:
        if name not in statement.digests:
            checks.append(Check(what=f"file {name}", good=False, detail="the statement does not name it"))
    return checks


def _added_up(statement: Statement) -> Check:
    """Check that the event, composed again, costs no more than stated."""
    if statement.guarantee == "none":
        return Check(what="epsilon", good=statement.epsilon is None, detail="no guarantee is claimed")
    if statement.delta > MOST_DELTA:
        detail = f"delta {statement.delta:g} is too large to protect anyone: it must be at most {MOST_DELTA:g}"
        return Check(what="epsilon", good=False, detail=detail)
    if (
        statement.epsilon is None
        or isinstance(statement.epsilon, bool)
        or not isinstance(statement.epsilon, int | float)
    ):
        return Check(what="epsilon", good=False, detail="a guarantee without an epsilon")
    try:
        found = _epsilon(statement.event, statement.delta, Neighbours(statement.neighbours))
    except (InvalidInput, ValueError, ArithmeticError) as error:
        return Check(what="epsilon", good=False, detail=f"the event cannot be added up: {error}")
    good = found is not None and found <= statement.epsilon * (1 + _ROUNDING) + _ROUNDING
    shown = "infinite" if found is None else f"{found:.6g}"
    return Check(
        what="epsilon",
        good=good,
        detail=f"stated {statement.epsilon:.6g} at delta {statement.delta:g}, the event adds up to {shown}",
    )


def _words(statement: Statement) -> Check:
    """Check that a simulated or unprotected release does not claim a guarantee."""
    empty = isinstance(statement.event, NonPrivate) or bool(statement.provenance.get("simulated"))
    good = statement.guarantee == "none" if empty else statement.guarantee != "none"
    return Check(what="guarantee", good=good, detail=statement.guarantee)

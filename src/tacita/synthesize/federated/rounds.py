"""Asking all holders at once, and going on without those who drop out, are late, refuse, or talk nonsense.

    answered        before the deadline, in the shape that was asked for
    missing         could not be reached, or were late: they are asked again in the next step
    out             refused, or sent what is no answer: they are not asked again

A late answer to a finished step is dropped; its holder has paid for it. Everything that was missing ends up in `notes`.
Fewer answers than the quorum end the run. Privacy: reads messages only.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tacita.errors import InvalidInput, SourceUnavailable, TacitaError
from tacita.synthesize.federated.exchange import Content, Reply, Request, Step
from tacita.synthesize.federated.terms import Terms

__all__ = ["FederatedRounds", "Party"]

T = TypeVar("T")

_TOO_MANY_REQUESTS = 429


@dataclass(frozen=True, kw_only=True)
class Party:
    """One holder, as an analyst reaches it.

    Args:
        name: As the terms call it.
        ask: Sends a message and returns the reply, both as plain data; raises what the holder says when it refuses.
    """

    name: str
    ask: Callable[[Mapping[str, Any]], object]


class FederatedRounds:
    """One run's exchange with all its holders.

    Args:
        terms: The agreement.
        parties: One for each holder of the terms.
        deadline: Seconds that a step may take.
    """

    def __init__(self, terms: Terms, parties: Sequence[Party], *, deadline: float) -> None:
        if sorted(party.name for party in parties) != sorted(terms.holders):
            raise InvalidInput("must be the holders that the terms name", field="parties")
        if not 0 < deadline < threading.TIMEOUT_MAX:
            raise InvalidInput("must be positive and finite", field="deadline", value=deadline)
        self._terms, self._deadline = terms, deadline
        self._left = {party.name: party for party in parties}
        self._notes: list[str] = []

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that state which holders were missing in which step."""
        return tuple(self._notes)

    def ask(self, step: Step, check: Callable[[Content], T]) -> dict[str, T]:
        """Ask all holders; return answers by name, in the order of the terms. `check` refuses an unexpected answer."""
        answered: dict[str, T] = {}
        missing: dict[str, str] = dict.fromkeys(self._left, "late")
        for name, result in self._collect(step):
            try:
                if isinstance(result, Exception):
                    raise result
                answered[name] = self._read(result, step, name, check)
                del missing[name]
            except TacitaError as error:
                missing[name] = error.rule
                if error.status < 500 and error.status != _TOO_MANY_REQUESTS:
                    self._left.pop(name)  # it refused, or its answer cannot be read
        self._note(step, missing)
        if len(answered) < self._terms.quorum:
            spent = "Nothing was spent" if step.kind == "join" else "What holders answered is spent"
            reasons = "; ".join(f"{name}: {reason}" for name, reason in missing.items())
            raise SourceUnavailable(
                f"{self._terms.quorum} holders must answer the step {step.name}",
                field="quorum",
                value=f"{len(answered)} of {len(self._terms.holders)}",
                hint=f"{reasons or 'The others refused before'}. {spent}",
            )
        return {name: answered[name] for name in self._terms.holders if name in answered}

    def _read(self, result: object, step: Step, name: str, check: Callable[[Content], T]) -> T:
        try:
            return check(Reply.from_dict(result, run=self._terms.run, step=step, holder=name).content)
        except TacitaError:
            raise
        except Exception:  # whatever it is that cannot be read: one holder's nonsense is not the run's
            raise InvalidInput("what it sends cannot be understood", field="reply") from None

    def _note(self, step: Step, missing: Mapping[str, str]) -> None:
        for name, reason in missing.items():
            self._notes.append(f"Step {step.name}: no answer of {name} was used ({reason}).")

    def _collect(self, step: Step) -> list[tuple[str, object]]:
        """Collect what arrived before the deadline: messages, or the errors raised instead."""
        message = Request(terms=self._terms, step=step).as_dict()
        arrived: queue.SimpleQueue[tuple[str, object]] = queue.SimpleQueue()

        def ask(party: Party) -> None:
            try:
                arrived.put((party.name, party.ask(message)))
            except TacitaError as error:
                arrived.put((party.name, error))
            except Exception:  # whatever a transport may raise: one holder's trouble is not the run's
                unreachable = SourceUnavailable("the exchange with this holder failed", field="holder")
                arrived.put((party.name, unreachable))

        # daemons of their own: one that hangs holds up neither the others, nor the next step, nor the end
        for party in list(self._left.values()):
            threading.Thread(target=ask, args=(party,), daemon=True, name=f"ask-{party.name}").start()
        until = time.monotonic() + self._deadline
        found: list[tuple[str, object]] = []
        while len(found) < len(self._left):
            try:
                found.append(arrived.get(timeout=max(0.0, until - time.monotonic())))
            except queue.Empty:
                break
        return found

"""The only way from a plan to an answer: reserve, run, settle."""

from __future__ import annotations

import hashlib
import json
from typing import Protocol, TypeVar, runtime_checkable

from tacita.engines.base import Engine
from tacita.errors import InvalidInput
from tacita.mechanisms.recipe import Answer, Plan
from tacita.noise import Source
from tacita.privacy.ledger import Balance, Charge, Ledger
from tacita.release import Releases

__all__ = ["Session", "question_of"]

A = TypeVar("A", bound=Answer)


@runtime_checkable
class _Chargeable(Protocol):
    """An answer that can name what paid for it: statistics, models, synthesizers."""

    def with_charge(self, charge: str, dataset: str, /) -> Answer:
        """The same answer, naming what paid for it."""


def question_of(plan: Plan[Answer]) -> str:
    """What a plan asks, as text: a ledger key stands for one question only."""
    return json.dumps({"recipe": plan.as_dict()["recipe"], "domain": plan.domain.fingerprint}, sort_keys=True)


class Session:
    """One party asking one dataset, on one account.

    Args:
        engine: Where the data is.
        ledger: Where it is paid.
        account: The dataset's account; its unit and neighbours are the ones that plans must have.
        principal: Who asks; stands in the history.
        source: Randomness. A `SeededSource` makes releases that are marked as simulated.
        version: Which state of the data is asked about, in any words; a stored answer is about the same version.
    """

    def __init__(
        self, *, engine: Engine, ledger: Ledger, account: str, principal: str, source: Source, version: str = ""
    ) -> None:
        self.engine = engine
        self.account = ledger.account(account)
        self._ledger, self._principal, self._source, self._version = ledger, principal, source, version

    def ask(self, plan: Plan[A], *, purpose: str = "query", key: str | None = None, repeat: bool = True) -> A:
        """Charge the plan's event, run it, store the answer, and return what was stored.

        With the same key a second time, the stored answer comes back and nothing is charged: the way to retry after a
        lost connection or a crash.

        With `repeat` false, the question is its own key: whoever asks the same with the same budget of the same
        version of the data gets the answer that is there, and nothing is charged.
        """
        if not repeat:
            if key is not None:
                raise InvalidInput("the question is the key", field="key", value=key)
            key = self.key_of(plan)
        if plan.domain.fingerprint != self.engine.domain.fingerprint:
            raise InvalidInput("the plan was made for another schema", field="plan")
        charge = self._ledger.reserve(
            self.account.name,
            plan.event,
            question=question_of(plan),
            unit=plan.unit,
            neighbours=plan.neighbours,
            principal=self._principal,
            purpose=purpose,
            key=key,
        )
        if charge.answer is not None:
            return plan.read(charge.answer)
        try:
            answer = plan.run(self.engine, self._source)
        except BaseException:
            self._ledger.fail(charge)
            raise
        return plan.read(self._ledger.settle(charge, _charged(answer, charge).to_json()))

    def key_of(self, plan: Plan[Answer]) -> str:
        """A key that stands for the question, its noise and the version of the data.

        Simulated answers have keys of their own, so that none is ever taken for a real one.
        """
        parts = [question_of(plan), plan.event.to_json(), self._version, "simulated" if self._source.simulated else ""]
        return "question:" + hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def balance(self) -> Balance:
        """What is left."""
        return self._ledger.balance(self.account.name)


def _charged(answer: Answer, charge: Charge) -> Answer:
    """The answer, naming what paid for it."""
    if isinstance(answer, Releases):
        return Releases(release.with_charge(charge.id, charge.account) for release in answer.values())
    return answer.with_charge(charge.id, charge.account) if isinstance(answer, _Chargeable) else answer

"""The only way from a plan to an answer: reserve, run, settle."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from tacita.engines.base import Engine
from tacita.errors import Conflict, InvalidInput, SourceUnavailable
from tacita.noise import Source
from tacita.plans.recipe import Answer, Plan
from tacita.privacy.event import Nothing
from tacita.privacy.ledger import Balance, Charge, DataMarks, Ledger
from tacita.tables.release import Releases

__all__ = ["Predictable", "Resumable", "Session", "question_of"]

A = TypeVar("A", bound=Answer)


@runtime_checkable
class _Chargeable(Protocol):
    """An answer that can name the charge that paid for it: statistics, models, synthesizers."""

    def with_charge(self, charge: str, dataset: str, /) -> Answer:
        """Return the same answer, with the charge that paid for it."""


@runtime_checkable
class Resumable(Protocol):
    """A plan that may write checkpoints and resume from them."""

    @property
    def resumes(self) -> bool:
        """Whether it does."""

    def check_resumable(self, charge: str | None, /) -> None:
        """Refuse unless the checkpoint belongs to this charge, or there is neither checkpoint nor charge yet."""

    def paid_by(self, charge: str, /) -> Any:
        """Return the same plan, whose checkpoints belong to this charge."""


@runtime_checkable
class Predictable(Protocol):
    """A plan that can decide from public information whether its answer would be mostly noise."""

    def check_error(self, engine: Engine, /) -> None:
        """Refuse an answer that would be mostly noise. Reads only what is public under the account's neighbours."""


def question_of(plan: Plan[Answer]) -> str:
    """Return the question of a plan as text: a ledger key stands for one question only."""
    parts = {"recipe": plan.as_dict()["recipe"], "domain": plan.domain.fingerprint}
    return json.dumps(parts | ({"resumes": True} if _resumes(plan) else {}), sort_keys=True)


def _resumes(plan: Plan[Answer]) -> bool:
    return isinstance(plan, Resumable) and plan.resumes


class Session:
    """One party asking one dataset, on one account.

    Args:
        engine: Reads the data.
        ledger: Holds the account.
        account: The dataset's account; plans must have its unit and neighbours.
        principal: Who asks; stored in the history.
        source: Randomness. A `SeededSource` makes releases that are marked as simulated.
        version: Version of the data, as any text; a stored answer is returned only for the same version.
        data: Marks of the data, where it has any: another account on the same data is refused.
        again: The reason why this account may pay for data that another account was charged for.
        bound: Digest of the data that keys stand for too: the same key with other data is refused. It is stored keyed
            with the ledger's secret, as `version` is.
    """

    def __init__(
        self,
        *,
        engine: Engine,
        ledger: Ledger,
        account: str,
        principal: str,
        source: Source,
        version: str = "",
        data: DataMarks | None = None,
        again: str | None = None,
        bound: str = "",
    ) -> None:
        self.engine = engine
        self.account = ledger.account(account)
        self._ledger, self._principal, self._source, self._version = ledger, principal, source, version
        self._data, self._again, self._bound = data, again, ledger.keyed(bound) if bound else ""

    def ask(self, plan: Plan[A], *, purpose: str = "query", key: str | None = None, repeat: bool = True) -> A:
        """Charge the plan's event, run it, store the answer, and return what was stored.

        With the same key a second time, the stored answer is returned and nothing is charged: use this to retry after a
        lost connection or a crash. A run that was killed, or stopped by Ctrl-C, runs again. A failed run does not,
        since the failure may have revealed something about the data. Exceptions: the source could not be reached
        before it gave any data, or the plan has a checkpoint to resume from.

        With `repeat` false, the question is its own key: if the same was asked with the same budget of the same version
        of the data, the stored answer is returned and nothing is charged. If that run failed, it is charged anew.
        """
        if not repeat and key is not None:
            raise InvalidInput("must not be given with repeat=False: the question is the key", field="key", value=key)
        if plan.domain.fingerprint != self.engine.domain.fingerprint:
            raise InvalidInput("the plan was made for another schema", field="plan")
        charge: Charge | None = None
        try:
            charge = self._reserve(plan, purpose, key) if repeat else self._reserve_once(plan, purpose)
            if charge.answer is not None:
                return plan.read(charge.answer)
            return plan.read(self._run(plan, charge))
        except KeyboardInterrupt as stop:  # as if killed: the charge stays, and may run again
            stop.add_note(_stopped_text(self.account.name, charge, repeat))
            raise

    def _run(self, plan: Plan[A], charge: Charge) -> str:
        """The answer as it is stored."""
        if _spoilt(plan, charge):
            raise Conflict("the run that it paid for failed, and may have read data", field="key", hint="Use a new key")
        running = plan.paid_by(charge.id) if isinstance(plan, Resumable) else plan
        watched = _Watched(self.engine)
        try:
            answer = running.run(cast(Engine, watched), self._source)
        except KeyboardInterrupt:  # stopped from outside: it says nothing about the data
            raise
        except BaseException as error:
            # a source that was never reached has done nothing: the charge may run again
            if watched.gave or not isinstance(error, SourceUnavailable) or error.reached:
                self._ledger.fail(charge)
            raise
        return self._ledger.settle(charge, _charged(answer, charge).to_json())

    def _reserve(self, plan: Plan[A], purpose: str, key: str | None) -> Charge:
        if isinstance(plan, Resumable | Predictable):  # before anything is paid for
            before = None if key is None else self._ledger.find(self.account.name, key)
            if before is None or before.answer is None:
                if isinstance(plan, Resumable):
                    plan.check_resumable(None if before is None else before.id)
                if isinstance(plan, Predictable) and before is None:
                    plan.check_error(self.engine)
        return self._ledger.reserve(
            self.account.name,
            plan.event,
            question=question_of(plan) + self._bound,
            unit=plan.unit,
            neighbours=plan.neighbours,
            principal=self._principal,
            purpose=purpose,
            key=key,
            data=self._data,
            again=self._again,
        )

    def _reserve_once(self, plan: Plan[A], purpose: str) -> Charge:
        """The charge of this question that has not failed, or a new one."""
        first, attempt = self.key_of(plan), 1
        if self._ledger.find(self.account.name, first) is None:
            former = self._ledger.find(self.account.name, self._former_key(plan))
            if former is not None and former.answer is not None:
                return former
        charge = self._reserve(plan, purpose, first)
        while _spoilt(plan, charge):
            attempt += 1
            charge = self._reserve(plan, purpose, f"{first}:{attempt}")
        return charge

    def key_of(self, plan: Plan[Answer]) -> str:
        """A key that stands for the question, its noise and the version of the data.

        Simulated answers have keys of their own, so that none is ever taken for a real one.
        """
        return "question:" + self._ledger.keyed(self._asked(plan))

    def _asked(self, plan: Plan[Answer]) -> str:
        simulated = "simulated" if self._source.simulated else ""
        return json.dumps([question_of(plan), plan.event.to_json(), self._version, simulated])

    def _former_key(self, plan: Plan[Answer]) -> str:
        """Key of the question up to version 0.2, which was not keyed; read, never written."""
        return "question:" + hashlib.sha256(self._asked(plan).encode()).hexdigest()

    def balance(self) -> Balance:
        """Return the balance of the account."""
        return self._ledger.balance(self.account.name)


def _stopped_text(account: str, charge: Charge | None, repeat: bool) -> str:
    if charge is None:  # between the commit of a charge and its return, too
        return f"Account {account} may have been charged for this: see its history."
    again = f"with --key {charge.key}" if repeat else "with the same question"
    return (
        f"Account {charge.account} was charged for this before it was stopped, and the charge stays. "
        f"The same command {again} runs it again and costs nothing more."
    )


class _Watched:
    """An engine that records whether it gave any data. Every call that was made and has not failed counts."""

    _PUBLIC = frozenset({"domain", "supports"})

    def __init__(self, engine: Engine) -> None:
        self._engine, self.gave = engine, False

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._engine, name)
        if name in self._PUBLIC or not callable(found):
            return found

        def watched(*positional: Any, **named: Any) -> Any:
            given = found(*positional, **named)
            self.gave = True
            return given

        return watched


def _spoilt(plan: Plan[Any], charge: Charge) -> bool:
    """Return true if a failed, non-resumable run may have read data."""
    return charge.state == "failed" and not isinstance(charge.event, Nothing) and not _resumes(plan)


def _charged(answer: Answer, charge: Charge) -> Answer:
    """Return the answer, with the charge that paid for it."""
    if isinstance(answer, Releases):
        return Releases(release.with_charge(charge.id, charge.account) for release in answer.values())
    return answer.with_charge(charge.id, charge.account) if isinstance(answer, _Chargeable) else answer

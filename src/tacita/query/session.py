"""The only way from a plan to an answer: reserve, run, settle."""

from __future__ import annotations

import json

from tacita.engines.base import Engine
from tacita.errors import InvalidInput
from tacita.mechanisms.recipe import Calibrated
from tacita.noise import Source
from tacita.privacy.ledger import Balance, Ledger
from tacita.release import Releases

__all__ = ["Session", "question_of"]


def question_of(plan: Calibrated) -> str:
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
    """

    def __init__(self, *, engine: Engine, ledger: Ledger, account: str, principal: str, source: Source) -> None:
        self.engine = engine
        self.account = ledger.account(account)
        self._ledger, self._principal, self._source = ledger, principal, source

    def ask(self, plan: Calibrated, *, purpose: str = "query", key: str | None = None) -> Releases:
        """Charge the plan's event, run it, store the answer, and return what was stored.

        With the same key a second time, the stored answer comes back and nothing is charged: the way to retry after a
        lost connection or a crash.
        """
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
            return Releases.from_json(charge.answer)
        try:
            releases = plan.run(self.engine, self._source)
        except BaseException:
            self._ledger.fail(charge)
            raise
        charged = Releases(r.with_charge(charge.id, self.account.name) for r in releases.values())
        return Releases.from_json(self._ledger.settle(charge, charged.to_json()))

    def balance(self) -> Balance:
        """What is left."""
        return self._ledger.balance(self.account.name)

"""The holder's side: its own data, its own noise, its own ledger, and what its operator allows.

    every answer   is keyed by run and step, reserved before data is touched, stored, and only then sent: asked again,
                   also after a crash, the holder sends the stored answer and charges nothing
    every run      is bound to its terms by the first request; other terms under the same name are refused
    before a run   the whole of it must fit what the operator allows for one run, and what is left in the account

Privacy: an analyst is not trusted. Whatever it asks, in whatever order and how often, what it learns adds up to no more
than the account's budget, and for one run to no more than its terms.   Claim: docs/claims/federated.md
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.errors import Conflict, Forbidden, InvalidInput
from tacita.plans.recipe import Plan
from tacita.privacy.accountant import cost
from tacita.privacy.budget import exact
from tacita.privacy.ledger import Account, Ledger
from tacita.synthesize.federated.exchange import Reply, Request, Step
from tacita.synthesize.federated.schedule import Schedule
from tacita.synthesize.federated.steps import Joining
from tacita.synthesize.federated.terms import SHARING, Sharing, Terms
from tacita.synthesize.result import Synthesized

__all__ = ["Asks", "Holder", "Limits"]

_REMEMBERED = 16  # schedules, which take a second to calibrate


class Asks(Protocol):
    """The way from a plan to an answer that is paid for: a `tacita.plans.session.Session`."""

    engine: Engine
    account: Account

    def ask(self, plan: Plan[Any], *, purpose: str = ..., key: str | None = ...) -> Any:
        """Reserve, run, settle; the same key gives the same answer."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits set by a holder's operator.

    Args:
        most: Highest cost of one run, in the currency of the account; None for what the account bears.
        methods: Protocols that are allowed.
        overlap: Whether terms may allow people to be at several holders. Then no person's cost is bounded here alone.
    """

    most: float | None = None
    methods: tuple[Sharing, ...] = SHARING
    overlap: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "methods", tuple(self.methods))
        if self.most is not None and not 0 < self.most < float("inf"):
            raise InvalidInput("must be positive and finite", field="most", value=self.most)
        if not self.methods or not set(self.methods) <= set(SHARING):
            raise InvalidInput(f"must be among {', '.join(SHARING)}", field="methods", value=self.methods)


class Holder:
    """One holder of data.

    Args:
        name: Its name in the terms.
        session: Asks the data, on the holder's account; its source is the holder's randomness.
        ledger: The ledger of that session.
        limits: Limits set by the operator.
    """

    def __init__(self, *, name: str, session: Asks, ledger: Ledger, limits: Limits) -> None:
        self.name, self.limits = name, limits
        self._session, self._ledger = session, ledger
        self._schedules: dict[Terms, Schedule] = {}
        self._lock = threading.Lock()

    @property
    def domain(self) -> Domain:
        """The public schema of the data."""
        return self._session.engine.domain

    @property
    def account(self) -> Account:
        """Account that is charged, with its unit and neighbours."""
        return self._session.account

    def answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """The reply to a request, as plain data."""
        request = Request.from_dict(message)
        return self.reply(request).as_dict()

    def reply(self, request: Request) -> Reply:
        """Check the terms, bind them to the run, and do the step once."""
        terms, step = request.terms, request.step
        schedule = self._schedule(terms)
        plan = None if step.kind == "join" else schedule.plan(step)
        joining = Joining(
            terms=terms, step=Step(kind="join"), domain=self.domain, check=lambda: self._check_affordable(schedule)
        )
        # every step joins first: an analyst that skips joining, or comes with other terms later, is refused here
        content = self._ask(joining, terms, "join")
        if plan is not None:
            content = self._ask(plan, terms, step.name)
            if isinstance(content, Synthesized):  # a blend of models needs no tables
                content = replace(content, measured=None)
        return Reply(run=terms.run, step=step.name, holder=self.name, content=content)

    def _ask(self, plan: Plan[Any], terms: Terms, step: str) -> Any:
        try:
            return self._session.ask(plan, purpose=f"federated {terms.method}", key=f"federated:{terms.run}:{step}")
        except Conflict as error:
            if error.field != "key":
                raise
            raise Conflict(error.rule, field="run", value=terms.run, hint="Use a new name for the run") from None

    def _schedule(self, terms: Terms) -> Schedule:
        """The schedule of acceptable terms."""
        with self._lock:
            if terms not in self._schedules:
                self._check_terms(terms)
                schedule = Schedule.of(terms, self.domain)
                self._check_cost(schedule)
                while len(self._schedules) >= _REMEMBERED:
                    del self._schedules[next(iter(self._schedules))]
                self._schedules[terms] = schedule
            return self._schedules[terms]

    def _check_terms(self, terms: Terms) -> None:
        terms.check_domain(self.domain)
        if self.name not in terms.holders:
            raise InvalidInput(f"must name this holder, {self.name!r}", field="holders", value=list(terms.holders))
        if terms.method not in self.limits.methods:
            raise Forbidden(f"this holder allows {', '.join(self.limits.methods)}", field="method", value=terms.method)
        if terms.overlap == "possible" and not self.limits.overlap:
            raise Forbidden("this holder's people must be at no other holder", field="overlap", value=terms.overlap)
        account = self.account
        for field in ("unit", "neighbours"):
            if getattr(terms, field) != getattr(account, field):
                rule = f"this holder's account has {getattr(account, field)}"
                raise InvalidInput(rule, field=field, value=str(getattr(terms, field)))

    def _check_cost(self, schedule: Schedule) -> None:
        """Refuse a run that costs more than the operator allows for one."""
        account, most = self.account, self.limits.most
        if most is None:
            return
        whole = cost([(schedule.event, 1)], account.budget, account.neighbours)
        if whole > exact(most):
            raise Forbidden(
                f"a run may cost {most:g} here, in the currency of {account.budget}",
                field="budget",
                value=f"{float(whole):.6g}",
                hint="Ask for less, or ask the holder's operator to allow more",
            )

    def _check_affordable(self, schedule: Schedule) -> None:
        """Refuse a run that the account could not bear to its end, before anything is spent on it."""
        self._ledger.quote(self.account.name, schedule.event, charges=schedule.charges).check()

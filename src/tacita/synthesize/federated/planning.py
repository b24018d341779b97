"""Predict the cost and the noise of a run, before any holder is asked."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from tacita.domain import Domain
from tacita.privacy.accountant import cost
from tacita.privacy.event import Event
from tacita.synthesize.federated.schedule import Schedule
from tacita.synthesize.federated.terms import Terms

__all__ = ["Planned", "plan_run"]


@dataclass(frozen=True, kw_only=True)
class Planned:
    """One method of sharing.

    Attributes:
        cost_of_a_holder: Cost charged to the account of each holder.
        cost_of_a_person: Cost to one person, at all holders together.
        steps: Number of questions to each holder.
        std_of_a_holder: Standard error of a cell of one holder.
        std: That of a cell of all holders together.
        central_std: That of one curator who has all data and uses the same method with the budget of one holder.
    """

    method: str
    cost_of_a_holder: float
    cost_of_a_person: float
    steps: int
    std_of_a_holder: float
    std: float
    central_std: float

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def plan_run(terms: Terms, domain: Domain) -> Planned:
    """Predict cost, number of steps and noise of a run with these terms."""
    schedule, holders = Schedule.of(terms, domain), len(terms.holders)
    voting = len(terms.attributes) - 1 + (schedule.count is not None) if terms.method == "SL2" else 0

    def costs(event: Event) -> float:
        return float(cost([(event, 1)], terms.budget, terms.neighbours))

    return Planned(
        method=terms.method,
        cost_of_a_holder=costs(schedule.event),
        cost_of_a_person=costs(schedule.event_of_all(holders)),
        steps=2 + voting,
        std_of_a_holder=schedule.std,
        std=schedule.std * math.sqrt(holders),
        central_std=schedule.std,
    )

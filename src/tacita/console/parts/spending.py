"""A budget as a picture over time."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from tacita.figures.charts import Curve, curves
from tacita.privacy.accountant import INFINITE, cost
from tacita.privacy.budget import Budget
from tacita.privacy.event import event_from_dict
from tacita.privacy.unit import Neighbours

__all__ = ["picture_of", "spent_over_time"]

_MOST_POINTS = 40


def spent_over_time(
    charges: Sequence[Mapping[str, Any]], budget: Budget, neighbours: Neighbours
) -> list[tuple[dt.datetime, float]]:
    """Spent budget after each charge, in the currency of the budget; of many charges, some are shown.

    Composition is not a sum in every currency, so each point adds up all that came before it.
    """
    events = [(event_from_dict(charge["event"]), 1) for charge in charges]
    times = [dt.datetime.fromisoformat(charge["created"]) for charge in charges]
    step = max(1, -(-len(events) // _MOST_POINTS))
    places = sorted({*range(step, len(events) + 1, step), *([len(events)] if events else [])})
    found = []
    for place in places:
        spent = cost(events[:place], budget, neighbours)
        found.append((times[place - 1], float("inf") if spent >= INFINITE else float(spent)))
    return found


def picture_of(found: Sequence[tuple[dt.datetime, float]], budget: Budget, *, until: dt.datetime) -> str:
    """The same as an SVG, with the budget as a line above."""
    start = found[0][0] if found else until
    begin = start - max((until - start) / 20, dt.timedelta(seconds=1))
    x = [begin.timestamp(), *(at.timestamp() for at, _ in found), until.timestamp()]
    y = [0.0, *(spent for _, spent in found), found[-1][1] if found else 0.0]
    unit = "rho" if budget.currency == "zcdp" else "epsilon"
    return curves(
        [Curve(label="spent", x=x, y=y, steps=True)],
        across="time",
        up=unit,
        title="Spent budget over time",
        level=("budget", float(budget.amount)),
        ends=(f"{begin:%Y-%m-%d %H:%M}", f"{until:%Y-%m-%d %H:%M}"),
    )

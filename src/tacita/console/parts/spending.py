"""A budget over time: what was spent, and how long it lasts at this pace."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from tacita.console.look.charts import Chart
from tacita.console.look.plots import lines
from tacita.figures.charts import Curve
from tacita.privacy.accountant import INFINITE, cost
from tacita.privacy.budget import Budget
from tacita.privacy.event import event_from_dict
from tacita.privacy.unit import Neighbours

__all__ = ["budget_of", "chart_of", "cost_of", "forecast", "forecast_words", "spent_over_time"]

_MOST_POINTS = 40
_SHORTEST = dt.timedelta(days=1)
"""From the first charge on; before that, a pace says nothing."""
_LONGEST = dt.timedelta(days=20 * 365)

Spent = Sequence[tuple[dt.datetime, float]]


def budget_of(balance: Mapping[str, Any]) -> tuple[Budget, Neighbours]:
    """The budget and the neighbours of an account."""
    given = {key: value for key, value in balance["budget"].items() if value is not None}
    return Budget(**given), Neighbours(balance["neighbours"])


def cost_of(charge: Mapping[str, Any], budget: Budget, neighbours: Neighbours) -> float:
    """The cost of one charge by itself, in the currency of the budget; infinite without a guarantee."""
    spent = cost([(event_from_dict(charge["event"]), 1)], budget, neighbours)
    return float("inf") if spent >= INFINITE else float(spent)


def spent_over_time(
    charges: Sequence[Mapping[str, Any]], budget: Budget, neighbours: Neighbours
) -> list[tuple[dt.datetime, float]]:
    """Spent budget after each charge, in the currency of the budget; of many charges, some are shown.

    Composition is not a sum in every currency, so each point adds up all that came before it.
    """
    events = [(event_from_dict(charge["event"]), 1) for charge in charges]
    times = [dt.datetime.fromisoformat(charge["created"]) for charge in charges]
    step = max(1, -(-len(events) // _MOST_POINTS))
    places = sorted({*range(step, len(events) + 1, step), *([1, len(events)] if events else [])})
    found = []
    for place in places:
        spent = cost(events[:place], budget, neighbours)
        found.append((times[place - 1], float("inf") if spent >= INFINITE else float(spent)))
    return found


def forecast(found: Spent, total: float, *, now: dt.datetime) -> dt.datetime | None:
    """Predict when the budget is used up at the pace since the first charge; None where there is no pace yet.

    The pace is what was spent after the first charge, over the time since then. There is none below two charges, on
    the first day, or if the budget would last for decades.
    """
    if len(found) < 2 or now - found[0][0] < _SHORTEST:
        return None
    spent = found[-1][1]
    pace = (spent - found[0][1]) / (now - found[0][0]).total_seconds()
    if not 0 < pace < float("inf"):
        return None
    left = max(total - spent, 0.0) / pace
    return now + dt.timedelta(seconds=left) if left < _LONGEST.total_seconds() else None


def forecast_words(found: Spent, total: float, *, now: dt.datetime) -> str:
    """The forecast in a sentence, or why there is none."""
    if found and found[-1][1] >= total * (1 - 1e-9):
        return "The budget is used up."
    until = forecast(found, total, now=now)
    if until is not None:
        return f"At this pace it lasts until {until:%Y-%m-%d}."
    if len(found) < 2:
        return "A forecast needs two charges."
    if now - found[0][0] < _SHORTEST:
        return "A forecast needs a day since the first charge."
    return "At this pace it lasts for decades."


def chart_of(found: Spent, budget: Budget, *, now: dt.datetime) -> Chart:
    """Spending over time, with the budget as a limit and the forecast as a dashed line."""
    start = found[0][0] if found else now
    begin = start - max((now - start) / 20, dt.timedelta(seconds=1))
    total = float(budget.amount)
    unit = "rho" if budget.currency == "zcdp" else "epsilon"
    known = [(begin, 0.0), *found, (now, found[-1][1] if found else 0.0)]
    curves = [Curve(label="spent", x=[at.timestamp() for at, _ in known], y=[y for _, y in known], steps=True)]
    until = forecast(found, total, now=now)
    if until is not None and found[-1][1] < total:
        # far forecasts would squeeze the past: the line ends where the time shown has tripled
        end = min(until, now + 3 * (now - start))
        height = found[-1][1] + (total - found[-1][1]) * ((end - now) / (until - now))
        curves.append(Curve(label="at this pace", x=[now.timestamp(), end.timestamp()], y=[found[-1][1], height]))
    return lines(curves, across="time", up=unit, title="Spent budget over time", level=("budget", total), times=True)

"""Numbers and names as people read them."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from typing import Any

__all__ = [
    "EPSILON",
    "EPSILONS",
    "EPSILON_OF_ANSWERS",
    "KINDS",
    "RELEASES",
    "RHO",
    "amount",
    "budget",
    "factor",
    "loss_note",
    "odds",
    "percent",
    "when",
]

EPSILON = "Epsilon bounds what a release can reveal about one person: below 1 protects strongly, above 5 weakly."
"""The sentence that every form with an epsilon shows."""
EPSILON_OF_ANSWERS = (
    "Epsilon bounds what an answer can reveal about a respondent: below 1 protects strongly, above 5 weakly."
)
RHO = "Rho bounds what a release can reveal about one person, on the scale of zCDP: smaller values protect more."


EPSILONS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 10.0)

KINDS = {
    "synthesize": "synthetic rows",
    "anonymize": "anonymized rows",
    "query": "noisy tables",
    "function": "a function",
    "fit": "a model",
    "assess": "assessment",
    "compare": "comparison",
    "disclosure": "disclosure risk",
    "federate": "synthetic rows of several holders",
    "tables": "noisy tables",
    "statistics": "statistics",
    "clusters": "clusters",
    "components": "principal components",
    "bounds": "bounds of a number",
    "network": "a network of numbers",
    "mobility": "synthetic tap records",
    "headlines": "synthetic headlines",
    "mask": "masked rows",
    "impute": "imputed rows",
    "events": "events of a log",
    "sets": "sets of items",
    "suppress": "tables with suppressed cells",
}
"""Names of jobs."""
RELEASES = {
    "function": "Function (any number of evaluations)",
    "statistics": "Statistics (SQL)",
    "clusters": "Clusters (k-means)",
    "components": "Principal components",
    "bounds": "Bounds of a number",
    "network": "Network of numbers",
    "masked": "Masked rows (disclosure control)",
    "imputed": "Imputed rows, without a guarantee",
    "events": "Events of a log (z-anonymity)",
    "sets": "Sets of items (k^m-anonymity)",
    "suppressed": "Tables with suppressed cells",
}
"""Names of the kinds of release without a form of their own."""


def amount(value: float | None, digits: int = 3) -> str:
    """A number with few digits.

    >>> amount(0.30000000000000004), amount(None), amount(1234567.0)
    ('0.3', 'unbounded', '1,234,567')
    """
    if value is None or not math.isfinite(value):
        return "unbounded"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"


def budget(given: Mapping[str, Any]) -> str:
    """A budget in its own currency.

    >>> budget({"epsilon": 3.0, "delta": 0.0}), budget({"epsilon": 1.0, "delta": 1e-06}), budget({"rho": 0.5})
    ('ε 3', 'ε 1 at δ 1e-06', 'ρ 0.5')
    """
    if given.get("rho") is not None:
        return f"ρ {amount(given['rho'])}"
    delta = given.get("delta") or 0.0
    return f"ε {amount(given['epsilon'])}" + (f" at δ {delta:g}" if delta else "")


def loss_note(currency: str) -> str:
    """Explain the number that a budget in this currency is.

    >>> loss_note("zcdp") == RHO, loss_note("pure") == EPSILON
    (True, True)
    """
    return RHO if currency == "zcdp" else EPSILON


def percent(share: float, digits: int = 1) -> str:
    """A share.

    >>> percent(0.0312)
    '3.1 %'
    """
    return f"{100 * share:.{digits}f} %"


def odds(epsilon: float) -> str:
    """Explain an epsilon as odds.

    >>> odds(1.0)
    'The data of one person changes the probability of any result by a factor of 2.72 at most.'
    """
    return f"The data of one person changes the probability of any result by a factor of {factor(epsilon)} at most."


def factor(epsilon: float) -> str:
    """The factor by which an epsilon changes odds at most, never rounded down.

    >>> factor(1.0), factor(10_000)
    ('2.72', 'more than 400 million')
    """
    value = math.exp(min(epsilon, 20))
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return f"{math.ceil(value / step) * step:,.3g}" if epsilon < 20 else "more than 400 million"


def when(text: str | None) -> str:
    """A moment, without seconds, in UTC.

    >>> when("2026-05-01T12:34:56.789+00:00")
    '2026-05-01 12:34'
    """
    if not text:
        return ""
    return dt.datetime.fromisoformat(text).astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M")

"""One component for each idea: release card, guarantee badge, budget gauge, cost preview, ledger's forecast.

Every page shows these ideas by these components; `docs/design/look.md` shows the components.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from tacita.console.look import kit, words

__all__ = ["SIGNS", "budget_gauge", "cost_preview", "gauge_words", "guarantee_badge", "release_card", "release_cards"]

SIGNS = {
    "synthesize": "groups",
    "anonymize": "blur_on",
    "mask": "blur_on",
    "impute": "healing",
    "tables": "table_chart",
    "query": "table_chart",
    "suppress": "table_chart",
    "statistics": "functions",
    "fit": "insights",
    "function": "show_chart",
    "clusters": "bubble_chart",
    "components": "scatter_plot",
    "network": "schema",
    "federate": "hub",
    "mobility": "route",
    "headlines": "article",
    "events": "list_alt",
    "sets": "shopping_basket",
    "bounds": "straighten",
}
"""Icons of the kinds of release."""
_WITHOUT = {"anonymize": "k-anonymous", "mask": "masked", "impute": "", "suppress": "suppressed cells"}
_WITHOUT |= {"events": "z-anonymous", "sets": "k^m-anonymous"}
"""What kinds without differential privacy hold instead."""


# -- guarantee --------------------------------------------------------------------------------------------------------


def guarantee_badge(kind: str, statement: Mapping[str, Any] | None = None) -> None:
    """The promise of a release, as a badge: what holds, and its epsilon where it is known.

    Args:
        kind: Of the job that made it.
        statement: Its privacy statement, where it is known.
    """
    shown, style, sign = _badge(kind, statement)
    with ui.element("span").classes(f"badge badge-{style}"):
        kit.icon(sign)
        kit.text(shown, tag="span")


def _badge(kind: str, statement: Mapping[str, Any] | None) -> tuple[str, str, str]:
    if statement is None and kind not in _WITHOUT:
        return "differential privacy", "strong", "verified_user"
    if statement is not None and statement["epsilon"] is not None and statement["guarantee"] != "none":
        spent = words.budget({"epsilon": statement["epsilon"], "delta": statement["delta"]})
        local = "local " if "local" in statement["guarantee"] else ""
        return f"{spent}, {local}differential privacy", "strong", "verified_user"
    held = _WITHOUT.get(kind, "")
    if held:
        return f"{held}, no differential privacy", "weak", "gpp_maybe"
    return "no guarantee", "none", "gpp_bad"


# -- releases ---------------------------------------------------------------------------------------------------------


def release_cards(jobs: Sequence[Mapping[str, Any]], *, assessed: Sequence[str] = ()) -> None:
    """Cards of releases."""
    with ui.element("ul").classes("cards"):
        for job in jobs:
            with ui.element("li").classes("card"):
                release_card(job, assessed=job["id"] in assessed)


def release_card(job: Mapping[str, Any], *, assessed: bool = False) -> None:
    """One release: its kind and dataset, when it was made, its promise, and whether it was assessed."""
    kind = words.KINDS.get(job["kind"], job["kind"])
    with ui.element("div").classes("card-head"):
        kit.icon(SIGNS.get(job["kind"], "outbox"))
        with ui.element("div"):
            kit.link(f"{kind[:1].upper()}{kind[1:]}", f"/releases/{job['id']}", "card-title")
            kit.note(" · ".join(each for each in (job["dataset"], words.when(job["created"])) if each))
    with kit.row():
        if job["state"] != "done":
            kit.state(job["state"])
        else:
            guarantee_badge(job["kind"])
        if assessed:
            kit.text("assessed", "badge", tag="span")


# -- budget -----------------------------------------------------------------------------------------------------------


def gauge_words(spent: float | None, total: float, currency: str, planned: float = 0.0) -> tuple[str, str]:
    """Spent and remaining budget, with the unit of the budget.

    >>> gauge_words(1.8, 4.0, "pure")
    ('ε 1.8 of ε 4 spent', 'ε 2.2 left')
    >>> gauge_words(1.8, 4.0, "pure", planned=0.5)
    ('ε 1.8 of ε 4 spent, this release ε 0.5', 'ε 1.7 left afterwards')
    """
    unit = "ρ" if currency == "zcdp" else "ε"
    if spent is None or not math.isfinite(spent):
        return "spent without bound", f"of {unit} {words.amount(total)}"
    left = max(total - spent - planned, 0.0)
    more = f", this release {unit} {words.amount(planned)}" if planned else ""
    after = " afterwards" if planned else ""
    return (
        f"{unit} {words.amount(spent)} of {unit} {words.amount(total)} spent{more}",
        f"{unit} {words.amount(left)} left{after}",
    )


def budget_gauge(balance: Mapping[str, Any], *, planned: float = 0.0, small: bool = False) -> None:
    """Spent share of a budget, with its unit; hatched, the cost of a release."""
    total = float(balance["budget"].get("rho") or balance["budget"].get("epsilon") or 0.0)
    spent = balance["spent"]
    known = total if spent is None else min(float(spent), total)
    parts = [100 * known / total, 100 * min(planned, total) / total] if total > 0 else [0.0, 0.0]
    over = known + planned > total * (1 + 1e-9)
    said = gauge_words(spent, total, balance["currency"], planned)
    if over and spent is not None and planned:
        said = (said[0], "more than is left")
    spans = (("spent", parts[0]), ("planned", min(parts[1], 100 - parts[0])))
    bars = "".join(f'<div class="gauge-{name}" style="width:{part:.2f}%"></div>' for name, part in spans)
    with ui.element("div").classes("gauge" + " gauge-small" * small + " gauge-over" * over):
        bar = ui.html(bars, sanitize=False).classes("gauge-bar")
        kit.set_attributes(bar, role="img", **{"aria-label": f"Budget: {', '.join(said)}"})
        shown = "".join(f"<span>{html.escape(each)}</span>" for each in (said[1:] if small else said))
        ui.html(shown, sanitize=False).classes("gauge-words")


def cost_preview(cost: str, charged: float, balance: Mapping[str, Any]) -> None:
    """Cost of a release before it is made: in words, and as a part of the budget."""
    with ui.element("div").classes("cost"):
        kit.note("Cost")
        kit.text("Nothing" if cost == "nothing" else cost, "big")
        budget_gauge(balance, planned=charged)

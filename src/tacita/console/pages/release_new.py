"""The form of a new release: kind, dataset and method, with the cost and the expected error."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from nicegui import ui

from tacita.console import tour
from tacita.console.api import Api
from tacita.console.look import kit, words
from tacita.console.look.cards import cost_preview, guarantee_badge
from tacita.console.page import Visit, page
from tacita.console.parts.asking import ExpectedRelease, ReleaseForm
from tacita.console.parts.described import SchemaForm
from tacita.console.parts.forms import FORMS, OWN_FORMS
from tacita.domain import Domain
from tacita.errors import TacitaError

__all__ = ["release_new"]

_PAUSE = 0.25
_JOBS = {"synthetic": "synthesize", "anonymized": "anonymize", "masked": "mask", "imputed": "impute"}
_JOBS |= {"suppressed": "suppress", "model": "fit"}
"""Kinds of jobs, by the kinds of release that have another name."""


@page("/releases/new", "Make a release", roles=("steward", "analyst"), menu=("Releases", "Make a release"), form=True)
async def release_new(visit: Visit) -> None:
    """Show the choices, and their plan below."""
    datasets = [dataset["name"] for dataset in await visit.api.get("/v1/datasets")]
    if not datasets:
        kit.empty("There is no dataset that you may use.", "Start page", "/")
        return
    tour.step(
        visit,
        2,
        "Synthetic rows are drawn from noisy tables and belong to no real person. Move the slider: a larger epsilon "
        "means a smaller error and less privacy. When the plan suits you, make the release.",
    )
    chosen = visit.query.get("dataset", datasets[0])
    kinds = await _kinds(visit)
    await _Wizard(visit, datasets, chosen if chosen in datasets else datasets[0], kinds).show()


async def _kinds(visit: Visit) -> dict[str, tuple[str, Callable[..., ReleaseForm]]]:
    """Title and form of each kind of release that this person may ask for: own forms first, then those of a schema."""
    known: dict[str, tuple[str, Callable[..., ReleaseForm]]] = {key: (kind.name, kind) for key, kind in FORMS.items()}
    for info in await visit.api.get("/v1/releases/kinds"):
        name = info["name"]
        if name not in OWN_FORMS and visit.may(*info["roles"]):
            known[name] = (words.RELEASES.get(name, info["summary"]), partial(SchemaForm, info=info))
    return known


class _Wizard:
    """The state of the page while it is open."""

    def __init__(
        self, visit: Visit, datasets: list[str], dataset: str, kinds: dict[str, tuple[str, Callable[..., ReleaseForm]]]
    ) -> None:
        self._visit, self._datasets, self._dataset, self._kinds = visit, datasets, dataset, kinds
        self._kind = visit.query.get("kind", "synthetic")
        self._kind = self._kind if self._kind in kinds else "synthetic"
        self._turn = 0
        self._key = Api.new_key()  # a second click starts nothing more
        self._asked: ReleaseForm | None = None
        self._expected: ExpectedRelease | None = None

    async def show(self) -> None:
        """Choices, plan, button."""
        with kit.columns("halves") as (main, side):
            with main:
                with kit.panel("Release"), kit.row():
                    titles = {key: title for key, (title, _) in self._kinds.items()}
                    what = kit.choice("Kind of release", titles, self._kind)
                    whose = kit.choice("Dataset", self._datasets, self._dataset)
                with kit.panel("Settings"):
                    self._about = kit.note("")
                    self._fields = ui.element("div")
            with side, kit.panel("Plan: cost and expected error") as shown:
                shown.props('aria-live="polite"')
                self._plan = ui.element("div")
                self._button = kit.button("Make the release", self._make, main=True)
                self._button.disable()  # until it is planned

        async def changed() -> None:
            self._kind, self._dataset = what.value, whose.value
            await self._ask()

        what.on_value_change(changed)
        whose.on_value_change(changed)
        await changed()

    async def _ask(self) -> None:
        api, name = self._visit.api, self._dataset
        schema = await api.get(f"/v1/datasets/{name}/schema")
        balance = await api.get(f"/v1/datasets/{name}/budget")
        self._asked = self._kinds[self._kind][1](
            api=api,
            dataset=name,
            domain=Domain.from_dict(schema),
            balance=balance,
            query=self._visit.query,
            change=self._changed,
        )
        kit.reword(self._about, self._asked.about)
        self._fields.clear()
        with self._fields:
            self._asked.fields()
        kit.soon(self._changed)

    async def _changed(self) -> None:
        """Plan anew, a moment after the last change."""
        self._turn += 1
        turn = self._turn
        self._expected = None
        self._button.disable()
        self._plan.clear()
        with self._plan:
            kit.skeleton("Planning the release.")
        await asyncio.sleep(_PAUSE)
        if turn != self._turn or self._asked is None:
            return
        try:
            found: ExpectedRelease | TacitaError = await self._asked.expect()
        except TacitaError as error:
            found = error
        if turn == self._turn:
            self._show(found)

    def _show(self, found: ExpectedRelease | TacitaError) -> None:
        self._plan.clear()
        with self._plan:
            if isinstance(found, TacitaError):
                kit.text(f"{found.field}: {found.rule}." if found.field else f"{found.rule}.", "problem")
                if hint := kit.hint_of(found):
                    kit.note(hint)
                return
            if self._asked is not None:
                cost_preview(found.cost, found.charged, self._asked.balance)
            guarantee_badge(_JOBS.get(self._kind, self._kind))
            kit.facts(found.facts)
            if found.note:
                kit.note(found.note)
            if not found.affordable:
                kit.text("The budget is not enough. Spend less, or ask the steward to raise it.", "problem")
                return
        self._expected = found
        self._button.enable()

    async def _make(self) -> None:
        if self._asked is None or self._expected is None:
            return
        question = "Spend budget?" if self._expected.charged > 0 else "Release these rows?"
        if not await kit.confirm(question, self._asked.warning(self._expected), "Confirm"):
            return
        job: dict[str, Any] = await self._asked.make(self._key)
        kit.draft().forget()
        touring = self._visit.query.get("tour") == "yes"
        ui.navigate.to(f"/releases/{job['id']}" + (f"?{tour.TOUR}" if touring else ""))

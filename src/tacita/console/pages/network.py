"""A released model as a picture, and what-if questions to it. They cost nothing: the model is released."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from nicegui import run, ui

from tacita.console.look import charts, kit, words
from tacita.console.look.charts import Chart
from tacita.console.look.maps import pair_heat, strength_legend
from tacita.console.look.plots import twin_bars
from tacita.console.page import Visit, page
from tacita.console.parts.findings import together
from tacita.console.parts.odds import share
from tacita.console.parts.whatif import (
    KnownModel,
    associations,
    picture_of,
    read_campaign,
    read_release,
    what_if,
    what_is_sure,
)
from tacita.figures.charts import Interval
from tacita.synthesize.intervals.answer import Intervals

__all__ = ["network"]

_UNKNOWN = ""
_MOST_EVIDENCE = 30


@page("/network", "Network", roles=("steward", "analyst"), menu=("Decide", "Network and what-if"))
async def network(visit: Visit) -> None:
    """Show the model of a release or of a campaign."""
    options = await _options(visit)
    if not options:
        kit.empty(
            "There is no model yet. Synthetic rows have one, and so has a campaign with enough answers.",
            "Make synthetic rows",
            "/releases/new?kind=synthetic",
            sign="schema",
        )
        return
    asked = _asked(visit.query)
    with kit.row():
        kit.choice("Model", options, asked if asked in options else None, change=_go)
    if asked is None:
        kit.note("Choose a model. Questions to it cost nothing: its release was paid for.")
        return
    _Viewer(await _known(visit, asked)).show()


async def _options(visit: Visit) -> dict[tuple[str, str], str]:
    jobs = await visit.api.get("/v1/jobs", limit=500)
    made = [job for job in jobs if job["kind"] == "synthesize" and job["state"] == "done"]
    asked = [
        each
        for each in await visit.api.get("/v1/campaigns")
        if each["received"] >= each["terms"]["minimum"] and together(each["questions"])
    ]
    releases = {
        ("release", job["id"]): f"Rows of {job['dataset']}, {words.when(job['created'])}, {job['id'][-6:]}"
        for job in made
    }
    return releases | {("campaign", each["id"]): f"Campaign: {each['title']}" for each in asked}


def _asked(query: dict[str, str]) -> tuple[str, str] | None:
    return next(((kind, query[kind]) for kind in ("release", "campaign") if query.get(kind)), None)


def _go(event: Any) -> None:
    kind, id = event.value
    ui.navigate.to(f"/network?{kind}={quote(id)}")


async def _known(visit: Visit, asked: tuple[str, str]) -> KnownModel:
    kind, id = asked
    if kind == "release":
        return read_release(await visit.api.text(f"/v1/releases/{id}/model"))
    return read_campaign(await visit.api.get(f"/v1/campaigns/{id}/network"))


class _Viewer:
    """One model, the known attributes of a person, and the attribute in question."""

    def __init__(self, known: KnownModel) -> None:
        self._known, self._given = known, dict[str, str]()
        self._names = list(known.domain.countable)
        self._evidence: dict[str, ui.select] = {}
        self._turn = 0

    def show(self) -> None:
        """The picture, the questions and the answer."""
        with kit.panel("Description", self._known.promise):
            if self._known.network is not None:
                charts.show(picture_of(self._known))
                if self._known.weights:
                    strength_legend(self._known.weights)
                kit.note(
                    "An arrow means that the model of one attribute depends on the other. It does not mean a cause."
                )
            else:
                kit.text("This model is not a network: it was fitted to tables. It has a dependence for each pair.")
            self._pairs = ui.element("div")
            with self._pairs:
                kit.skeleton("Computing the dependence of each pair.")
            kit.soon(self._draw_pairs)
            with ui.element("ul"):
                for line in self._known.rests_on:
                    kit.text(line, tag="li")
        about = "Set the known attributes of a person to see the distribution of another attribute. It costs nothing."
        with kit.panel("What if?", about):
            with kit.row():
                self._target = kit.choice("Attribute in question", self._names, self._names[-1], change=self._ask)
            with kit.row():
                for name in self._names[:_MOST_EVIDENCE]:
                    levels = {_UNKNOWN: "unknown"} | {level: level for level in self._known.domain[name].all_labels}
                    self._evidence[name] = kit.choice(
                        name, levels, _UNKNOWN, change=lambda event, name=name: self._set(name, event.value)
                    )
            with ui.element("div").props("aria-live=polite"):
                self._answer = ui.element("div")
        ui.timer(0.05, self._ask, once=True)

    async def _draw_pairs(self) -> None:
        found = await run.io_bound(associations, self._known.model)
        if found is None:  # the server stops
            return
        names, bits = found
        self._pairs.clear()
        if len(names) < 2:
            return
        with self._pairs:
            kit.heading("Dependence of each pair", 3)
            charts.show(pair_heat(names, bits, title="Mutual information of pairs", unit="bits"))
            kit.note(
                "The stronger the colour of a pair, the more its attributes depend on each other. The mutual "
                "information is that of the model: 0 bits if two attributes are independent."
            )

    async def _set(self, name: str, level: str) -> None:
        self._given = {key: value for key, value in self._given.items() if key != name}
        if level != _UNKNOWN:
            self._given[name] = level
        await self._ask()

    async def _ask(self) -> None:
        self._turn += 1
        turn, target = self._turn, self._target.value
        given = {name: level for name, level in self._given.items() if name != target}
        for name, field in self._evidence.items():  # the target is not evidence
            field.set_visibility(name != target)
        found = await run.io_bound(what_if, self._known.model, target, given)
        sure = await run.io_bound(what_is_sure, self._known, target, given)
        if found is None or sure is None or turn != self._turn:
            return
        self._answer.clear()
        rows = list(zip(found.levels, found.before, found.after, strict=True))
        with self._answer:
            condition = ", ".join(f"{name} = {level}" for name, level in given.items())
            if given:
                kit.text(f"{target}: among all, and among people with {condition} ({share(found.share_given)} of all).")
            else:
                kit.text(f"{target}: among all. Set an attribute above to see the change.")
            charts.show(self._chart(target, rows, sure, bool(given)))
            self._show_intervals(sure)

    @staticmethod
    def _chart(target: str, rows: list[tuple[str, float, float]], sure: list[Intervals], given: bool) -> Chart:
        """The shares, with the intervals of the true ones where they are known."""
        sources: dict[str, list[Interval]] = {}
        for place, name in enumerate(("among all", "given the known attributes")[: 1 + given]):
            known = sure[place] if place < len(sure) else None
            sources[name] = [
                Interval(
                    label=row[0],
                    value=float(row[1 + place]),
                    low=None if known is None else float(known.low[at]),
                    high=None if known is None else float(known.high[at]),
                )
                for at, row in enumerate(rows)
            ]
        return twin_bars([row[0] for row in rows], sources, title=f"Shares of {target}", what=target, share=True)

    @staticmethod
    def _show_intervals(sure: list[Intervals]) -> None:
        """Explain the intervals of the true shares."""
        if not sure:
            kit.note("No intervals of the true shares are known: the model keeps no measured tables.")
            return
        kit.note("The lines are intervals of the true shares, 95 % sure.")
        for each, words_of in zip(sure, ("Among all", "Given the known attributes"), strict=False):
            kit.note(f"{words_of}. {each.claim()}")

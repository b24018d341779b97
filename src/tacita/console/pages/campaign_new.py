"""The form for a new campaign: attributes, tables, epsilon, and the expected error."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as changed
from typing import Any

from nicegui import run, ui

from tacita.collect.channels.matrix import MatrixChannel
from tacita.collect.channels.wiring import MAKERS, REGISTRY
from tacita.collect.device.device import USUAL_LIMITS
from tacita.console.look import kit, words
from tacita.console.look.charts import Place
from tacita.console.look.plots import lines
from tacita.console.page import Visit, page
from tacita.console.parts.collection import (
    EPSILONS,
    MOST_REHEARSED,
    RESPONDENTS,
    Along,
    Read,
    Row,
    closing_time,
    error_curve,
    mode_taken,
    not_asked,
    pairs_and_singles,
    read_by_respondents,
    rows_of,
    schema_of,
    tables_after,
    tables_of,
)
from tacita.console.parts.schema import schema_file
from tacita.errors import InvalidInput, TacitaError

__all__ = ["campaign_new"]

_WAIT = 0.4
"""Seconds from the last change to a new plan."""
_MINE, _PASTED = "", "(paste)"
_START = (
    Row(name="smokes", question="Do you smoke?", levels="never, sometimes, daily"),
    Row(name="region", question="Where do you live?", levels="north, centre, south"),
)
_MODES = {
    "tables": "Ask for each table directly",
    "auto": "Automatic: the mode with the smallest expected error",
    "singles": "Ask for single attributes only",
    "views": "Ask for fewer, larger tables",
}
_ANSWERS = {"one": "One question, with the whole epsilon", "view": "Several questions, each with a share of epsilon"}
_PHASES = {
    "one": "The same questions for all respondents",
    "two": "Two phases: the first reports show what is worth asking the others",
    "auto": "Automatic: two phases where the expected error is smaller",
}
_CHANNELS = {
    "auto": "The best way for each table (recommended)",
    "mixed": "Means of numbers, tables of all else",
} | {name: f"{wiring.title[:1].upper()}{wiring.title[1:]}" for name, wiring in MAKERS.items()}
_TITLES = {wiring.channel.__name__: wiring.title for wiring in REGISTRY.values()} | {
    MatrixChannel.__name__: "matrix of integers, for ordered levels"  # made in more than one way
}
"""Names of channels in words, by the name that a plan gives."""
_SHOWN = 3
"""Questions that are shown at once; the others on demand."""
_WIDTHS = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2)


@page("/campaigns/new", "New campaign", roles=("steward",), form=True)
async def campaign_new(visit: Visit) -> None:
    """Build a campaign: attributes, tables, terms, and the button that opens it."""
    datasets = await visit.api.get("/v1/datasets")
    builder = _Builder(visit=visit)
    with kit.columns("halves") as (main, side):
        with main:
            builder.show_attributes([each["name"] for each in datasets])
            builder.show_tables()
            builder.show_cost()
            builder.show_end()
        with side:
            builder.show_expected()
            builder.show_open()
    if (name := visit.query.get("dataset")) in [each["name"] for each in datasets]:
        builder.rows = rows_of(await visit.api.get(f"/v1/datasets/{name}/schema"))
    builder.rows = list(kit.draft().take("rows", tuple(builder.rows)))
    builder.redraw()
    ui.timer(0.05, builder.plan, once=True)  # the page is there before the planner has thought


@dataclass
class _Builder:
    """The form and its last plan."""

    visit: Visit
    rows: list[Row] = field(default_factory=lambda: list(_START))
    along: Along = "respondents"
    planned: dict[str, Any] | None = None
    body: dict[str, Any] = field(default_factory=dict)
    wanted: int = 0
    busy: asyncio.Lock = field(default_factory=asyncio.Lock)

    # -- what is asked ------------------------------------------------------------------------------------------------

    def show_attributes(self, datasets: list[str]) -> None:
        with kit.panel(
            "Attributes", "Each attribute is a question with a list of possible answers. All of it is public."
        ):
            options = {_MINE: "Your own questions"} | {name: f"The schema of {name}" for name in datasets}
            with kit.row():
                begin = kit.choice(
                    "Start with", options | {_PASTED: "A schema from a file or as text"}, _MINE, change=self._begin
                )
            self.pasting = ui.element("div").classes("row-of")
            with self.pasting:
                self.pasted = kit.lines("Schema, as YAML or JSON")
                kit.button("Use this schema", self._paste)
                schema_file(self.pasted.set_value)
            self.pasting.set_visibility(begin.value == _PASTED)
            self.attributes = ui.element("div")
            with kit.row():
                kit.button("Add an attribute", self._add)
                kit.button("Remove attributes that are in no table", self._only_asked)

    async def _begin(self, event: Any) -> None:
        self.pasting.set_visibility(event.value == _PASTED)
        if event.value == _PASTED:
            return
        schema = await self.visit.api.get(f"/v1/datasets/{event.value}/schema") if event.value else None
        self.rows = list(_START) if schema is None else rows_of(schema)
        self._keep_rows()
        self.redraw()
        await self.plan()

    async def _paste(self) -> None:
        self.rows = rows_of(self.pasted.value or "")
        self._keep_rows()
        self.redraw()
        await self.plan()

    async def _add(self) -> None:
        self.rows.append(Row())
        self._keep_rows()
        self._show_rows()
        await self.plan()

    async def _only_asked(self) -> None:
        names = [row.name.strip() for row in self.rows]
        left = not_asked(names, tables_of(self.tables.value or [], self.larger.value or "", names))
        self.rows = [row for row in self.rows if row.name.strip() not in left]
        self._keep_rows()
        self._show_rows()
        self._offer_tables()
        await self.plan()

    def redraw(self) -> None:
        """Show other rows of attributes, and the tables that they make possible."""
        self._show_rows()
        possible, picked = pairs_and_singles(self._names())
        kit.offer(self.tables, _shown(possible), picked)

    def _keep_rows(self) -> None:
        kit.draft().note("rows", tuple(self.rows))

    def _show_rows(self) -> None:
        self.attributes.clear()
        with self.attributes:
            for place, row in enumerate(self.rows):
                self._show_row(place, row)

    def _show_row(self, place: int, row: Row) -> None:
        number = place + 1

        async def edit(name: str, value: Any) -> None:
            edited: dict[str, Any] = {name: value or ""}
            before, names = self.rows[place].name.strip(), self._names()
            self.rows[place] = changed(self.rows[place], **edited)
            self._keep_rows()
            if name == "name":
                self._offer_tables(renamed={before: self.rows[place].name.strip()}, known=names)
            await self.change()

        async def remove() -> None:
            del self.rows[place]
            self._keep_rows()
            self._show_rows()
            self._offer_tables()
            await self.plan()

        with kit.row("attribute"):
            kit.field(f"Name {number}", row.name, change=lambda event: edit("name", event.value))
            kit.field(f"Question {number}", row.question, change=lambda event: edit("question", event.value))
            answers = kit.field(f"Answers {number}", row.levels, change=lambda event: edit("levels", event.value))
            if row.fixed:
                answers.props("readonly")
            taken = ui.button(on_click=remove, icon="close", color=None).props("flat round dense")
            kit.set_attributes(taken, **{"aria-label": f"Remove attribute {number}"})

    # -- which tables -------------------------------------------------------------------------------------------------

    def show_tables(self) -> None:
        with kit.panel(
            "Tables", "Combinations of attributes to be estimated. Respondents are divided among the tables."
        ):
            with kit.row():
                self.tables = kit.choice("Tables", {}, [], several=True, change=self.change)
                self.tables.classes("wide-field")
            with kit.row():
                hint = "Optional. Join names by +, and separate tables by commas"
                self.larger = kit.field("Larger tables", "", words=hint, change=self.change)

    def _names(self) -> list[str]:
        return list(dict.fromkeys(row.name.strip() for row in self.rows if row.name.strip()))

    def _offer_tables(self, *, renamed: Mapping[str, str] | None = None, known: Sequence[str] | None = None) -> None:
        """Keep what was picked, under new names too, and pick the tables of attributes that are new."""
        names = self._names()
        picked = tables_after(self.tables.value or [], names, renamed or {}, names if known is None else known)
        self.tables.set_options(_shown(pairs_and_singles(names)[0]), value=picked)

    # -- terms --------------------------------------------------------------------------------------------------------

    def show_cost(self) -> None:
        with kit.panel("Privacy and answers"):
            given = float(self.visit.query.get("epsilon", "") or 1.0) if _is_number(self.visit.query) else 1.0
            usual = [value for value in EPSILONS if value <= USUAL_LIMITS.question]  # devices refuse more
            label = "Epsilon of each respondent"
            self.epsilon = kit.slider(
                label, usual, min(given, usual[-1]), words=words.EPSILON_OF_ANSWERS, change=self.change
            )
            self.odds = kit.note("")
            self.respondents = kit.slider(
                "Expected respondents", RESPONDENTS, 2000, shown=lambda value: f"{int(value):,}", change=self.change
            )
            with kit.row():
                self.mode = kit.choice("Mode", _MODES, "tables", change=self.change)
            with kit.row():
                self.answers = kit.choice("Each respondent answers", _ANSWERS, "one", change=self.change)
            with kit.row():
                self.phases = kit.choice("Phases", _PHASES, "one", change=self.change)
            with kit.row():
                hint = "1: a single campaign. More: the same questions again and again, each wave opened by you"
                self.waves = kit.number("Waves", 1, low=1, high=1000, step=1, words=hint, change=self.change)
                hint = "Waves in which each respondent answers, chosen at random. Epsilon is divided among them"
                self.turns = kit.number("Turns", 1, low=1, high=1000, step=1, words=hint, change=self.change)
            with kit.row():
                self.channel = kit.choice("Channel", _CHANNELS, "auto", change=self.change)

    def show_end(self) -> None:
        with kit.panel("Publication and end"):
            with kit.row():
                hint = "A table is shown after this number of answers"
                self.minimum = kit.number("Minimum number of answers", 100, low=1, step=1, words=hint)
            self.invited = kit.checkbox("Invited respondents only: each has a one-time code and counts once", False)
            self.stops = kit.checkbox("Close automatically when all intervals are narrow enough", False)
            self.width = kit.slider("Largest half-width of an interval", _WIDTHS, 0.05, shown=lambda v: f"± {v:g}")
            with kit.row():
                self.closes = kit.field(
                    "Closes at (UTC)", "", words="Optional. Without a date, it stays open until you close it"
                )
                self.closes.props("type=datetime-local stack-label")

    # -- what to expect -----------------------------------------------------------------------------------------------

    def show_expected(self) -> None:
        with kit.panel("Expected error"):
            with ui.element("div").props("aria-live=polite"):
                self.expected = ui.element("div")
                with self.expected:
                    kit.skeleton("Planning.")
            with kit.row():
                options = {"respondents": "over the number of respondents", "epsilon": "over epsilon"}
                kit.choice("Curve", options, self.along, change=self._turn)
            self.curve = Place()
            self.curve.wait("Planning.")
        with kit.panel("Text for respondents"):
            self.lot = kit.note("")
            self.read = ui.element("div")

    async def _turn(self, event: Any) -> None:
        self.along = event.value
        await self._draw()

    async def change(self) -> None:
        """Plan again when nothing has changed for a moment."""
        self.wanted += 1
        mine = self.wanted
        await asyncio.sleep(_WAIT)
        if mine == self.wanted:
            await self.plan()

    async def plan(self) -> None:
        """Ask the planner about the form as it is."""
        self.wanted += 1
        mine = self.wanted
        async with self.busy:
            if mine != self.wanted:
                return
            try:
                body = self._collected()
                planned = await self.visit.api.post("/v1/campaigns/plan", body)
            except TacitaError as error:
                self.planned = None
                self._say(error)
                return
            self.body, self.planned = body, planned
            self._show_planned(planned)
            await self._draw()

    def _collected(self) -> dict[str, Any]:
        schema = schema_of(self.rows)
        names = [attribute["name"] for attribute in schema["attributes"]]
        tables = tables_of(self.tables.value or [], self.larger.value or "", names)
        if left := not_asked(names, tables):
            hint = "Select a table that contains it, or remove its row"
            raise InvalidInput("is in no table, so no respondent would be asked", field=", ".join(left), hint=hint)
        too_many = self.mode.value == "auto" and len(tables) > MOST_REHEARSED
        return {
            "schema": schema,
            "tables": tables,
            "epsilon": self.epsilon(),
            "respondents": int(self.respondents()),
            "mode": "tables" if too_many else self.mode.value,
            "answers": self.answers.value,
            "channel": self.channel.value,
            "phases": self.phases.value,
            "waves": _as_typed(self.waves.value),
            "turns": _as_typed(self.turns.value),
        }

    async def _rehearse(self) -> None:
        """Let the planner choose the mode by a rehearsal, and set it in the form."""
        body = self._collected() | {"mode": "auto"}
        self.mode.set_value(mode_taken(await self.visit.api.post("/v1/campaigns/plan", body), body["tables"]))

    def _say(self, error: TacitaError) -> None:
        self.expected.clear()
        with self.expected:
            kit.text(f"{error.field}: {error.rule}." if error.field else f"{error.rule}.", "problem")
            if hint := kit.hint_of(error):
                kit.note(hint)
        self.curve.clear()
        self.read.clear()

    def _show_planned(self, planned: dict[str, Any]) -> None:
        odds = words.factor(planned["epsilon_exact"])
        kit.reword(
            self.odds, f"An answer changes the odds of any guess about a respondent by a factor of {odds} at most."
        )
        if planned["waves"] > 1:
            kit.reword(
                self.odds,
                f"Each respondent answers in {planned['turns']} of {planned['waves']} waves. An answer changes the "
                f"odds of any guess about a respondent by a factor of {odds} at most. All answers of one "
                f"respondent together change them by a factor of {words.factor(planned['epsilon_series'])} at most "
                f"(epsilon {planned['epsilon_series']:.4g}).",
            )
        several = planned["answers"] > 1
        kit.reword(
            self.lot,
            f"Each respondent answers up to {planned['answers']} of these questions, drawn at random."
            if several
            else "Each respondent answers one of these questions, drawn at random.",
        )
        self.expected.clear()
        expected = {tuple(each["attributes"]): each for each in planned["questions"]}
        means = any(each["mean"] for each in planned["predictions"])
        with self.expected:
            if self.mode.value == "auto" and self.body["mode"] != "auto":
                kit.text("There are too many tables for an automatic rehearsal, so the plan asks for each table.")
                kit.button("Rehearse all modes (may take minutes)", self._rehearse)
            else:
                kit.text(f"{planned['why'].capitalize()}.")
            kit.table(
                ["table", "channel", ">expected answers", ">expected error"],
                [
                    [
                        ("mean of " if each["mean"] else "") + " x ".join(each["attributes"]),
                        _TITLES[expected[tuple(each["attributes"])]["channel"]],
                        f"{expected[tuple(each['attributes'])]['expected']:,}",
                        f"{each['published']:.3f}",
                    ]
                    for each in planned["predictions"]
                ],
                caption="Expected errors",
            )
            kit.note(
                "The error is the share of people who are counted in a wrong cell: 0 is the exact table, 1 is useless."
                + (" Of a mean it is the standard error, as a share of the range of the number." if means else "")
                + (
                    ""
                    if planned["rehearsed"] is None
                    else f" Error of all tables in a rehearsal: {planned['rehearsed']:.3f}."
                )
            )

    async def _draw(self) -> None:
        if self.planned is None:
            return
        body, mode = self.body, mode_taken(self.planned, self.body["tables"])
        found = await run.io_bound(error_curve, body, mode, self.along)
        if found:
            across = "respondents" if self.along == "respondents" else "epsilon of each respondent"
            at = float(body["respondents"] if self.along == "respondents" else body["epsilon"])
            drawn = lines(found, across=across, up="error", title="Expected error", logarithmic=True, at=at)
            self.curve.draw(drawn)
        texts = await run.io_bound(read_by_respondents, body, mode) or []
        self.read.clear()
        with self.read:
            for each in texts[:_SHOWN]:
                _show_read(each)
            if len(texts) > _SHOWN:
                with ui.element("details"):
                    kit.text(f"And {len(texts) - _SHOWN} more", tag="summary")
                    for each in texts[_SHOWN:]:
                        _show_read(each)

    # -- opening ------------------------------------------------------------------------------------------------------

    def show_open(self) -> None:
        with kit.panel("Open the campaign"):
            with kit.row():
                self.title = kit.field("Title", "", words="Shown to respondents")
            kit.note("Questions cannot be changed after the campaign is open. A draft accepts no answers.")
            with kit.row():
                kit.button("Open the campaign", self._open, main=True)
                kit.button("Save as a draft", self._keep)

    async def _open(self) -> None:
        body = self._whole()
        people, epsilon = body["respondents"], body["epsilon"]
        over = f" over all {body['waves']} waves together" if body["waves"] > 1 else ""
        warning = (
            f"About {people:,} people will be asked. Each respondent spends an epsilon of up to {epsilon:g}{over}, "
            "which cannot be undone. The questions cannot be changed. You can close the campaign at any time."
        )
        if await kit.confirm("Open this campaign?", warning, "Open it"):
            await self._create(body | {"draft": False})

    async def _keep(self) -> None:
        await self._create(self._whole() | {"draft": True})

    def _whole(self) -> dict[str, Any]:
        closes = closing_time(self.closes.value or "")
        stop = {"half_width": self.width(), "level": 0.95} if self.stops.value else None
        return self._collected() | {
            "title": (self.title.value or "").strip(),
            "minimum": int(self.minimum.value or 0),
            "closes": closes.isoformat() if closes else None,
            "stop": stop,
            "invited": bool(self.invited.value),
        }

    async def _create(self, body: dict[str, Any]) -> None:
        made = await self.visit.api.post("/v1/campaigns", body)
        kit.draft().forget()
        ui.navigate.to(f"/campaigns/{made['id']}")


def _shown(tables: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    return {table: " x ".join(table) for table in tables}


def _as_typed(value: float | None) -> float:
    """A whole number of the form, 1 where it is empty; the planner refuses any other."""
    typed = 1 if value is None else value
    return int(typed) if typed == int(typed) else typed


def _is_number(query: dict[str, str]) -> bool:
    try:
        return math.isfinite(float(query.get("epsilon", "")))
    except ValueError:
        return False


def _show_read(each: Read) -> None:
    with ui.element("div").classes("read"):
        for question, levels in each.asks:
            kit.text(question, tag="b")
            kit.note(" · ".join(levels))
        kit.text(each.said)
        kit.note(
            f"For {each.share:.0%} of the respondents. A report changes the odds between any two answers by a factor "
            f"of {each.odds:.3g} at most (epsilon {each.epsilon:.4g})."
        )

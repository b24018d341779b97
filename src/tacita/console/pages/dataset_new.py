"""The form that registers a dataset: source, public schema, unit and budget."""

from __future__ import annotations

import re
from typing import Any

from nicegui import events, ui
from nicegui.elements.mixins.value_element import ValueElement

from tacita.console.look import kit, words
from tacita.console.page import Visit, page
from tacita.console.parts.drafting import STEPS, Line, lines_of, schema_of
from tacita.console.parts.preview import show_preview
from tacita.console.parts.schema import KIND_WORDS, ROLE_WORDS, schema_file
from tacita.domain import Domain
from tacita.errors import InvalidInput, TacitaError
from tacita.wire.sources import MEDIA

__all__ = ["dataset_new"]

_MEDIA = {kind: media for media, kind in MEDIA.items()} | {"feather": "application/vnd.apache.arrow.file"}
_ENDINGS = ",".join(f".{ending}" for ending in _MEDIA)
_CURRENCIES = {"pure": "ε (pure)", "approx": "ε at a δ", "zcdp": "ρ (zCDP)"}
_NEIGHBOURS = {"add-remove": "one added or removed", "replace-one": "one replaced"}


@page("/datasets/new", "Add a dataset", roles=("steward",), form=True)
async def dataset_new(visit: Visit) -> None:
    """Show the three steps: source, public schema, unit and budget."""
    await _Bringing(visit).show()


class _Bringing:
    """The state of the page while it is open."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self._lines: list[Line] = []
        self._nulls: list[str] = []
        self._csv: dict[str, Any] = {}
        self._proposed = ""
        self._kinds: dict[str, str] = {}
        self._source = ""

    async def show(self) -> None:
        """Show the first step; the others follow once a source is chosen."""
        about = "The file stays on this server and cannot be downloaded."
        with kit.panel("1. Source", about), kit.row():
            self._files = kit.choice("Source", list(await self._free()), change=self._chosen)
            kit.upload("Upload a file", self._brought, accept=_ENDINGS)
        self._reading = ui.element("div")
        self._schema = ui.element("div")
        self._terms = ui.element("div")
        if self._files.value:  # the page was loaded again
            await self._chosen()

    async def _free(self) -> dict[str, str]:
        """Sources without a dataset, and their kinds."""
        found = await self._visit.api.get("/v1/sources")
        self._kinds = {source["name"]: source["kind"] for source in found if not source["dataset"]}
        return self._kinds

    async def _brought(self, event: events.UploadEventArguments) -> None:
        stem, _, ending = event.file.name.rpartition(".")
        if ending.lower() not in _MEDIA:
            raise InvalidInput(f"must end in {_ENDINGS}", field="file", value=event.file.name)
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._")[:60] or "data"
        if name in self._files.options and not await kit.confirm(
            "Replace the file?", f"The server already has a file {name} without a dataset.", "Replace"
        ):
            return
        await self._visit.api.send_file(f"/v1/sources/{name}", event.file.iterate(), _MEDIA[ending.lower()])
        self._files.set_options(list(await self._free()), value=name)

    async def _chosen(self) -> None:
        self._source = self._files.value
        self._reading.clear()
        self._schema.clear()
        self._terms.clear()
        if not self._source:
            return
        known = kit.draft().take("schema", None)
        if known is not None and known[0] == self._source:
            self._take(known[1])
            return
        if self._kinds[self._source] == "database":  # its schema is written by hand
            self._take({"attributes": [], "nulls": [""]})
            return
        try:
            draft = await self._visit.api.post(f"/v1/sources/{self._source}/draft", {})
        except TacitaError:
            self._files.set_value(None)
            raise
        self._show_reading(draft)
        self._take(draft["domain"])

    def _show_reading(self, draft: dict[str, Any]) -> None:
        """Show how the file was read: its first rows, masked, and what was found about it."""
        names, *rows = draft["preview"] or [[]]
        self._reading.clear()
        with self._reading, kit.panel("Reading of the file", "Letters are shown as x, digits as 9."):
            kit.table(names, rows, caption="First rows")
            for note in draft["notes"]:
                kit.note(note)

    def _take(self, schema: dict[str, Any]) -> None:
        kit.draft().note("schema", (self._source, schema))
        self._lines, self._nulls, self._csv = lines_of(schema), schema.get("nulls", []), schema.get("csv", {})
        self._proposed = schema.get("person") or ""
        self._show_schema()
        self._show_terms()

    # -- the schema --------------------------------------------------------------------------------------------------

    def _show_schema(self) -> None:
        self._schema.clear()
        with (
            self._schema,
            kit.panel(
                "2. Public schema",
                "This draft was computed from the data, so it is private until you confirm it. Check each attribute: "
                "may its levels and bounds be published? Correct them, or exclude the attribute.",
            ),
        ):
            for line in self._lines:
                self._show_line(line)
            with kit.row():
                kit.button("All of this is public", self._all_public)
                with ui.expansion("From a file or as YAML").props("dense").classes("field"):
                    text = kit.lines("Schema as YAML")
                    schema_file(text.set_value)
                    kit.button("Use this schema", lambda: self._take(Domain.from_text(text.value).as_dict()))

    def _show_line(self, line: Line) -> None:
        with ui.element("fieldset").classes("panel line"):
            kit.text(line.name, tag="legend")
            with kit.row():
                kind = kit.choice(f"{line.name}: kind", KIND_WORDS, line.kind)
                line.kind = kind.value
                kind.on_value_change(lambda event: self._kind(line, event.value))
                fields = self._values(line)
                role = kit.choice(f"{line.name}: role", ROLE_WORDS, line.role)
                role.bind_value_to(line, "role")
            with kit.row():
                for label, part in (
                    ("has a cell for other values", "other"),
                    ("may be missing", "missing"),
                    ("this is public", "public"),
                ):
                    box = kit.checkbox(label, getattr(line, part), key=f"{line.name}: {part}")
                    box.bind_value_to(line, part)
                    if part != "public":
                        fields.append(box)
                left_out = kit.checkbox("exclude", not line.kept, key=f"{line.name}: left out")
                left_out.bind_value_to(line, "kept", lambda value: not value)
            again = show_preview(line)
            for each in (*fields, role):
                each.on_value_change(again)

    def _values(self, line: Line) -> list[ValueElement[Any]]:
        """Show the fields of its values; return them."""
        if line.kind in ("categorical", "ordinal"):
            levels = kit.lines(f"{line.name}: levels, one per line", line.levels)
            return [levels.bind_value_to(line, "levels")]
        if line.kind not in ("numeric", "date"):
            return []
        ends: list[ValueElement[Any]] = []
        for label, part in (("lowest", "low"), ("highest", "high")):
            end = kit.field(f"{line.name}: {label}", getattr(line, part)).classes("short")
            ends.append(end.bind_value_to(line, part))
        return [*ends, self._bins(line)]

    def _bins(self, line: Line) -> ValueElement[Any]:
        if line.kind == "date":
            given = line.bins if line.bins in STEPS else None
            return kit.choice(f"{line.name}: by", STEPS, given).classes("short").bind_value_to(line, "bins")
        hint = {"edges": "Empty: the edges of the schema", "whole": "Empty: one for each whole number"}
        empty = hint.get(line.without_bins, "")
        return kit.field(f"{line.name}: bins", line.bins, words=empty).classes("short").bind_value_to(line, "bins")

    def _kind(self, line: Line, kind: str) -> None:
        line.kind = kind
        self._show_schema()

    def _all_public(self) -> None:
        for line in self._lines:
            line.public = True
        self._show_schema()

    # -- the terms ---------------------------------------------------------------------------------------------------

    def _show_terms(self) -> None:
        self._terms.clear()
        names = [line.name for line in self._lines]
        with (
            self._terms,
            kit.panel("3. Unit and budget", "The budget limits all releases together, and can never be lowered."),
        ):
            with kit.row():
                self._name = kit.field("Name of the dataset", self._source)
                self._title = kit.field("Title")
            with kit.row():
                whose = {"": "one row is one person", **{name: f"rows of one person share {name}" for name in names}}
                self._person = kit.choice("Unit of protection", whose, self._proposed)
                hint = "Further rows of a person are not counted. 1 if each person has one row"
                self._most = kit.number("Largest number of rows per person", 1, low=1, step=1, words=hint)
                self._against = kit.choice("Neighbours", _NEIGHBOURS, "add-remove")
            with kit.row():
                self._currency = kit.choice("Kind of budget", _CURRENCIES, "pure")
                self._amount = kit.number("Budget", 1.0, low=0.001, words=words.EPSILON)
                self._delta = kit.number("δ (for ε at a δ)", 1e-6, low=0)
            kit.button("Register the dataset", self._register, main=True)

    async def _register(self) -> None:
        person = self._person.value
        schema = schema_of(self._title.value, self._lines, self._nulls, person=person)
        schema |= {"csv": self._csv} if self._csv else {}
        Domain.from_dict(schema).require_public()  # refused here, before data is read
        body = {
            "name": self._name.value,
            "source": self._source,
            "schema": schema,
            "unit": f"person:{person}:{int(self._most.value)}" if person else "row",
            "neighbours": self._against.value,
            "budget": self._budget(),
        }
        made = await self._visit.api.post("/v1/datasets", body)
        kit.draft().forget()
        ui.navigate.to(f"/datasets/{made['name']}")

    def _budget(self) -> dict[str, float]:
        total = float(self._amount.value or 0)
        if self._currency.value == "zcdp":
            return {"rho": total}
        extra = {"delta": float(self._delta.value)} if self._currency.value == "approx" else {}
        return {"epsilon": total} | extra

"""A campaign while it runs: its address, the rate of reports, tables that converge, and findings."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from nicegui import ui

from tacita.console.look import charts, kit, words
from tacita.console.look.charts import Chart, Shown
from tacita.console.look.plots import lines
from tacita.console.page import Visit, page
from tacita.console.parts.convergence import BARS, MOST_BARS, Watch, half_width, pictures_of, stop_advice
from tacita.console.parts.findings import show_findings
from tacita.console.parts.waves import show_changes, show_series
from tacita.errors import InvalidInput, TacitaError
from tacita.tables.release import Releases

__all__ = ["campaign"]

_SECONDS = 2.0
_WHO = {
    "draft": "The campaign accepts no answers yet: open it first.",
    "open": "Anyone with this address may answer, without signing in.",
    "closed": "The campaign is closed and accepts no answers.",
}
_OPEN = (
    "Open participation: one sender may send any number of reports, so the influence of one sender is not bounded. "
    "If someone may want to falsify the tables, invite respondents instead."
)
_INVITED = "Invited respondents only: each person counts once, by a code that cannot be linked to the report."
Key = tuple[str, ...]


@page("/campaigns/{id}", "Campaign", roles=("steward", "analyst", "reader"))
async def campaign(visit: Visit, id: str) -> None:
    """State, tables, advice and findings of one campaign; refreshed every two seconds while the page is open."""
    found = await visit.api.get(f"/v1/campaigns/{id}")
    kit.title(found["title"])
    live = _Live(visit=visit, id=id, campaign=found)
    with kit.columns() as (main, side):
        live.show(main, side)
        await live.look()
        with main:
            if found["series"] is not None and found["series"]["wave"] > 1:
                show_changes(visit, found)
            show_findings(visit, id, found["questions"])
    ui.timer(_SECONDS, live.look_again, immediate=False)


@dataclass
class _Live:
    visit: Visit
    id: str
    campaign: dict[str, Any]
    watch: Watch = field(default_factory=Watch)
    releases: Releases | None = None
    drawn: tuple[Any, ...] = ()
    drawn_key: Key = ()
    charts: dict[str, Shown] = field(default_factory=dict)
    known: str = ""

    @property
    def tables(self) -> list[Key]:
        """All tables that are asked for, in the order of the questions."""
        return list(dict.fromkeys(tuple(each["attributes"]) for each in self.campaign["questions"]))

    # -- the page -----------------------------------------------------------------------------------------------------

    def show(self, main: ui.element, side: ui.element) -> None:
        """Lay the page out; `look` fills it."""
        with main:
            with kit.panel("Status"):
                with kit.row():
                    self.state = kit.state(self.campaign["state"])
                    self.reason = kit.text("", "soft", tag="span")
                alone = self.campaign["series"] is None
                promise = "Epsilon of each respondent, at most" if alone else "Epsilon in this wave, at most"
                with ui.element("div").classes("figures"):
                    self.received = self._figure("Reports", "0")
                    self.pace = self._figure("Reports per second", "0")
                    self._figure(promise, f"{self.campaign['epsilon']:.4g}")
                self.series_room = ui.element("div")
            with kit.panel("Tables"):
                with kit.row():
                    options = {key: " x ".join(key) for key in self.tables}
                    self.table = kit.choice("Table", options, self.tables[0], change=self._draw)
                    self.way = kit.choice("Show it as", [BARS], BARS, change=self._draw)
                self.tables_room = ui.element("div")
            self.means_room = ui.element("div")
        with side:
            with kit.panel("Are there enough reports?"), ui.element("div").props("aria-live=polite"):
                self.advice = kit.text("")
            self._show_link()
        with kit.actions() as self.buttons:
            pass
        self._show_buttons()

    @staticmethod
    def _figure(name: str, value: str) -> ui.html:
        with ui.element("div"):
            kit.note(name)
            return kit.text(value, "big")

    def _show_link(self) -> None:
        with kit.panel("For respondents"):
            self.who = kit.note("")
            base = ui.context.client.request.base_url
            address = f"{base.scheme}://{base.netloc}/{self.id}"

            async def copy() -> None:
                ui.clipboard.write(address)
                ui.notify("Copied")

            with kit.row():
                kit.text(address, tag="code")
                kit.button("Copy the address", copy)
                kit.link("Open it", address, new=True)
            invited = self.campaign["participation"] == "invited"
            kit.note(_INVITED if invited else _OPEN)
            kit.note("Fingerprint of the campaign. Publish it: respondents can compare it with the one on their page.")
            kit.text(self.campaign["fingerprint"], tag="code")
            if invited and self.visit.may("steward"):
                self._show_invitations(address)

    def _show_invitations(self, address: str) -> None:
        with kit.row():
            count = kit.number("Number of invitations", 100, low=1, high=100_000, step=1)

            async def make() -> None:
                path = f"/v1/campaigns/{self.id}/invitations"
                made = await self.visit.api.post(path, {"count": int(count.value or 0)})
                lines = "".join(f"{address}#{code}\n" for code in made["codes"])
                ui.download(lines.encode(), "invitations.txt")

            kit.button("Create invitations", make)
        kit.note("The file has one address for each person. The server stores no copy of the codes.")

    def _show_buttons(self) -> None:
        self.buttons.clear()
        with self.buttons:
            if self.visit.may("steward") and self.campaign["state"] == "open":
                kit.button("Close the campaign", self._close, danger=True)
            if self.visit.may("steward") and self.campaign["state"] == "draft":
                kit.button("Open the campaign", self._open, main=True)

    async def _close(self) -> None:
        warning = "No more reports are accepted. A closed campaign cannot be opened again. Its tables remain."
        if await kit.confirm("Close this campaign?", warning, "Close it"):
            self.campaign = await self.visit.api.post(f"/v1/campaigns/{self.id}/close")
            await self.look()

    async def _open(self) -> None:
        series = self.campaign["series"]
        cost, over = self.campaign["epsilon"], ""
        if series is not None:
            cost, over = series["epsilon"], f" over all {series['waves']} waves together"
        warning = f"Each respondent spends an epsilon of up to {cost:.4g}{over}. This cannot be undone."
        if await kit.confirm("Open this campaign?", warning, "Open it"):
            self.campaign = await self.visit.api.post(f"/v1/campaigns/{self.id}/open")
            await self.look()

    # -- what changes -------------------------------------------------------------------------------------------------

    async def look_again(self) -> None:
        """Refresh the page while it is open; show an error once, and try again."""
        if not ui.context.client.has_socket_connection or self.campaign["state"] == "closed":
            return
        try:
            self.campaign = await self.visit.api.get(f"/v1/campaigns/{self.id}")
            await self.look()
        except TacitaError as error:
            kit.reword(
                self.advice, f"The page is out of date: {type(error).title.lower()}. It is refreshed automatically."
            )

    async def look(self) -> None:
        """Show the campaign as last fetched, and draw the tables that have changed."""
        now = self.campaign
        news = self.watch.look(time.monotonic(), now["received"])
        if news and now["state"] != "draft":
            await self._fetch(now)
        if now["series"] is not None and self.known != now["state"]:
            self.known = now["state"]
            await show_series(self.visit, now, self.series_room)
        kit.reword(self.received, f"{now['received']:,}")
        kit.reword(self.pace, "0" if now["state"] == "closed" else f"{self.watch.pace():,.3g}")
        kit.reword(self.reason, now["reason"])
        if self.drawn != (now["state"], now["received"]):
            self.drawn = (now["state"], now["received"])
            kit.reword(self.state, now["state"])
            self.state.classes(replace=f"state state-{now['state']}")
            advice = stop_advice(self.releases, now["terms"], now["respondents"], self.tables, now["state"])
            kit.reword(self.advice, advice)
            kit.reword(self.who, _WHO[now["state"]])
            self._show_buttons()
            self._draw()

    @staticmethod
    def _answered(now: dict[str, Any]) -> dict[Key, int]:
        """Count the reports of each table, over all of its questions."""
        answered: dict[Key, int] = {}
        for each in now["questions"]:
            key = tuple(each["attributes"])
            answered[key] = answered.get(key, 0) + each["received"]
        return answered

    async def _fetch(self, now: dict[str, Any]) -> None:
        if max(self._answered(now).values()) < now["terms"]["minimum"]:
            return
        with suppress(InvalidInput):  # only means were asked for
            text = await self.visit.api.text(f"/v1/campaigns/{self.id}/releases", published="pooled")
            self.releases = Releases.from_json(text)
            self.watch.note(now["received"], self.releases)
        with suppress(InvalidInput):  # no number was asked by itself
            self._draw_means(await self.visit.api.get(f"/v1/campaigns/{self.id}/means"))

    def _draw_means(self, means: list[dict[str, Any]]) -> None:
        self.means_room.clear()
        if not means:
            return
        rows = [
            [
                each["attribute"],
                words.amount(each["mean"]),
                f"{words.amount(each['low'])} to {words.amount(each['high'])}",
                f"{each['respondents']:,}",
            ]
            for each in means
        ]
        with (
            self.means_room,
            kit.panel("Means", "Computed from the midpoints of the bins, with 95 % confidence intervals."),
        ):
            kit.table(["number", "mean", "interval", "respondents"], rows, caption="Means")

    def _draw(self) -> None:
        key = tuple(self.table.value)
        release = self.releases.get(key) if self.releases else None
        if release is None:
            self.charts.clear()
            self.tables_room.clear()
            minimum = self.campaign["terms"]["minimum"]
            asked = self._answered(self.campaign).get(key, 0) >= minimum
            with self.tables_room:
                if asked:
                    kit.empty("Respondents were asked for the mean only. It is shown below.")
                else:
                    kit.empty(f"This table is shown after {minimum:,} answers. Send the address to respondents.")
            return
        ways = pictures_of(key, release)
        self._offer_ways(list(ways))
        table, width = ways.get(self.way.value, ways[BARS])(), self._convergence(key)
        if "table" in self.charts and self.drawn_key == key:
            self.charts["table"].update(table)
            self.charts["width"].update(width)
        else:
            self.tables_room.clear()
            with self.tables_room:
                self.charts["table"] = charts.show(table)
                self.summary = kit.note("")
                kit.heading("Convergence", 3)
                self.charts["width"] = charts.show(width)
            self.drawn_key = key
        recipe = release.provenance.recipe
        more = f" First {MOST_BARS} of {release.values.size:,} cells." * (release.values.size > MOST_BARS)
        kit.reword(
            self.summary,
            f"Lines are 95 % confidence intervals; the widest is ± {half_width(release):.3g}. "
            f"{recipe['respondents']:,} people have answered for this table. The estimate uses all "
            f"{recipe['reports']:,} reports that hold some of its attributes.{more}",
        )

    def _offer_ways(self, ways: list[str]) -> None:
        if self.way.options != ways:
            self.way.set_options(ways, value=self.way.value if self.way.value in ways else BARS)
        self.way.set_visibility(len(ways) > 1)

    def _convergence(self, key: Key) -> Chart:
        stop = self.campaign["terms"]["stop"]
        return lines(
            self.watch.curves(key),
            across="reports of the campaign",
            up="largest half-width",
            title="Largest half-width over reports",
            logarithmic=True,
            level=("stop rule", stop["half_width"]) if stop else None,
            at=float(self.campaign["received"]),
        )

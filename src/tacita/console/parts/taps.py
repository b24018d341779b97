"""Synthetic tap records in the console: their form, and the map of their flows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacita.console.look import kit, words
from tacita.console.look.charts import Chart
from tacita.console.look.maps import flows
from tacita.console.look.plots import lines
from tacita.console.parts.asking import ExpectedRelease, ReleaseForm
from tacita.figures.charts import Curve
from tacita.synthesize.mobility.places import Places
from tacita.synthesize.mobility.request import METHODS

__all__ = ["MobilityForm", "hours_curve", "map_of_flows"]

_MUCH_NOISE = 0.5


@dataclass
class MobilityForm(ReleaseForm):
    """Synthetic tap records."""

    name = "Synthetic tap records"
    about = (
        "Synthetic cards of public transport with all their trips. Differentially private for a card. "
        "The unit of the account must be a person with a largest number of trips, such as person:card:20."
    )

    def fields(self) -> None:
        """Budget, method, number of cards, and public places."""
        with kit.row():
            self.spend_field()
            self.method = kit.choice("Method", METHODS, self.query.get("method", "tours"), change=self.change)
            self.people = kit.number("Approximate number of cards (if public)", None, low=1, step=1, change=self.change)
        self.places = kit.lines(
            "Public places (CSV)",
            words="Header: id, and any of name, zone, x, y, lon, lat, mode. Zones or coordinates reduce the error.",
            change=self.change,
        )

    def body(self) -> dict[str, Any]:
        """The request."""
        given, people = (self.places.value or "").strip(), self.people.value
        return {
            "dataset": self.dataset,
            "budget": self.budget(),
            "method": self.method.value,
            "people": int(people) if people else None,
            "places": Places.from_text(given).as_dict() if given else None,
            "purpose": "tap records",
        }

    async def expect(self) -> ExpectedRelease:
        """Plan it: the noise of each table that is measured."""
        plan = await self.api.post("/v1/releases/mobility/plan", self.body())
        cost, charged, affordable = self.paid(plan)
        facts = {each["table"]: _noise(each) for each in plan["predictions"]}
        note = "State the number of cards to see which share of each table may be noise."
        if self.people.value:
            note = "The share of noise is an upper bound, before small counts are shrunk."
        return ExpectedRelease(cost=cost, charged=charged, affordable=affordable, facts=facts, note=note)

    async def make(self, key: str) -> dict[str, Any]:
        """Begin the job."""
        job: dict[str, Any] = await self.api.post("/v1/releases/mobility", self.body(), key=key)
        return job


def _noise(table: Mapping[str, Any]) -> str:
    found = f"{table['cells']:,} cells, standard error {words.amount(table['std'])}"
    share = table.get("total_variation")
    if share is None:
        return found
    much = " (much noise: spend more, or use coarser zones)" if share > _MUCH_NOISE else ""
    return f"{found}, at most {words.percent(share)} noise{much}"


def map_of_flows(found: Mapping[str, Any]) -> Chart:
    """Draw the heaviest flows of released tap records."""
    places = found["places"]
    placed = all(each["x"] is not None for each in places)
    return flows(
        [each["name"] for each in places],
        [(each["origin"], each["destination"], float(each["trips"])) for each in found["flows"]],
        points=[(each["x"], each["y"]) for each in places] if placed else None,
        title="Flows between places",
    )


def hours_curve(found: Mapping[str, Any]) -> Chart:
    """Draw the trips that begin in each hour of the day."""
    hours = [*found["hours"], found["hours"][0]]  # a day ends where it begins
    line = Curve(label="trips", x=list(range(len(hours))), y=[float(each) for each in hours])
    return lines([line], across="hour of day", up="trips", title="Trips by hour of day")

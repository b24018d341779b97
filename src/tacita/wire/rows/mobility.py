"""Requests and answers about synthetic tap records."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from tacita.wire.base import RequestModel, ResponseModel
from tacita.wire.releases import PaidPlan, PaidRequest

__all__ = ["MobilityInfo", "MobilityPlanInfo", "MobilityRequest", "PlacesModel"]

_MOST_PLACES = 100_000


class PlacesModel(RequestModel):
    """Public facts about places: lists of equal length, in the same order."""

    ids: list[str] = Field(min_length=1, max_length=_MOST_PLACES, description="As tap records write them.")
    names: list[str] | None = Field(default=None, max_length=_MOST_PLACES, description="Names for people.")
    zones: list[str] | None = Field(default=None, max_length=_MOST_PLACES, description="District of each place.")
    x: list[float] | None = Field(default=None, max_length=_MOST_PLACES, description="Kilometres to the east.")
    y: list[float] | None = Field(default=None, max_length=_MOST_PLACES, description="Kilometres to the north.")
    modes: list[str] | None = Field(
        default=None, max_length=_MOST_PLACES, description="The only mode of trips that begin there."
    )


class MobilityRequest(PaidRequest):
    """Synthetic tap records; the unit of the account is a card with at most so many trips."""

    method: Literal["tours", "od"] = Field(
        default="tours", description="tours: homes, main places, days as chains of trips. od: one noisy table of pairs."
    )
    cards: int | None = Field(
        default=None, ge=0, le=1_000_000, description="Synthetic cards; about as many as the data has if not given."
    )
    people: int | None = Field(default=None, ge=1, description="Approximate number of cards, if that is public.")
    places: PlacesModel | None = Field(default=None, description="Public places; only the levels if not given.")
    columns: dict[str, str | None] = Field(
        default={}, max_length=20, description="Columns with other names, by role; null for one that is not there."
    )


class MobilityPlanInfo(PaidPlan):
    """Cost of synthetic tap records, and the tables that are measured with their noise."""

    recipe: dict[str, Any]
    unit: str
    predictions: list[dict[str, Any]]


class MobilityInfo(ResponseModel):
    """Facts about synthetic tap records: guarantee, cost, and the flows and hours of the records themselves."""

    class Place(ResponseModel):
        """One place of the map."""

        name: str
        x: float | None
        y: float | None

    class Flow(ResponseModel):
        """Synthetic trips from one place to another, by index of the places."""

        origin: int
        destination: int
        trips: int

    tacita: Literal["mobility/1"]
    guarantee: str
    statement: str
    event: dict[str, Any]
    unit: dict[str, Any]
    neighbours: str
    people: float = Field(description="Approximate number of cards of the data: an estimate with noise.")
    people_std: float
    notes: list[str]
    cards: int
    rows: int
    columns: list[str]
    places: list[Place] = Field(description="Places of the flows.")
    flows: list[Flow] = Field(description="The heaviest flows.")
    hours: list[int] = Field(description="Trips that begin in each hour of the day.")
    provenance: dict[str, Any]

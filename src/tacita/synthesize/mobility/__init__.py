"""Mobility: tap records of public transport, their communities, and synthetic ones with or without a guarantee."""

from typing import Any

from tacita.common.lazy import load_name

_HOMES = {
    "GraphWalk": "walk",
    "MobilityOptions": "request",
    "PlainOd": "od",
    "Places": "places",
    "SyntheticMobility": "result",
    "TapSchema": "schema",
    "TopicModel": "topic_models.topics",
    "Topics": "topic_models.topics",
    "Tours": "tours",
    "Trips": "reading",
    "Visits": "reading",
    "load_taps": "loading",
    "read_trips": "reading",
    "tap_domain": "schema",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    return load_name(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted(_HOMES)

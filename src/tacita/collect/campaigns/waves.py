"""Waves of a series: each is a campaign, with the id of the series (the first) or that id, a dot and its number."""

from __future__ import annotations

from tacita.collect.campaigns.terms import Terms
from tacita.collect.device.series import Series
from tacita.collect.planning.design import CollectionDesign
from tacita.errors import Conflict, InvalidInput

__all__ = ["check_series", "check_wave", "ids_of_waves", "series_of"]

_LONGEST = 64
"""Characters of an id on the wire."""


def ids_of_waves(series: str, waves: int) -> list[str]:
    """Return the ids of the campaigns of a series, in order.

    >>> ids_of_waves("health", 3)
    ['health', 'health.2', 'health.3']
    """
    return [series, *(f"{series}.{wave}" for wave in range(2, waves + 1))]


def series_of(design: CollectionDesign, id: str, wave: int) -> Series | None:
    """Return the series as devices are sent it, or None where a campaign stands alone."""
    if design.waves == 1:
        return None
    epsilon = design.epsilon_series
    return Series(id=id, wave=wave, waves=design.waves, turns=design.turns, epsilon=epsilon)


def check_series(design: CollectionDesign, terms: Terms, id: str) -> None:
    """Refuse a series whose waves could not all ask the same, or could not be counted apart."""
    if design.waves == 1:
        return
    if terms.rounds is not None:
        hint = "Leave the blocks out, or plan one campaign"
        raise InvalidInput("change the channels, and all waves ask the same", field="rounds", hint=hint)
    if terms.shard is not None:
        raise InvalidInput("must be left out in a series: one aggregator opens its waves", field="shard")
    last = ids_of_waves(id, design.waves)[-1]
    if len(last) > _LONGEST:
        most = _LONGEST - len(last) + len(id)
        raise InvalidInput(f"must have at most {most} characters in a series of so many waves", field="id", value=id)


def check_wave(series: Series | None, id: str, state: str) -> Series:
    """Return the series of the wave that was last; refuse where no further wave can follow it."""
    if series is None:
        hint = "Create a campaign with several waves"
        raise Conflict("stands alone: it is no wave of a series", field="campaign", value=id, hint=hint)
    if state == "draft":
        raise Conflict("is not open yet, so the next wave cannot begin", field="campaign", value=id, hint="Open it")
    if series.wave == series.waves:
        hint = "Begin another series; respondents spend a new budget in it"
        raise Conflict(f"is the last of {series.waves} waves", field="campaign", value=id, hint=hint)
    return series

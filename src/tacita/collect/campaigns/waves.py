"""Waves of a series: each is a campaign, with the id of the series (the first) or that id, a dot and its number."""

from __future__ import annotations

import datetime as dt
import re

from tacita import check
from tacita.collect.campaigns.campaign import Campaign
from tacita.collect.campaigns.terms import Terms
from tacita.collect.device.series import Series
from tacita.collect.planning.design import CollectionDesign
from tacita.errors import Conflict, InvalidInput

__all__ = ["check_next", "check_series", "check_wave", "ids_of_waves", "name_of_wave", "series_of"]

_LONGEST = 64
"""Characters of an id on the wire."""
_LATER = re.compile(r"(.+)\.([1-9][0-9]{0,3})")


def ids_of_waves(series: str, waves: int) -> list[str]:
    """Return the ids of the campaigns of a series, in order.

    >>> ids_of_waves("health", 3)
    ['health', 'health.2', 'health.3']
    """
    return [series, *(f"{series}.{wave}" for wave in range(2, waves + 1))]


def name_of_wave(id: str) -> tuple[str, int] | None:
    """Return the series and the number of the later wave that an id would be of, if it is of that form.

    >>> name_of_wave("health.2"), name_of_wave("health")
    (('health', 2), None)
    """
    found = _LATER.fullmatch(id)
    return None if found is None or found[2] == "1" else (found[1], int(found[2]))


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


def check_wave(series: Series | None, id: str, wave: int) -> Series:
    """Return the series of a campaign; refuse where it has no such wave to open."""
    if series is None:
        hint = "Create a campaign with several waves"
        raise Conflict("stands alone: it is no wave of a series", field="campaign", value=id, hint=hint)
    check.whole(wave, "wave", least=2)
    if wave > series.waves:
        hint = "Begin another series; respondents spend a new budget in it"
        raise Conflict(f"is beyond the last of {series.waves} waves", field="wave", value=wave, hint=hint)
    return series


def check_next(last: Campaign, series: str, wave: int, closes: dt.datetime | None) -> bool:
    """Whether a wave is to be opened after the last one, or is that one; refuse where it is neither."""
    held = last.form.series
    if held is None or held.id != series:
        raise Conflict("has the name of a wave of this series, and is none", field="campaign", value=last.id)
    if wave == held.wave and last.state == "open":
        if closes != last.terms.closes:
            rule = "is open already, and its end cannot be changed"
            raise Conflict(rule, field="wave", value=wave, hint="Close it yourself when it is time")
        return False
    if wave <= held.wave:
        hint = None if held.wave == held.waves else f"The next is wave {held.wave + 1}"
        raise Conflict("is closed and cannot be opened again", field="wave", value=wave, hint=hint)
    if last.state == "draft":
        rule = "is not open yet, so the next wave cannot begin"
        raise Conflict(rule, field="campaign", value=last.id, hint="Open it")
    if wave > held.wave + 1:
        raise Conflict("is not the next one", field="wave", value=wave, hint=f"The next is wave {held.wave + 1}")
    return True

"""A campaign while it runs: how fast reports come, how narrow its tables have become, and how many more it takes.

    Watch          keeps what was seen since a page was opened
    pictures_of    the ways to draw a table
    stop_advice    the stopping rule's advice in words

Privacy: post-processing of tables that were released; nothing is spent by looking.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from tacita.collect.planning.stopping import StopRule
from tacita.console.look.charts import Chart
from tacita.console.look.maps import crosstab, tiles
from tacita.console.look.plots import interval_bars
from tacita.figures.charts import Curve, Interval
from tacita.tables.release import Release, Releases

__all__ = ["BARS", "MOST_BARS", "Watch", "bars", "half_width", "pictures_of", "stop_advice"]

Key = tuple[str, ...]

_RECENT = 5
"""Number of last observations that the rate is computed from."""
_MOST_SEEN = 2000
_AHEAD = 4
MOST_BARS = 40
BARS = "Bars with intervals"


def half_width(release: Release, level: float = 0.95) -> float:
    """Half the width of the widest interval of a table."""
    low, high = release.interval(level)
    return float(np.max((high - low) / 2))


@dataclass(kw_only=True)
class Watch:
    """Observations of one campaign.

    Attributes:
        seen: (seconds, reports) at each look.
        widths: Of each table, (reports, widest half-width) when it had changed.
    """

    seen: list[tuple[float, int]] = field(default_factory=list)
    widths: dict[Key, list[tuple[int, float]]] = field(default_factory=dict)

    def look(self, seconds: float, received: int) -> bool:
        """Note how many reports there are; whether that is news."""
        news = not self.seen or self.seen[-1][1] != received
        self.seen = [*self.seen[-_MOST_SEEN:], (seconds, received)]
        return news

    def note(self, received: int, releases: Mapping[Key, Release]) -> None:
        """Note how narrow the tables are at so many reports."""
        for key, release in releases.items():
            known = self.widths.setdefault(key, [])
            if not known or known[-1][0] != received:
                known.append((received, half_width(release)))
                del known[:-_MOST_SEEN]

    def pace(self) -> float:
        """Reports a second, over the last few looks."""
        (start, first), (end, last) = (self.seen or [(0.0, 0)])[-_RECENT:][0], (self.seen or [(0.0, 0)])[-1]
        return (last - first) / (end - start) if end > start else 0.0

    def curves(self, key: Key) -> list[Curve]:
        """The widest half-width of a table as reports came in, and how it will go on: as 1 / sqrt(reports)."""
        points = self.widths.get(key, [])
        if not points:
            return []
        reports, width = points[-1]
        steps = np.geomspace(points[0][0], max(reports * _AHEAD, points[0][0] * 2), 60)
        ahead = [width * math.sqrt(reports / step) for step in steps]
        return [
            Curve(label="observed", x=[x for x, _ in points], y=[y for _, y in points]),
            Curve(label="as 1 / square root of reports", x=steps.tolist(), y=ahead),
        ]


def bars(release: Release) -> list[Interval]:
    """The cells of a table with their intervals, the first of them where there are many."""
    low, high = release.interval(0.95)
    values = np.asarray(release.values, float)
    labels = [release.domain[name].all_labels for name in release.attributes]
    places = list(np.ndindex(*values.shape))[:MOST_BARS]
    return [
        Interval(
            label=", ".join(label[code] for label, code in zip(labels, place, strict=True)),
            value=max(float(values[place]), 0.0),
            low=max(float(low[place]), 0.0),
            high=min(float(high[place]), 1.0),
        )
        for place in places
    ]


def pictures_of(key: Key, release: Release) -> dict[str, Callable[[], Chart]]:
    """The ways to draw a table of a campaign, by their names."""
    name, shown = " x ".join(key), bars(release)
    found: dict[str, Callable[[], Chart]] = {
        BARS: partial(interval_bars, shown, title=f"Shares of {name}", what=name, share=True)
    }
    if len(key) == 2:
        found["Shares with totals"] = partial(crosstab, release, title=f"Shares of {name}, with totals")
    if len(key) == 1:
        drawn = tiles(shown, title=f"Regions of {name}", share=True)
        if drawn is not None:
            found["Map of tiles"] = lambda: drawn
    return found


def stop_advice(
    releases: Releases | None, terms: Mapping[str, Any], respondents: int, tables: Iterable[Key], state: str = "open"
) -> str:
    """Describe the advice of the stop rule: stop, or the number of further respondents.

    Args:
        releases: The pooled tables so far; None while there are too few answers.
        terms: What the owner decided, as the campaign states it.
        respondents: How many have answered so far.
        tables: All tables that are asked for.
        state: Of the campaign.
    """
    minimum, wanted = int(terms["minimum"]), {tuple(key) for key in tables}
    if state == "closed":
        return "The campaign is closed. Its tables are final."
    missing = wanted - set(releases or ())
    if missing:
        named = ", ".join(sorted(" x ".join(key) for key in missing))
        return f"A table is shown after {minimum:,} answers. Too few answers yet: {named}."
    assert releases is not None
    if terms["stop"] is None:
        worst = max(half_width(release) for release in releases.values())
        return (
            f"This campaign has no stop rule. The widest interval is ± {worst:.3g}. Four times as many reports would "
            "make it half as wide."
        )
    rule = StopRule(**terms["stop"])
    looked_at = [releases.project(key) for key in rule.tables or releases]
    advice = rule.look_at(looked_at, max(1, rule.due(respondents)), respondents=respondents)
    if advice.stop:
        return (
            f"There are enough reports: each interval is at most ± {rule.half_width:g}. The campaign closes at its "
            "next check, or when you close it."
        )
    if advice.more_respondents is None:
        return (
            f"The widest interval is ± {advice.widest:.3g}. No number of respondents would make it "
            f"± {rule.half_width:g}."
        )
    return (
        f"The widest interval, in {' x '.join(advice.table)}, is ± {advice.widest:.3g} at the level of this check. The "
        f"stop rule needs ± {rule.half_width:g}: about {advice.more_respondents:,} more respondents."
    )

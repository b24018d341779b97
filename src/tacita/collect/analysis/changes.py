"""Change between two waves of a series: the difference of each share and mean, with its error.

Where a device answers in one wave (one turn), no one is in both: the estimates are independent and their variances add
up, exactly. With more turns some people answer in both, with noise drawn anew. What they have in common is their
answers, whose covariance may have either sign: the most that it can add is added, so that intervals are wide rather
than short. For standard errors s and s' of the waves and channels that lose at most e,

    variance of the change  <=  s^2 + s'^2 + 2 s s' / (1 + 2 v),    v = exp(e) / (exp(e) - 1)^2

because of the variance of any estimate that is linear in such reports, at most 1 / (1 + 2 v) is due to people.

Privacy: post-processing of reports; nothing is spent.   Claim page: docs/claims/waves.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tacita import check
from tacita.collect.analysis import findings
from tacita.collect.estimating.means import collected_means
from tacita.collect.estimating.tally import Tally
from tacita.collect.planning.design import CollectionDesign
from tacita.errors import InvalidInput
from tacita.tables.release import Release, Releases
from tacita.tables.uncertainty import normal_quantile

__all__ = ["Change", "find_changes"]

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Change:
    """The change of one share, or of one mean.

    Attributes:
        attributes: What it is about.
        levels: Their levels; empty where it is the change of a mean.
        before, after: The estimates in the two waves.
        change: after - before, unbiased.
        std, low, high: Its standard error and interval.
        p_value: Of the hypothesis that nothing has changed, alone.
        adjusted: The same for all changes that were computed together (Bonferroni).
    """

    attributes: tuple[str, ...]
    levels: tuple[str, ...]
    before: float
    after: float
    change: float
    std: float
    low: float
    high: float
    p_value: float
    adjusted: float = math.nan

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"attributes": list(self.attributes), "levels": list(self.levels)}


def find_changes(before: Tally, after: Tally, *, by: Sequence[Sequence[str]] = (), level: float = 0.95) -> list[Change]:
    """The change of every share and mean between two waves.

    Args:
        before, after: The counts of the two waves, of one series.
        by: Only the tables over these attributes, each held by some question; otherwise all single attributes, all
            tables that were asked, and all means.
        level: Of each interval by itself.
    """
    check.inside(level, "level", 0, 1)
    if before.design.questions != after.design.questions or before.design.waves == 1:
        raise InvalidInput("must be of two waves of one series", field="since")
    common = _common(before.design) if before.design.turns > 1 else 0.0
    found: list[Change] = []
    if any(not asked.asks_mean for asked, _ in before.questions()):
        tables = [findings.published(tally, "pooled") for tally in (before, after)]
        for key in [tuple(names) for names in by] or _keys(tables):
            for tables_of_wave in tables:
                if not tables_of_wave.supports(key):
                    raise InvalidInput("must be in one question, and published", field="by", value=", ".join(key))
            found += _of_table(tables[0].project(key), tables[1].project(key), level, common)
    elif by:
        raise InvalidInput("must be left out: only means were asked for", field="by")
    if not by:
        found += _of_means(before, after, level, common)
    return [replace(each, adjusted=min(1.0, each.p_value * len(found))) for each in found]


def _keys(tables: Sequence[Releases]) -> list[tuple[str, ...]]:
    """Single attributes first, then the tables that both waves publish."""
    both = [key for key in tables[0] if all(each.supports(key) for each in tables)]
    singles = {(name,): None for key in both for name in key}
    return [*singles, *(key for key in both if len(key) > 1)]


def _common(design: CollectionDesign) -> float:
    """The largest share of an estimate's variance that can be due to who was sampled, not to noise."""
    # Claim: with g(x) the mean of what a report of the answer x adds, noise makes at least 2 v of Var g(X).
    # Two answers x, x' give laws with ratios of at most exp(e), so their chi-squared distance is at most 1 / v
    # (Chapman and Robbins): Var(report | x) >= v (g(x') - g(x))^2 for every x'. Let x' be a second person and average
    # over both: the mean of (g(X') - g(X))^2 is 2 Var g(X).
    loss = max(asked.channel.epsilon_upper for asked in design.questions)
    return 0.0 if loss == 0 else 1 / (1 + 2 * math.exp(loss) / math.expm1(loss) ** 2)


def _variance(before: Array, after: Array, common: float) -> Array:
    return np.asarray(before**2 + after**2 + 2 * common * before * after)


def _of_table(before: Release, after: Release, level: float, common: float) -> Iterator[Change]:
    std = np.sqrt(_variance(before.std(), after.std(), common))
    labels = [before.domain[name].all_labels for name in before.attributes]
    for cell in np.ndindex(before.values.shape):
        levels = tuple(names[place] for names, place in zip(labels, cell, strict=True))
        pair = float(before.values[cell]), float(after.values[cell])
        yield _change(before.attributes, levels, pair, float(std[cell]), level)


def _of_means(before: Tally, after: Tally, level: float, common: float) -> Iterator[Change]:
    earlier = {mean.attribute: mean for mean in collected_means(before)}
    for mean in collected_means(after):
        if mean.attribute in earlier:
            first = earlier[mean.attribute]
            std = math.sqrt(float(_variance(np.array(first.std), np.array(mean.std), common)))
            yield _change((mean.attribute,), (), (first.mean, mean.mean), std, level)


def _change(
    attributes: tuple[str, ...], levels: tuple[str, ...], pair: tuple[float, float], std: float, level: float
) -> Change:
    change, half = pair[1] - pair[0], normal_quantile(level) * std
    p_value = float(2 * stats.norm.sf(abs(change) / std)) if std > 0 else float(change == 0)
    ends = {"low": change - half, "high": change + half}
    return Change(
        attributes=attributes,
        levels=levels,
        before=pair[0],
        after=pair[1],
        change=change,
        std=std,
        p_value=p_value,
        **ends,
    )

"""Association rules {A=a, ..} -> {B=b} from collected tables, with errors, and only those that noise does not make.

    find_rules    all rules whose confidence and lift are beyond doubt above given thresholds

Privacy: nothing is spent; it uses releases.
Utility: with Bonferroni, the probability of any false rule is at most about the level; with Benjamini and Hochberg, the
expected share of false ones among those listed. Both in the limit of many reports.
Flags: unvetted, trusts its caller.

Legend, shares of the table: s of all of a and b, x of a, y of b. Support s, confidence c = s / x, lift l = s / (x y).
A rule is tested without dividing: c > c0 is s - c0 x > 0, and l > l0 is s - l0 x y > 0, whose variances the covariance
of the table gives exactly and by the delta method. Intervals invert these tests [Fieller 1954]: a rule passes at alpha
exactly when the lower end of its interval of level 1 - 2 alpha is above the threshold.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import combinations, product
from statistics import NormalDist
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.collect.analysis.independence import known_total
from tacita.errors import InvalidInput
from tacita.tables.release import Release, Releases
from tacita.tables.uncertainty import Correlated, Covariance, normal_quantile

__all__ = ["Measure", "Rule", "find_rules"]

Adjust = Literal["bonferroni", "benjamini-hochberg"]
Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A number with its standard error and an interval of its own."""

    value: float
    std: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Rule:
    """If `given`, then `then`.

    Attributes:
        given, then: Labels by attribute.
        support, confidence, lift: Each with its error.
        p_value: That the confidence or the lift is not above its threshold.
        adjusted: The same for all candidates together.
    """

    given: tuple[tuple[str, str], ...]
    then: tuple[str, str]
    support: Measure
    confidence: Measure
    lift: Measure
    p_value: float
    adjusted: float = math.nan

    def as_dict(self) -> dict[str, Any]:
        """Plain data; what is not known is null."""
        measures = {name: _plain(getattr(self, name)) for name in ("support", "confidence", "lift")}
        sides = {"given": dict(self.given), "then": dict([self.then])}
        return sides | measures | {"p_value": self.p_value, "adjusted": self.adjusted}

    def __str__(self) -> str:
        given = ", ".join(f"{name}={label}" for name, label in self.given)
        return f"{{{given}}} -> {{{self.then[0]}={self.then[1]}}}"


def _plain(measure: Measure) -> dict[str, float | None]:
    return {name: value if math.isfinite(value) else None for name, value in asdict(measure).items()}


def find_rules(
    releases: Releases,
    *,
    confidence: float = 0.0,
    lift: float = 1.0,
    support: float = 0.0,
    level: float = 0.05,
    adjust: Adjust = "bonferroni",
    then: Iterable[str] | None = None,
) -> list[Rule]:
    """All rules that hold beyond doubt, the strongest lift first.

    Candidates are all labels of all tables, whatever their counts: the adjustment must count every test.

    Args:
        releases: Unbiased shares about the population, as a tally gives them.
        confidence, lift: What a rule must exceed, tested. support: What its estimated support must reach, not tested.
        level: Of the error that `adjust` controls; intervals have the level 1 - `level` each.
        adjust: "bonferroni" for any false rule, "benjamini-hochberg" for the share of false ones.
        then: Attributes that may be on the right; all if not given.
    """
    check.inside(level, "level", 0, 1)
    if not 0 <= confidence < 1 or not lift >= 0:
        raise InvalidInput(
            "must be thresholds: confidence 0 to 1, lift 0 or more", field="confidence", value=confidence
        )
    if adjust not in get_args(Adjust):
        raise InvalidInput("must be 'bonferroni' or 'benjamini-hochberg'", field="adjust", value=adjust)
    wanted = None if then is None else set(releases.domain.check_countable(then))
    rules = []
    for names in _sets(releases):
        measured = _Measured(releases.project(names))
        for right in names:
            if wanted is None or right in wanted:
                rules += list(measured.rules(right, confidence, lift, level))
    adjusted = _adjusted(np.array([rule.p_value for rule in rules]), adjust)
    kept = [
        replace(rule, adjusted=float(p))
        for rule, p in zip(rules, adjusted, strict=True)
        if p <= level and rule.support.value >= support
    ]
    return sorted(kept, key=lambda rule: -rule.lift.value)


def _sets(releases: Releases) -> list[tuple[str, ...]]:
    """All sets of two attributes or more that some table holds, each once."""
    found: dict[frozenset[str], tuple[str, ...]] = {}
    for attributes in releases:
        for size in range(2, len(attributes) + 1):
            for names in combinations(attributes, size):
                found.setdefault(frozenset(names), names)
    return list(found.values())


def _adjusted(p: Array, adjust: Adjust) -> Array:
    """p-values to be compared with the level as they are."""
    if adjust == "bonferroni" or not p.size:
        return np.minimum(p * p.size, 1.0)
    order = np.argsort(p)[::-1]
    stepped = np.minimum.accumulate(p[order] * p.size / np.arange(p.size, 0, -1))
    found = np.empty_like(p)
    found[order] = np.minimum(stepped, 1.0)
    return found


class _Measured:
    """A table with a known total and its covariance."""

    def __init__(self, release: Release) -> None:
        uncertainty = release.uncertainty
        if not isinstance(uncertainty, Correlated) or release.quantity != "share":
            hint = "Take the raw releases of a tally; published ones have no covariance"
            raise InvalidInput("must be shares with a covariance", field="releases", hint=hint)
        self.domain, self.shape = release.domain, release.values.shape
        flat = release.values.reshape(-1).astype(np.float64)
        self.shares, self.covariance = known_total(flat, uncertainty.covariance)

    def rules(self, right: str, confidence: float, lift: float, level: float) -> Iterator[Rule]:
        """All rules with this attribute on the right and all others on the left."""
        left = tuple(name for name in self.domain.names if name != right)
        for codes in product(*(range(self.domain[name].size) for name in (*left, right))):
            yield self._rule(left, right, codes, confidence, lift, level)

    def _where(self, names: Iterable[str], codes: Iterable[int]) -> Array:
        """1 for the cells with these codes."""
        mask = np.zeros(self.shape)
        at: list[slice | int] = [slice(None)] * len(self.shape)
        for name, code in zip(names, codes, strict=True):
            at[self.domain.names.index(name)] = code
        mask[tuple(at)] = 1.0
        return mask.reshape(-1)

    def _rule(
        self, left: tuple[str, ...], right: str, codes: tuple[int, ...], confidence: float, lift: float, level: float
    ) -> Rule:
        both = self._where((*left, right), codes)
        one, other = self._where(left, codes[:-1]), self._where([right], codes[-1:])
        s, x, y = (float(mask @ self.shares) for mask in (both, one, other))
        top = _Ratio(s, both, self.covariance)
        # d(x y) = y dx + x dy
        bottoms = ((x, one), (x * y, y * one + x * other))
        labels = [(name, self.domain[name].all_labels[code]) for name, code in zip((*left, right), codes, strict=True)]
        p_values = [top.p_value(*bottom, at) for bottom, at in zip(bottoms, (confidence, lift), strict=True)]
        z = normal_quantile(1 - level)
        spread = math.sqrt(max(self.covariance.of(both), 0.0))
        return Rule(
            given=tuple(labels[:-1]),
            then=labels[-1],
            support=Measure(value=s, std=spread, low=s - z * spread, high=s + z * spread),
            confidence=top.over(*bottoms[0], z),
            lift=top.over(*bottoms[1], z),
            p_value=max(p_values),  # both must hold: the weaker of the two decides
        )


@dataclass(frozen=True)
class _Ratio:
    """The estimate s over another one, both linear (or made linear) in the cells."""

    value: float
    contrast: Array
    covariance: Covariance

    def p_value(self, bottom: float, contrast: Array, threshold: float) -> float:
        """One-sided, of s - threshold * bottom > 0."""
        gap = self.value - threshold * bottom
        spread = math.sqrt(max(self.covariance.of(self.contrast - threshold * contrast), 0.0))
        if spread == 0.0:
            return 1.0
        return NormalDist().cdf(-gap / spread)

    def over(self, bottom: float, contrast: Array, z: float) -> Measure:
        """s / bottom, its standard error by the delta method, and Fieller's interval.

        The interval holds all c with (s - c b)^2 <= z^2 Var(s - c b): a c^2 - 2 h c + g <= 0 with a = b^2 - z^2 Var b,
        h = s b - z^2 Cov(s, b), g = s^2 - z^2 Var s. Where b may be 0 it is the whole line.
        """
        if bottom == 0.0:
            return Measure(value=math.nan, std=math.nan, low=-math.inf, high=math.inf)
        value = self.value / bottom
        var_top, var_bottom = self.covariance.of(self.contrast), self.covariance.of(contrast)
        shared = (self.covariance.of(self.contrast + contrast) - var_top - var_bottom) / 2
        std = math.sqrt(max(self.covariance.of(self.contrast - value * contrast), 0.0)) / abs(bottom)
        a = bottom**2 - z * z * var_bottom
        h, g = self.value * bottom - z * z * shared, self.value**2 - z * z * var_top
        inside = h * h - a * g
        if a <= 0 or inside < 0:
            return Measure(value=value, std=std, low=-math.inf, high=math.inf)
        root = math.sqrt(inside)
        return Measure(value=value, std=std, low=(h - root) / a, high=(h + root) / a)

"""Typical estimates: means and regressions, from the data and from m releases, with their intervals.

    overlap   (U_i - L_i) / 2 (1 / (U_o - L_o) + 1 / (U_s - L_s)), not below 0: 1 the same interval, 0 disjoint
              [Karr et al. 2006]

An interval inside a far wider one always scores a little above one half, so both widths are always given. Estimates
from several releases are combined by the rule of their kind. One release is analysed as if it were data, which ignores
the variance that the release added; the result states this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from tacita.assess.case import Case
from tacita.assess.frame import Frame
from tacita.errors import InvalidInput
from tacita.tables.combining import Combined, combine_full, combine_partial

__all__ = ["CombiningKind", "Compared", "compare_means", "compare_regression", "overlap"]

CombiningKind = Literal["plain", "partial", "full"]
Interval = tuple[float, float]
_Z = float(special.ndtri(0.975))


def overlap(one: Interval, other: Interval) -> float:
    """Compute the overlap of two intervals.

    >>> overlap((0, 2), (1, 3)), overlap((0, 1), (5, 6))
    (0.5, 0.0)
    """
    shared = min(one[1], other[1]) - max(one[0], other[0])
    widths = one[1] - one[0], other[1] - other[0]
    if shared < 0 or min(widths) < 0:
        return 0.0
    if min(widths) == 0:
        return 1.0 if max(widths) == 0 else 0.5
    return shared / 2 * (1 / widths[0] + 1 / widths[1])


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One estimate, from the data and from the release."""

    name: str
    real: float
    real_interval: Interval
    released: float
    released_interval: Interval
    kind: CombiningKind

    @property
    def overlap(self) -> float:
        """Overlap of the intervals."""
        return overlap(self.real_interval, self.released_interval)

    @property
    def widths(self) -> tuple[float, float]:
        """Widths of the intervals: without them the overlap cannot be interpreted."""
        return tuple(high - low for low, high in (self.real_interval, self.released_interval))  # type: ignore[return-value]

    @property
    def same_finding(self) -> bool:
        """Whether both intervals give the same sign: above 0, below 0, or neither."""
        signs = [(low > 0) - (high < 0) for low, high in (self.real_interval, self.released_interval)]
        return signs[0] == signs[1]

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "name": self.name,
            "real": self.real,
            "real_interval": list(self.real_interval),
            "released": self.released,
            "released_interval": list(self.released_interval),
            "overlap": self.overlap,
            "widths": list(self.widths),
            "same_finding": self.same_finding,
            "kind": self.kind,
        }


def compare_means(case: Case, *, kind: CombiningKind = "plain") -> tuple[Compared, ...]:
    """Compare means of all numbers that both sides hold, and shares of levels of attributes with few levels."""
    real = _means(case.real)
    released = [_means(frame) for frame in case.released]
    names = [name for name in real if all(name in each for each in released)]
    return tuple(_compared(name, real[name], [each[name] for each in released], kind, case) for name in names)


def compare_regression(case: Case, target: str, *, kind: CombiningKind = "plain") -> tuple[Compared, ...]:
    """Compare coefficients of a linear regression of an ordered attribute, in units of the widths of the schema.

    Numbers that are missing in every row of one side are left out.
    """
    place = case.real.place(case.domain.check_countable([target])[0])
    if not case.real.ordered[place]:
        raise InvalidInput("must be a number, a date or an ordered level", field="target", value=target)
    names = [name for name in case.names if name != target and _known(case, name)]
    if not names or not _known(case, target):
        raise InvalidInput("nothing is left to explain, or to explain it by", field="target", value=target)
    labels = ["(constant)", *_labels(case.real.only(names))]
    real = _regression(case.real, names, place, len(labels))
    released = [_regression(frame, names, place, len(labels)) for frame in case.released]
    kept = [number for number in range(len(labels)) if np.isfinite(real[number][1])]
    return tuple(
        _compared(labels[number], real[number], [each[number] for each in released], kind, case)
        for number in kept
        if all(np.isfinite(each[number][1]) for each in released)
    )


def _known(case: Case, name: str) -> bool:
    """Return whether every side has a known value of the attribute."""
    return not any(np.isnan(frame.column(name)).all() for frame in (case.real, *case.released))


def _means(frame: Frame) -> dict[str, tuple[float, float]]:
    """Compute estimates and their variances."""
    found = {}
    for place, attribute in enumerate(frame.domain.attributes):
        column = frame.values[:, place]
        if frame.ordered[place]:
            known = column[~np.isnan(column)]
            if known.size > 1:
                found[f"mean of {attribute.name}"] = (float(known.mean()), float(known.var(ddof=1) / known.size))
        elif len(attribute.labels) <= 20:
            for code, label in enumerate(attribute.labels):
                share = float((column == code).mean())
                found[f"share of {attribute.name} = {label}"] = (share, share * (1 - share) / len(column))
    return found


def _labels(frame: Frame) -> list[str]:
    labels = []
    for place, attribute in enumerate(frame.domain.attributes):
        levels = attribute.labels[1:]
        labels += [attribute.name] if frame.ordered[place] else [f"{attribute.name} = {level}" for level in levels]
    return labels


def _design(frame: Frame) -> NDArray[np.float64]:
    """Build the design matrix: a constant, numbers, and all levels but the first."""
    columns = [np.ones(len(frame))]
    for place, attribute in enumerate(frame.domain.attributes):
        column = frame.values[:, place]
        if frame.ordered[place]:
            columns.append(column / frame.widths[place])
        else:
            columns += [(column == code).astype(np.float64) for code in range(1, len(attribute.labels))]
    return np.stack(columns, axis=1)


def _regression(frame: Frame, names: list[str], place: int, size: int) -> list[tuple[float, float]]:
    """Compute coefficients by least squares; a linearly dependent column has an infinite variance."""
    design, target = _design(frame.only(names)), frame.values[:, place] / frame.widths[place]
    known = ~(np.isnan(design).any(axis=1) | np.isnan(target))
    design, target = design[known], target[known]
    if len(target) <= design.shape[1]:
        rule = f"needs more rows than the {design.shape[1]} coefficients, without a missing value"
        raise InvalidInput(rule, field="rows", value=len(target))
    used = _independent(design)
    part = design[:, used]
    inverse = np.linalg.inv(part.T @ part)
    coefficients = inverse @ part.T @ target
    noise = float(((target - part @ coefficients) ** 2).sum() / (len(target) - len(used)))
    found = [(0.0, np.inf)] * size
    for place_of, column in enumerate(used):
        found[column] = (float(coefficients[place_of]), float(noise * inverse[place_of, place_of]))
    return found


def _independent(design: NDArray[np.float64]) -> list[int]:
    """Return the columns that are no linear combination of those before them."""
    _, triangle = np.linalg.qr(design)
    scale = np.abs(np.diag(triangle))
    return [place for place in range(design.shape[1]) if scale[place] > 1e-8 * scale.max()]


def _compared(
    name: str, real: tuple[float, float], released: Sequence[tuple[float, float]], kind: CombiningKind, case: Case
) -> Compared:
    interval = _normal(*real)
    if kind == "plain" or len(released) < 2:
        if kind != "plain":
            raise InvalidInput("needs at least two releases to combine", field="kind", value=kind)
        estimate = float(np.mean([each[0] for each in released]))
        spread = float(np.mean([each[1] for each in released]))
        return Compared(
            name=name,
            real=real[0],
            real_interval=interval,
            released=estimate,
            released_interval=_normal(estimate, spread),
            kind=kind,
        )
    values, variances = [each[0] for each in released], [each[1] for each in released]
    combined: Combined
    if kind == "partial":
        combined = combine_partial(values, variances)
    else:
        combined = combine_full(values, variances, rows=len(case.first), people=len(case.real))
    return Compared(
        name=name,
        real=real[0],
        real_interval=interval,
        released=combined.estimate,
        released_interval=combined.interval(),
        kind=kind,
    )


def _normal(estimate: float, variance: float) -> Interval:
    half = _Z * float(np.sqrt(variance))
    return estimate - half, estimate + half

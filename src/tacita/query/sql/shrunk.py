"""Columns of a released table, shrunk towards what its groups have in common, beside the unshrunk ones.

Counts, sums and their differences are shrunk as they are; means and quotients of two of these by the noise of their
parts. Variances, quantiles and other expressions have no additive noise and are left alone.

Privacy: post-processing; costs nothing.   Claim: docs/claims/shrinkage.md
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tacita.errors import InvalidInput
from tacita.noise import DiscreteLaplace, Law, Stepped
from tacita.query.answer import Answer, Column
from tacita.query.numbers import Array
from tacita.query.shrinking import Toward, design_of, ratio_values, shrink_values
from tacita.query.sql.after import Frame
from tacita.query.sql.released import Noise, Quantity, spread

__all__ = ["SUFFIX", "add_shrunk", "check_shrinkable"]

SUFFIX = "_shrunk"


def add_shrunk(answer: Answer, table: Frame, toward: Toward) -> Answer:
    """Add a column `NAME_shrunk` behind each statistic that can be shrunk.

    Args:
        answer: The answer without them.
        table: Its columns with their noise.
        toward: The centre, see `shrinking.design_of`.
    """
    design = design_of(answer.groups, toward)
    columns: dict[str, Column] = {}
    headings: list[str] = []
    for name, held in table.columns.items():
        headings.append(name)
        if isinstance(held, Quantity):
            columns[name] = answer.columns[name]
            found = _shrunk(held, design, answer.level) if _can_shrink(held) else None
            if found is not None:
                columns[name + SUFFIX] = found
                headings.append(name + SUFFIX)
    added = [name for name in columns if name not in table.columns]
    intervals = {**answer.intervals, **dict.fromkeys(added, "average")}
    return replace(answer, columns=columns, headings=tuple(headings), intervals=intervals)


def check_shrinkable(table: Frame) -> None:
    """Refuse a table in which no column can be shrunk, or whose names are taken."""
    names = [name for name, held in table.columns.items() if isinstance(held, Quantity) and _can_shrink(held)]
    if not names:
        rule = "no statistic here can be shrunk: only counts, sums, means and quotients of these"
        raise InvalidInput(rule, field="shrink", value=list(table.columns))
    taken = next((name + SUFFIX for name in names if name + SUFFIX in table.columns), None)
    if taken is not None:
        raise InvalidInput("is the name of a shrunk column", field="name", value=taken, hint="Give it another: AS name")


def _can_shrink(of: Quantity) -> bool:
    return of.kind == "linear" or of.parts is not None


def _shrunk(of: Quantity, design: Array, level: float) -> Column | None:
    heavy = _is_heavy(of.noise)
    if of.kind == "linear":
        value, std = of.value, of.std()
    else:
        assert of.parts is not None
        top, bottom = of.parts
        pairs = ((top, top), (top, bottom), (bottom, bottom))
        aa, ab, bb = (spread(of.noise, one.slopes, two.slopes) for one, two in pairs)
        value, std = ratio_values(top.value, bottom.value, aa, ab, bb, of.within)
    if np.isnan(value).all():
        return Column(value=value, std=std, low=value, high=value)
    if not (np.isfinite(value).all() and (std > 0).all()):
        return None
    found = shrink_values(value, std, design, level=level, heavy=heavy)
    value, low, high = (np.clip(each, *of.within) for each in (found.value, found.low, found.high))
    return replace(found, value=value, low=low, high=high)


def _is_heavy(noise: Noise) -> bool:
    def inner(law: Law) -> Law:
        return law.law if isinstance(law, Stepped) else law

    return any(isinstance(inner(law), DiscreteLaplace) for law in noise.laws)

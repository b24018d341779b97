"""Labels of a class in place of its values: an interval, a set of values, a node of a hierarchy.

    number, date, order     17..24       lowest and highest value in the class
    no order                {a, b}       the values in the class
    hierarchy               Europe       the lowest node above all values in the class
    missing and present     (missing) or 17..24
    no level of the schema  (other)      the schema keeps such values back

A value that a reader could take for something else is quoted, as in JSON.
"""

from __future__ import annotations

import json
import re
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from tacita.anonymize.hierarchies.hierarchy import Tree
from tacita.anonymize.quasi import DistinctRows, sorted_distinct
from tacita.tables.recoding import MISSING, OTHER, SUPPRESSED, Axis, Recoding

__all__ = ["Style", "legacy_label", "recoding_of"]

Ints = NDArray[np.int64]
_MEMBER = re.compile(r'"(?:[^"\\]|\\.)*"|[^,\s][^,]*')
_SPAN = re.compile(r'("(?:[^"\\]|\\.)*"|.*?)\.\.(.+)')
_CONFUSING = re.compile(r'[{}",*~]|\.\.| or |^\(|^\s|\s$')


class Style(Enum):
    """Whether a class of values without an order says which are in it, or all codes between the lowest and highest."""

    TIGHT = "tight"
    RANGE = "range"


def recoding_of(
    distinct: DistinctRows,
    classes: Ints,
    style: Style = Style.TIGHT,
    *,
    items: Ints | None = None,
    shares: Ints | None = None,
) -> Recoding:
    """The recoding that puts combinations into classes, with the narrowest labels that are true of each class.

    Args:
        distinct: The rows, each combination once.
        classes: The class of each combination (or of each entry of `items`), `SUPPRESSED` for those not released.
        style: See there.
        items: Combination of each entry, when a combination goes to several classes.
        shares: Number of its rows in this class, then.
    """
    codes = distinct.codes if items is None else distinct.codes[items]
    kept = classes != SUPPRESSED
    count = int(classes.max(initial=-1)) + 1
    columns, texts = [], []
    for j, (axis, tree) in enumerate(zip(distinct.axes, distinct.trees, strict=True)):
        which, words = _labels(axis, tree, codes[kept, j], classes[kept], count, style)
        columns.append(which)
        texts.append(words)
    labels = np.stack(columns, axis=1).astype(np.int32)
    return Recoding.of(distinct.axes, codes, classes, labels, texts, shares)


def _labels(
    axis: Axis, tree: Tree | None, codes: NDArray[np.int32], classes: Ints, count: int, style: Style
) -> tuple[Ints, list[str]]:
    """Index of each class into some texts, and the texts."""
    size = max(len(axis), 1)
    pairs = sorted_distinct(classes * size + codes)  # codes of each class, once and rising
    place, code = pairs // size, pairs % size
    starts = np.searchsorted(place, np.arange(count))
    ends = np.searchsorted(place, np.arange(count), side="right")
    low, high = code[starts], code[ends - 1]
    if tree is not None and style is Style.TIGHT:
        nodes, which = np.unique(tree.common(low, high), return_inverse=True)
        return which.reshape(-1), [tree.labels[node] for node in nodes]
    if axis.kind == "set" and style is Style.TIGHT:
        return _sets(axis, code, starts, ends)
    ranges, which = np.unique(low * size + high, return_inverse=True)
    maker = _joined if axis.kind == "set" else _range
    return which.reshape(-1), [maker(axis, int(pair // size), int(pair % size)) for pair in ranges]


def _sets(axis: Axis, code: Ints, starts: Ints, ends: Ints) -> tuple[Ints, list[str]]:
    """Single values have the number of their code; sets of several follow."""
    words = [_quoted(axis, c) for c in range(len(axis))]
    which = code[starts]
    known: dict[bytes, int] = {}
    for place in np.flatnonzero(ends - starts > 1).tolist():
        several = code[starts[place] : ends[place]]
        number = known.setdefault(several.tobytes(), len(words))
        if number == len(words):
            words.append("{" + ", ".join(words[c] for c in several.tolist()) + "}")
        which[place] = number
    return which, words


def _quoted(axis: Axis, code: int) -> str:
    text = axis.texts[code]
    plain = axis.keys[code] in (None, OTHER) or not _CONFUSING.search(text)
    return text if plain else json.dumps(text, ensure_ascii=False)


def _range(axis: Axis, low: int, high: int) -> str:
    if axis.keys[low] is None and low < high:
        return f"{MISSING} or {_range(axis, low + 1, high)}"
    first, last = (_quoted(axis, code) if axis.kind == "order" else axis.texts[code] for code in (low, high))
    return first if low == high else f"{first}..{last}"


def legacy_label(text: str, *, ordered: bool) -> str:
    """A label as the P-PPA service wrote it: several values are joined by `~`.

    A member that holds a `~` itself stays in quotes, so that a label has one reading.

    >>> legacy_label("17..24", ordered=True), legacy_label('{a, "b, c"}', ordered=False)
    ('17~24', 'a~"b, c"')
    """
    if text.startswith(f"{MISSING} or "):
        return f"{MISSING}~{legacy_label(text.removeprefix(f'{MISSING} or '), ordered=ordered)}"
    if ordered:
        ends = _SPAN.fullmatch(text)
        return text if ends is None else "~".join(ends.groups())
    return "~".join(_MEMBER.findall(text[1:-1])) if text[:1] + text[-1:] == "{}" else text


def _joined(axis: Axis, low: int, high: int) -> str:
    """All values between two codes, as the legacy mode writes them."""
    return "~".join(_quoted(axis, code) for code in range(low, high + 1))

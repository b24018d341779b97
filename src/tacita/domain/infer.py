"""A first draft of a schema from the data itself, with the reason for each guess.

All parts of such a draft were read off private data: kinds, levels, bounds, whether values are missing. Each attribute
lists these parts in `derived`, and no private method accepts the domain until a person has checked and confirmed it
(`tacita schema confirm`). Until then the draft itself should hold as little about single persons as possible:

    bounds      lie on round numbers beyond the smallest and the largest value, never on them
    levels      are held by at least `LEAST_HOLDERS` persons (rows, where no column names persons); others are `other`
    person      an identifier whose values return: keys in text or whole numbers, never a date

These are guesses on the safe side. With a person named, nothing is protected row by row. Values keep the spelling of
the source: 0 and 1, yes and no are levels; only `true` and `false` are of the kind boolean.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from tacita.domain.attributes import Attribute, Boolean, Categorical, Date, Identifier, Numeric, Ordinal
from tacita.domain.bins import log_edges, round_edges, round_outward
from tacita.domain.dialect import CsvDialect
from tacita.domain.domain import Domain
from tacita.domain.profile import LONGEST, Holders, Profile, tally_pairs
from tacita.domain.spelling import NULL_WORDS, other_marks, sentinels
from tacita.errors import DataError

__all__ = ["LEAST_HOLDERS", "MOST_LEVELS", "Draft", "draft_domain", "infer"]

MOST_LEVELS = 50
"""More distinct values than this are a number, a date or an identifier, not a category."""
LEAST_HOLDERS = 5
"""Persons who must share a value before it becomes a level of a draft."""
_BINS = 10
_KEY_VALUES, _LEAST_KEY_ROWS, _KEY_ROWS, _KEY_SPREAD = 100, 1.5, 100, 0.5
_SKEWED = 50  # largest value over the median, from which on bins are logarithmic
# names that keys have by custom
_KEY_NAME = re.compile(
    r"(^|[ _.-])(u?id|key|person|patient|subject|user|customer|client|member|employee|student|e?mail|phone|ssn|who"
    r"|(sur|last|first|full|user)?name)s?($|[ _.-]|(id|no|nr|number|key)$)|[a-z]I[dD]$",
    re.IGNORECASE,
)
_DAY_TEXT = re.compile(r"^\d{1,4}([-/.]| )(\d{1,2}|[A-Za-z]{3,9})\1\d{1,4}\b|^\d{1,2}:\d\d|^\d{8}T\d{4}")


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A drafted schema, and why it is as it is.

    Attributes:
        domain: The draft.
        reasons: For each attribute, the reason for its kind.
        notes: Further sentences: the dialect of the file, values that may mean something else.
        preview: Names of the columns and the first rows, for the owner.
    """

    domain: Domain
    reasons: Mapping[str, str]
    notes: tuple[str, ...] = ()
    preview: tuple[tuple[str, ...], ...] = field(default=(), repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Plain data. Values of the preview are masked: letters are x, digits are 9."""
        names, *rows = self.preview or ((),)
        return {
            "domain": self.domain.as_dict(),
            "reasons": dict(self.reasons),
            "notes": list(self.notes),
            "preview": [list(names), *([_masked(text) for text in row] for row in rows)],
        }


def _masked(text: str) -> str:
    """The form of a text, which shows whether it was read right: other letters than those of ASCII stay."""
    return re.sub("[a-z]", "x", re.sub("[A-Z]", "X", re.sub(r"\d", "9", text[:LONGEST])))


def infer(batches: Iterable[pa.RecordBatch], *, title: str = "", nulls: Iterable[str] = ("", "NA", "?")) -> Domain:
    """A draft of the domain of some batches; every part that came from them is marked.

    Args:
        batches: The rows. They are read twice where a column seems to name persons: an iterator is held in memory.
        title: Name of the domain.
        nulls: Texts that mean a missing value.
    """
    return draft_domain(batches, title=title, nulls=nulls).domain


def draft_domain(
    batches: Iterable[pa.RecordBatch],
    *,
    title: str = "",
    nulls: Iterable[str] = NULL_WORDS,
    dialect: CsvDialect | None = None,
    labels: Mapping[str, Sequence[str]] | None = None,
) -> Draft:
    """Draft the domain of some batches, with reasons.

    Args:
        batches: The rows. They are read twice where a column seems to name persons: an iterator is held in memory.
        title: Name of the domain.
        nulls: Texts that mean a missing value; those that do not occur are left out of the draft.
        dialect: How numbers and dates are written in texts.
        labels: Levels of columns that the file itself declares, in order.
    """
    rows = list(batches) if isinstance(batches, Iterator) else batches
    used = dialect or CsvDialect()
    profiles: dict[str, Profile] = {}
    absent = frozenset(nulls)
    for batch in rows:
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            own = absent | frozenset(used.absent.get(name, ()))
            profiles.setdefault(name, Profile(name, used)).add(column, own)
    if not profiles or not any(profile.rows for profile in profiles.values()):
        hint = "Bring data that has rows, or write the schema by hand"
        raise DataError("has no rows to infer a schema from", field="source", hint=hint)
    guesses = {name: _guess(profile, (labels or {}).get(name)) for name, profile in profiles.items()}
    attributes = tuple(guess.attribute for guess in guesses.values())
    person = _person(attributes, profiles)
    listed = [each.name for each in attributes if isinstance(each, Categorical) and each.name not in (labels or {})]
    if person is None:
        holders: Holders = {name: profiles[name].values for name in listed}
    else:
        holders = _count_holders(rows, person, listed, absent)
    kept = tuple(_keep_shared(each, holders[each.name]) if each.name in holders else each for each in attributes)
    reasons = {each.name: _reason(each, guesses[each.name]) for each in kept}
    if person is not None:
        reasons[person] = "its values return, so that rows seem to belong to persons"
    domain = Domain(title=title, nulls=tuple(nulls), attributes=kept, person=person, csv=used)
    return Draft(domain=domain, reasons=reasons, notes=tuple(_doubts(profiles, attributes)))


@dataclass(frozen=True)
class _Guess:
    attribute: Attribute
    reason: str


def _guess(profile: Profile, labels: Sequence[str] | None) -> _Guess:
    """Guess the kind of a column."""
    common: dict[str, Any] = {"name": profile.name, "missing": profile.missing > 0}
    if not profile.present:
        return _identifier(profile, "it has no values")
    if labels:
        ordered = Ordinal(**common, levels=tuple(dict.fromkeys(labels)), other=True, derived=("levels", "missing"))
        return _Guess(ordered, "the file declares labels for its codes")
    if set(profile.values) <= {"true", "false"}:
        return _Guess(Boolean(**common, derived=("kind", "missing")), "its values are true and false")
    numbers = profile.numbers()
    if numbers is not None and len(profile.values) > 2:
        return _number(profile, common, *numbers)
    dates = profile.dates()
    if dates is not None and len(profile.values) > 1:
        return _date(common, *dates)
    if profile.overflowed or len(profile.values) > MOST_LEVELS:
        return _identifier(profile, f"it has more than {MOST_LEVELS} different texts")
    levels = tuple(sorted(text for text in profile.values if len(text) < LONGEST))
    if not levels:
        return _identifier(profile, "its texts are long")
    if _KEY_NAME.search(profile.name) is not None and len(levels) > _BINS:
        return _identifier(profile, "its name is one that keys have")
    other = len(levels) < len(profile.values)
    found = Categorical(**common, levels=levels, other=other, derived=("kind", "levels", "missing"))
    return _Guess(found, f"it has {MOST_LEVELS} different texts at most")


def _identifier(profile: Profile, reason: str) -> _Guess:
    return _Guess(Identifier(name=profile.name, derived=("kind",)), reason)


def _number(profile: Profile, common: dict[str, Any], low: float, high: float, whole: bool) -> _Guess:
    if whole and _is_key(profile, low, high):
        return _identifier(profile, "its whole numbers look like keys")
    start, end = round_outward(low, high, whole=whole)
    derived = ("kind", "bounds", "bins", "missing")
    what = "its values are whole numbers" if whole else "its values are numbers"
    if whole and end - start < MOST_LEVELS:
        found = Numeric(**common, bounds=(start, end), integer=True, derived=derived)
        return _Guess(found, f"{what}, few enough for one level each")
    edges = None
    if start == 0 and _is_skewed(profile, high):
        edges, what = log_edges(end, whole=whole), f"{what}, most of them far below the largest: bins are logarithmic"
    else:
        edges = round_edges(start, end, whole=whole)
    bins = _BINS if edges is None else None
    return _Guess(Numeric(**common, bounds=(start, end), edges=edges, bins=bins, integer=whole, derived=derived), what)


def _is_skewed(profile: Profile, high: float) -> bool:
    """Whether half of the values are below a small part of the largest."""
    pairs = sorted((profile.number(text) or 0.0, times) for text, times in profile.values.items())
    half, seen = sum(times for _, times in pairs) / 2, 0
    for value, times in pairs:
        seen += times
        if seen >= half:
            return value > 0 and high / value >= _SKEWED
    return False


def _is_key(profile: Profile, low: float, high: float) -> bool:
    """Whether whole numbers look like keys: all different, called so, or in about equally many rows each.

    Rows of a quantity fall on its values at random, at best evenly: how often values occur then varies as a Poisson
    number that is not 0. Keys of persons with as many rows each vary by far less.
    """
    count = len(profile.values)
    if profile.overflowed or count == profile.present > MOST_LEVELS:
        return high - low >= count - 1
    if _KEY_NAME.search(profile.name) is not None and count > _BINS:
        return True
    times = np.fromiter(profile.values.values(), np.float64)
    mean = float(times.mean())
    if count < _KEY_VALUES or not _LEAST_KEY_ROWS <= mean <= _KEY_ROWS:
        return False
    rate = mean  # lambda of the Poisson law that has this mean where it is not 0: lambda = mean (1 - e^-lambda)
    for _ in range(50):
        rate = -mean * math.expm1(-rate)
    return bool(times.var() <= _KEY_SPREAD * mean * (1 + rate - mean))


def _date(common: dict[str, Any], first: dt.date, last: dt.date) -> _Guess:
    low, high = _years_around(first, last)
    by = "month" if (high - low).days <= 3 * 366 else "year"
    found = Date(**common, bounds=(low, high), by=by, derived=("kind", "bounds", "missing"))
    return _Guess(found, f"its values are dates; counted by {by}")


def _years_around(first: dt.date, last: dt.date) -> tuple[dt.date, dt.date]:
    """Whole years around two days, and never these days; the calendar ends in 9999."""
    low, high = first.replace(month=1, day=1), last.replace(month=12, day=31)
    if low == first and low.year > dt.MINYEAR:
        low = low.replace(year=low.year - 1)
    if high == last and high.year < dt.MAXYEAR:
        high = high.replace(year=high.year + 1)
    return low, high


def _person(attributes: Iterable[Attribute], profiles: Mapping[str, Profile]) -> str | None:
    """The identifier that looks most like persons' keys and whose values return: the rows seem to belong to persons."""
    ranks = {each.name: _person_rank(profiles[each.name]) for each in attributes if each.kind == "identifier"}
    found = {name: rank for name, rank in ranks.items() if rank is not None}
    return max(found, key=lambda name: found[name], default=None)


def _person_rank(profile: Profile) -> tuple[bool, int] | None:
    """Rank a column of identifiers by how much it looks like persons' keys; None if not at all."""
    returning = profile.returned or any(times > 1 for times in profile.values.values())
    if not profile.values or not returning or any(_DAY_TEXT.search(text) for text in profile.values):
        return None
    if other_marks(profile.values, profile.dialect) is not None:  # amounts, written in another way
        return None
    return _KEY_NAME.search(profile.name) is not None, len(profile.values)


def _count_holders(batches: Iterable[pa.RecordBatch], person: str, names: list[str], nulls: frozenset[str]) -> Holders:
    """Count the persons who hold each value, up to `LEAST_HOLDERS`."""
    seen: dict[str, dict[str, set[str]]] = {name: {} for name in names}
    for batch in batches:
        for name in names:
            enough = {text for text, holders in seen[name].items() if len(holders) >= LEAST_HOLDERS}
            for (text, key), _ in tally_pairs(batch, name, person, without=enough):
                holders = seen[name].setdefault(text, set())
                if len(holders) < LEAST_HOLDERS and key not in nulls:
                    holders.add(key)
    return {name: {text: len(holders) for text, holders in found.items()} for name, found in seen.items()}


def _keep_shared(attribute: Attribute, holders: Mapping[str, int]) -> Attribute:
    """An attribute without levels of too few persons; an identifier if it has no others."""
    assert isinstance(attribute, Categorical)
    kept = tuple(level for level in attribute.levels if holders.get(level, 0) >= LEAST_HOLDERS)
    if not kept:
        return Identifier(name=attribute.name, derived=("kind",))
    return attribute.model_copy(update={"levels": kept, "other": attribute.other or len(kept) < len(attribute.levels)})


def _reason(attribute: Attribute, guess: _Guess) -> str:
    if attribute.kind == guess.attribute.kind:
        return guess.reason
    return f"no text of it is held by {LEAST_HOLDERS} or more"


_PADDED = re.compile(r"0\d+")


def _doubts(profiles: Mapping[str, Profile], attributes: Iterable[Attribute]) -> Iterator[str]:
    """Yield values that may mean something else than they say."""
    for each in attributes:
        seen = profiles[each.name]
        if each.kind == "identifier" and (other := other_marks(seen.values, seen.dialect)):
            yield f"{each.name}: its values look like numbers with decimal {other.decimal!r}; they are read as texts."
        if isinstance(each, Numeric):
            if any(_PADDED.fullmatch(str(text)) for text in seen.values):
                yield f"{each.name}: some numbers begin with 0, as codes do. If they are codes, make it categorical."
            found = [seen.number(text) for text in seen.values]
            for value in sentinels([number for number in found if number is not None]):
                yield (
                    f"{each.name}: {value} is far from all other values. If it means a missing value, state it: "
                    f"`csv: {{absent: {{{each.name}: ['{value}']}}}}`."
                )

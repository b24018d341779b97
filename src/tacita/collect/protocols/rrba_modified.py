"""The modified protocol, first reading (M1): each respondent is given one set of attributes at random.

The sets are those of a network: an attribute with its parents. A respondent answers about the whole set with one coin;
all other attributes of the row that is shown are drawn from public tables, given what was answered.

Privacy: local, pure; ln(1 + keep / min(fake)) of the channel of the set, exact. The rest of the row is made from the
report and public tables, so it costs nothing.
Utility: unbiased for each set from its own answers; about one respondent in as many as there are sets answers about it.
Values that were filled in carry no information and are never counted: `emit_rows` marks them, and estimates use
reports.
Claim page: docs/claims/rrba.md.   Flags: unvetted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.estimating.tally import Reports
from tacita.collect.planning.design import Asked, CollectionDesign
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.tables.cells import Cells

__all__ = ["NoisyRows", "check_sets", "conditional", "emit_rows", "one_set_design"]

Key = tuple[str, ...]
Codes = NDArray[np.int64]
Public = Mapping[Key, Cells]


def check_sets(domain: Domain, sets: Sequence[Sequence[str]]) -> tuple[Key, ...]:
    """The sets as tuples, after checking that each has a table and that no two are the same."""
    keys = tuple(domain.check_countable(key) for key in sets)
    if not keys or len({frozenset(key) for key in keys}) < len(keys) or not all(keys):
        raise InvalidInput("must be different sets of attributes, one at least", field="sets", value=keys)
    return keys


def one_set_design(
    domain: Domain,
    sets: Sequence[Sequence[str]],
    *,
    epsilon: float,
    respondents: int,
    tables: Public | None = None,
    floor: float = 1.0,
) -> CollectionDesign:
    """The design of the protocol: one question for each set, all equally likely, each with the whole epsilon.

    `tally.respond` and `Tally` run it.

    Args:
        domain: The attributes.
        sets: Which are asked together.
        epsilon: The loss that every respondent accepts.
        respondents: How many are expected.
        tables: Public tables that fakes are drawn from; uniform where there is none.
        floor: Weight of the uniform among the fakes; at 1 the tables are not used, which is best.
    """
    keys = check_sets(domain, sets)
    questions = tuple(
        Asked(attributes=key, channel=_channel(domain.project(key), key, tables, epsilon, floor), share=1 / len(keys))
        for key in keys
    )
    why = f"one random set of {len(keys)} for each respondent, with one coin for the whole set"
    return CollectionDesign(
        domain=domain, questions=questions, epsilon=epsilon, respondents=respondents, mode="tables", why=why
    )


def _channel(domain: Domain, key: Key, tables: Public | None, epsilon: float, floor: float) -> RandomizedResponse:
    if tables is None or key not in tables:
        return RandomizedResponse.k_ary(levels=domain.size, epsilon=epsilon)
    shares = conditional(tables[key], (), key)[0].tolist()
    return RandomizedResponse.with_fakes(distribution=shares, epsilon=epsilon, floor=floor)


def conditional(table: Cells, given: Key, new: Key) -> NDArray[np.float64]:
    """P(new | given) of a public table: a row for each cell of `given`, a column for each cell of `new`.

    Where a cell of `given` has no mass the row is the margin of `new`, and the uniform one if that has none either.
    """
    if (table.values < 0).any():
        raise InvalidInput("must not be negative", field="tables", hint="Project it first: project_table")
    rows = int(np.prod([table.domain[name].size for name in given], initial=1))
    shares = table.project((*given, *new)).values.astype(float).reshape(rows, -1)
    margin = shares.sum(axis=0)
    margin = margin / margin.sum() if margin.any() else np.full(margin.size, 1 / margin.size)
    mass = shares.sum(axis=1, keepdims=True)
    return np.where(mass > 0, shares / np.where(mass > 0, mass, 1), margin)


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyRows:
    """Whole rows made from reports. They look like data, but only the answered values come from respondents.

    Attributes:
        codes: A column for each attribute. answered: Where the respondent's report says it; elsewhere it was filled in.
    """

    codes: Mapping[str, Codes]
    answered: Mapping[str, NDArray[np.bool_]]


def emit_rows(design: CollectionDesign, reports: Reports, tables: Public, rng: np.random.Generator) -> NoisyRows:
    """Complete each report to a row: draw the other attributes from public tables, given those that the row has.

    Post-processing: it uses reports and public tables only. Tables that share most with the row come first, and each
    draw is a fresh one.

    Args:
        design: The questions.
        reports: The answers.
        tables: Public tables that together hold all attributes of the design; non-negative.
        rng: Of the draws, which need no secure randomness.
    """
    names = tuple(dict.fromkeys(name for asked in design.questions for name in asked.attributes))
    missing = set(names) - {name for key in tables for name in key}
    if missing:
        raise InvalidInput("no public table holds it", field="tables", value=min(missing))
    parts = [_fill(design, number, batch, tables, rng) for number, batch in sorted(reports.by_question.items())]
    return NoisyRows(
        codes={name: np.concatenate([codes[name] for codes, _ in parts]) for name in names},
        answered={
            name: np.concatenate([np.full(len(codes[name]), name in key) for codes, key in parts]) for name in names
        },
    )


def _fill(
    design: CollectionDesign, number: int, batch: NDArray[Any], tables: Public, rng: np.random.Generator
) -> tuple[dict[str, Codes], Key]:
    key = design.questions[number].attributes
    shape = design.domain.project(key).shape
    codes = dict(zip(key, np.unravel_index(np.asarray(batch).astype(np.int64), shape), strict=True))
    left = list(tables)
    while left:
        nearest = max(left, key=lambda other: sum(name in codes for name in other))
        left.remove(nearest)
        given = tuple(name for name in nearest if name in codes)
        new = tuple(name for name in nearest if name not in codes)
        if new:
            codes |= _draw(tables[nearest], given, new, codes, rng)
    return codes, key


def _draw(table: Cells, given: Key, new: Key, codes: Mapping[str, Codes], rng: np.random.Generator) -> dict[str, Codes]:
    steps = np.cumsum(conditional(table, given, new), axis=1)[:, :-1]  # the last one is 1 whatever was rounded
    people = len(next(iter(codes.values())))
    place = np.zeros(people, dtype=np.int64)
    if given:
        place = np.ravel_multi_index([codes[name] for name in given], [table.domain[name].size for name in given])
    cells = (rng.random(people)[:, None] >= steps[place]).sum(axis=1)
    return dict(zip(new, np.unravel_index(cells, [table.domain[name].size for name in new]), strict=True))

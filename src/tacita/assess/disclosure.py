"""Disclosure risk by scenario: an intruder knows a few fields of some people and searches for them in m releases.

    Pr(J = j | t) = 1/m sum_i [ released row of j in release i fits t ] / N_(t,i)      0 where no one fits
    R    targets with one best match;  T of them whose best match is right;  F = R without T
    true match rate T / targets,  false match rate F / R,  expected match risk mean of [right one among best] / c_t

Where membership is not known, 1/N is replaced by min(1/F_t, 1/N) with F_t people of the population that fit; the rest
of the probability is that of "not in the sample".   [Reiter 2005; Drechsler, Reiter 2008]

A released row belongs to a person if it was made from that person's row, as in partial synthesis. Where rows belong to
no one there is nothing to match, and this estimator does not apply; other attacks do. The owner of a row is never
guessed from its position: most releases are shuffled, and every match would be counted as wrong.

Privacy: reads exact rows; rates are for the owner, and so are the row numbers of the riskiest records, which are never
released.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from tacita.assess.frame import Frame
from tacita.assess.rates import Rate, Risk
from tacita.assess.scenario import Scenario, held_by
from tacita.common.compiled import compiled
from tacita.errors import InvalidInput

__all__ = ["Belongs", "Disclosure", "disclosure_risk"]

Belongs = Sequence[NDArray[np.int64]] | Literal["same rows"]
"""For each release, the real row that each released row belongs to, -1 for none; or that row i belongs to person i."""

_MOST = 2**62  # upper bound of the numbers of combinations
_MOST_CODES = 2**31


@dataclass(frozen=True, kw_only=True)
class Disclosure:
    """Match rates of a scenario.

    Attributes:
        targets: Number of people that the intruder searched for.
        unique: Number of them with one best match.
        true: Number of those that were right.
        expected: Expected share of targets that a guess among the best matches finds.
        certainty: Mean probability of the right match, over all targets.
        riskiest: Rows of the real data with the highest probability of a right match; for their owner only, so
            `as_dict` leaves them out.
    """

    targets: int
    unique: int
    true: int
    expected: float
    certainty: float
    membership: str
    releases: int
    riskiest: tuple[tuple[int, float], ...] = field(repr=False, default=())

    @property
    def name(self) -> str:
        """The attack."""
        return "match in the scenario"

    def risks_at(self, level: float) -> tuple[Risk, ...]:
        """Return the true match rate with its exact interval of this confidence."""
        rate = self.true_rate
        return (Risk(self.name, rate.share, *rate.exact(level), rate.trials),)

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """The result in words, for a page."""
        false = self.false_rate
        return (
            ("targets", f"{self.targets:,}; membership {self.membership}"),
            ("right unique matches", f"{self.true_rate.share:.2%} of the targets"),
            ("wrong among unique matches", "no unique match" if false is None else f"{false:.1%}: higher is safer"),
            ("expected share found", f"{self.expected:.2%}"),
        )

    @property
    def true_rate(self) -> Rate:
        """Share of right unique matches among targets; lower is safer."""
        return Rate(successes=self.true, trials=self.targets)

    @property
    def false_rate(self) -> float | None:
        """Share of wrong ones among unique matches; higher is safer. None if there was no unique match."""
        return (self.unique - self.true) / self.unique if self.unique else None

    def as_dict(self) -> dict[str, Any]:
        """Return plain data without any person's row."""
        false = self.false_rate
        return {
            "targets": self.targets,
            "unique_matches": self.unique,
            "true_match_rate": self.true_rate.as_dict(),
            "false_match_rate": "no unique match" if false is None else false,
            "expected_match_risk": self.expected,
            "certainty": self.certainty,
            "membership": self.membership,
            "releases": self.releases,
        }


def disclosure_risk(
    scenario: Scenario,
    real: Frame,
    released: Sequence[Frame],
    *,
    belongs: Belongs | None,
    population: Frame | None = None,
    riskiest: int = 10,
) -> Disclosure:
    """Compute the match rates of a scenario.

    Args:
        scenario: The intruder's knowledge and targets.
        real: The people in the data.
        released: The releases.
        belongs: For each release, the real row that each released row belongs to, -1 for no one; "same rows" where
            the releases keep the order of the real rows. None is refused.
        population: The whole population, the people in the data first. Needed where membership is not known: targets
            are then taken from it, and most of them are not in the data.
        riskiest: Number of the riskiest records to list for the owner.
    """
    scenario.check(real.domain)
    if not released:
        raise InvalidInput("must be at least one", field="released")
    owners = _owners(real, released, belongs)
    if scenario.membership == "unknown" and population is None:
        raise InvalidInput(
            "is needed where membership is not known",
            field="population",
            hint="Give the whole population, the people in the data first",
        )
    if population is not None and (
        population.names != real.names
        or not np.array_equal(population.values[: len(real)], real.values, equal_nan=True)
    ):
        raise InvalidInput(
            "must hold the people in the data first, in their order, then the others", field="population"
        )
    _check_closed(scenario, (real, *released))
    everybody = real if scenario.membership == "known" else cast("Frame", population)
    wanted = held_by(scenario.targets, everybody)
    who = np.flatnonzero(wanted)
    if not who.size:
        raise InvalidInput("no one is a target", field="targets", hint="Loosen its conditions")
    weights = _weights(scenario, everybody.take(who), cast("Frame", population))
    best = np.empty(len(who))
    ties = np.zeros(len(who), np.int64)
    right, claimed = np.zeros(len(who)), np.zeros(len(who))
    sides = [
        _Side.of(scenario, everybody.take(who), frame, owner) for frame, owner in zip(released, owners, strict=True)
    ]
    _match(
        np.concatenate([side.starts for side in sides]).reshape(len(sides), -1),
        np.concatenate([side.ends for side in sides]).reshape(len(sides), -1),
        *_stacked(sides),
        weights,
        np.where(who < len(real), who, -1),
        best,
        ties,
        right,
        claimed,
    )
    named = best > 0
    if scenario.membership == "unknown":
        named &= best > 1 - claimed  # "not in the sample" may be the best guess
    unique = named & (ties == 1)
    good = named & (right >= best - 1e-12) & (right > 0)
    order = np.argsort(-right, kind="stable")[:riskiest]
    return Disclosure(
        targets=len(who),
        unique=int(unique.sum()),
        true=int((unique & good).sum()),
        expected=float(np.mean(np.where(good, 1 / np.maximum(ties, 1), 0.0))),
        certainty=float(right.mean()),
        membership=scenario.membership,
        releases=len(released),
        riskiest=tuple((int(who[place]), float(right[place])) for place in order if right[place] > 0),
    )


def _check_closed(scenario: Scenario, frames: Sequence[Frame]) -> None:
    """Refuse fields whose labels allow several values: a value drawn from them would match by chance."""
    matched = {*scenario.exact, *scenario.within, *(each.attribute for each in scenario.also)}
    opened = sorted(matched & frozenset[str]().union(*(frame.opened for frame in frames)))
    if opened:
        raise InvalidInput(
            "its labels allow several values, so no one matches it exactly",
            field="released",
            value=", ".join(opened),
            hint="For classes, see the risks of the anonymization; for other attacks leave the scenario out",
        )


def _owners(real: Frame, released: Sequence[Frame], belongs: Belongs | None) -> list[NDArray[np.int64]]:
    if belongs is None:
        raise InvalidInput(
            "released rows belong to no one in particular: a scenario needs the real row of each",
            field="belongs",
            hint=(
                "For imputed rows give the key of origins; for rows in the order of the real ones say so; where rows "
                "are wholly synthetic there is nothing to match: use the other attacks"
            ),
        )
    if isinstance(belongs, str):
        if belongs != "same rows" or any(len(frame) != len(real) for frame in released):
            raise InvalidInput("must have as many rows as the real ones, to be in their order", field="released")
        return [np.arange(len(real)) for _ in released]
    if len(belongs) != len(released):
        raise InvalidInput("must be one for each release", field="belongs", value=len(belongs))
    found = [np.asarray(each, np.int64) for each in belongs]
    for owner, frame in zip(found, released, strict=True):
        if owner.shape != (len(frame),) or owner.max(initial=-1) >= len(real):
            raise InvalidInput("must name a real row, or -1, for each released row", field="belongs")
    if all((owner < 0).all() for owner in found):
        raise InvalidInput(
            "released rows are wholly synthetic: none belongs to a real person, so there is nothing to match",
            field="belongs",
            hint="Leave the scenario out, and use the other attacks",
        )
    return found


def _weights(scenario: Scenario, targets: Frame, population: Frame | None) -> NDArray[np.float64]:
    """Compute the largest weight of one released row for each target: 1, or 1/F where membership is not known."""
    if scenario.membership == "known" or population is None:
        return np.ones(len(targets))
    side = _Side.of(scenario, targets, population, np.arange(len(population)))
    counts = np.zeros(len(targets), np.int64)
    _count_fitting(side.starts, side.ends, side.others, side.tolerances, side.wanted, counts)
    return 1 / np.maximum(counts, 1)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Side:
    """One release, sorted by the exact fields and then by the field with the smallest distance.

    So the rows that could fit a target are contiguous, from `starts` to `ends`; further fields that are known up to a
    distance are checked row by row.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    people: NDArray[np.int64]
    others: NDArray[np.float64]
    wanted: NDArray[np.float64]
    tolerances: NDArray[np.float64]

    @classmethod
    def of(cls, scenario: Scenario, targets: Frame, frame: Frame, owner: NDArray[np.int64]) -> _Side:
        kept = np.flatnonzero(held_by(scenario.also, frame))
        rows = frame.take(kept)
        ours, theirs = _keys(targets, rows, scenario.exact)
        # the most selective field comes first, so that fewest rows are checked one by one
        near = sorted(scenario.within, key=lambda name: scenario.within[name] / rows.widths[rows.place(name)])
        line = rows.column(near[0]) if near else np.zeros(len(rows))
        order = np.lexsort((line, theirs))
        theirs, line = theirs[order], line[order]
        at = targets.column(near[0]) if near else np.zeros(len(targets))
        far = scenario.within[near[0]] if near else 0.0
        starts, ends = np.empty(len(targets), np.int64), np.empty(len(targets), np.int64)
        _spans(ours, at - far, at + far, theirs, line, starts, ends)
        rest = near[1:]
        return cls(
            starts=starts,
            ends=ends,
            people=owner[kept][order],
            others=np.ascontiguousarray(rows.values[order][:, rows.places(rest)]),
            wanted=np.ascontiguousarray(targets.values[:, targets.places(rest)]),
            tolerances=np.array([scenario.within[name] for name in rest]),
        )


def _keys(one: Frame, other: Frame, names: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the combinations of exact fields, with the same numbers in both frames."""
    both, size = np.zeros(len(one) + len(other), np.int64), 1
    for name in names:
        codes = _codes(np.concatenate([one.column(name), other.column(name)]))
        many = int(codes.max(initial=0)) + 1
        if size * many >= _MOST:
            _, both = np.unique(both, return_inverse=True)
            size = int(both.max(initial=0)) + 1
        both, size = both * many + codes, size * many
    return both[: len(one)], both[len(one) :]


def _codes(column: NDArray[np.float64]) -> NDArray[np.int64]:
    """Code the values of a column as small whole numbers; all missing values share one code."""
    known = column[~np.isnan(column)]
    low = known.min(initial=0.0)
    if known.size and (known == np.floor(known)).all() and known.max() - low < _MOST_CODES:
        return np.where(np.isnan(column), 0, column - low + 1).astype(np.int64)
    return np.unique(np.nan_to_num(column, nan=np.inf), return_inverse=True)[1].astype(np.int64)


def _stacked(sides: list[_Side]) -> tuple[Any, ...]:
    """Concatenate the rows of all releases, with the start of each."""
    begins = np.cumsum([0, *(len(side.people) for side in sides)])[:-1]
    return (
        begins.astype(np.int64),
        np.concatenate([side.people for side in sides]),
        np.concatenate([side.others for side in sides]),
        sides[0].wanted,
        sides[0].tolerances,
    )


@compiled
def _spans(keys: Any, low: Any, high: Any, their_keys: Any, line: Any, starts: Any, ends: Any) -> None:
    """Find the first and last row with a key and a value from low to high, by bisection; NaN fits nothing."""
    for t in range(keys.size):
        starts[t] = ends[t] = 0
        if not low[t] <= high[t]:
            continue
        for edge in range(2):
            first, last = 0, their_keys.size
            while first < last:
                middle = (first + last) // 2
                if their_keys[middle] != keys[t]:
                    before = their_keys[middle] < keys[t]
                elif edge == 0:
                    before = line[middle] < low[t]
                else:
                    before = line[middle] <= high[t]
                if before:
                    first = middle + 1
                else:
                    last = middle
            if edge == 0:
                starts[t] = first
            else:
                ends[t] = max(first, starts[t])


@compiled
def _fits(others: Any, row: Any, wanted: Any, t: Any, tolerances: Any) -> Any:
    near = True
    for j in range(tolerances.size):
        near &= abs(others[row, j] - wanted[t, j]) <= tolerances[j]
    return near


@compiled
def _count_fitting(starts: Any, ends: Any, others: Any, tolerances: Any, wanted: Any, counts: Any) -> None:
    for t in range(starts.size):
        for row in range(starts[t], ends[t]):
            if _fits(others, row, wanted, t, tolerances):
                counts[t] += 1


@compiled
def _match(
    starts: Any,
    ends: Any,
    begins: Any,
    people: Any,
    others: Any,
    wanted: Any,
    tolerances: Any,
    weights: Any,
    truth: Any,
    best: Any,
    ties: Any,
    right: Any,
    claimed: Any,
) -> None:
    """Compute for each target the largest probability of a person, its ties, that of the right one, and the sum."""
    releases, targets = starts.shape
    for t in range(targets):
        size = 0
        for i in range(releases):
            size += ends[i, t] - starts[i, t]
        found, share = np.empty(size, np.int64), np.empty(size)
        used = 0
        for i in range(releases):
            begin = used
            for row in range(begins[i] + starts[i, t], begins[i] + ends[i, t]):
                if _fits(others, row, wanted, t, tolerances):
                    found[used] = people[row]
                    used += 1
            for place in range(begin, used):
                share[place] = min(weights[t], 1.0 / (used - begin)) / releases
        order = np.argsort(found[:used])
        best[t], ties[t], right[t], claimed[t] = 0.0, 0, 0.0, share[:used].sum()
        place = 0
        while place < used:
            person, total = found[order[place]], 0.0
            alone = person < 0  # rows that belong to no one are not merged: each counts by itself
            while place < used and found[order[place]] == person:
                total += share[order[place]]
                place += 1
                if alone:
                    break
            if total > best[t] + 1e-12:
                best[t], ties[t] = total, 1
            elif total > best[t] - 1e-12:
                ties[t] += 1
            if person >= 0 and person == truth[t]:
                right[t] = total

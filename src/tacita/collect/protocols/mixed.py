"""A record of mixed kinds under one budget: tables of categories, curves of ordered numbers, means.

Each respondent is given one of all these questions at random and answers it with the whole epsilon. So a record with
ten attributes of three kinds costs no more than one answer. The shares of the questions are public and use no data.

    table    any design of `plan_collection`, tables with covariance
    curve    Square Wave over the bins of a number, smooth and biased, without intervals
    mean     the hybrid of Piecewise and Duchi's coin, unbiased, with an interval

Privacy: local, pure; that of the dearest question.
Claim pages: docs/claims/square-wave.md, docs/claims/local-means.md, and those of the tables' channels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.collect.channels.numbers.numeric import HybridMean, MeanChannel, MeanEstimate
from tacita.collect.channels.numbers.square_wave import SquareWave
from tacita.collect.estimating.tally import Reports, Tally, respond
from tacita.collect.planning.design import UNIT, CollectionDesign
from tacita.collect.planning.plan import plan_collection
from tacita.domain import Domain, Numeric
from tacita.errors import InvalidInput, UnknownName
from tacita.noise import Source
from tacita.tables.cells import Cells
from tacita.tables.workload import Workload

__all__ = ["MixedDesign", "MixedReports", "MixedTally", "plan_mixed", "respond_mixed"]

Array = NDArray[Any]
_TABLES = "tables"


@dataclass(frozen=True, kw_only=True)
class MixedDesign:
    """Questions of mixed kinds, and the share of the respondents for each.

    Args:
        domain: The attributes.
        tables: The questions about categories, if there are any.
        curves: A Square Wave for each attribute whose distribution is asked for.
        means: A channel for each attribute whose mean is asked for.
        table_share: Share of the respondents who get a question of `tables`; the others are split evenly.
    """

    domain: Domain = field(repr=False)
    tables: CollectionDesign | None
    curves: Mapping[str, SquareWave]
    means: Mapping[str, MeanChannel]
    table_share: float

    def __post_init__(self) -> None:
        UNIT.check(self.domain)
        if not (self.tables or self.curves or self.means):
            raise InvalidInput("must ask for at least one table, curve or mean", field="design")
        least, most = float(not (self.curves or self.means)), float(self.tables is not None)
        if not least <= self.table_share <= most:
            raise InvalidInput(f"must be {least:g} to {most:g}", field="table_share", value=self.table_share)

    @cached_property
    def shares(self) -> dict[tuple[str, str], float]:
        """Share of the respondents who get each (kind, attribute)."""
        others = [("curve", name) for name in self.curves] + [("mean", name) for name in self.means]
        found = {(_TABLES, ""): self.table_share} if self.tables is not None else {}
        left = 1 - sum(found.values())
        return found | {key: left / len(others) for key in others}

    @property
    def epsilon_upper(self) -> float:
        """The most that answering costs: that of the dearest question."""
        losses = [wave.epsilon_upper for wave in self.curves.values()]
        losses += [channel.epsilon_upper for channel in self.means.values()]
        return max(losses + ([self.tables.epsilon_upper] if self.tables is not None else []))


def _numeric(domain: Domain, name: str) -> Numeric:
    attribute = domain[name]
    if not isinstance(attribute, Numeric):
        raise InvalidInput("must be a number", field=name, value=attribute.kind, hint="Ask for its table instead")
    if attribute.size != len(attribute.labels):
        hint = "A value that is missing has no place on the line; ask for its table instead"
        raise InvalidInput("must have no bucket beside its bins", field=name, hint=hint)
    return attribute


def plan_mixed(
    domain: Domain,
    *,
    tables: Iterable[Iterable[str]] = (),
    curves: Iterable[str] = (),
    means: Iterable[str] = (),
    respondents: int,
    epsilon: float,
) -> MixedDesign:
    """Plan questions of several kinds; each question gets the same share of the respondents, tables by their number.

    Args:
        domain: What may be asked; all of it public.
        tables: Combinations whose tables are wanted.
        curves: Numbers whose distribution is wanted, over their bins.
        means: Numbers whose mean is wanted, within their bounds.
        respondents: How many are expected to answer.
        epsilon: What each may spend.
    """
    domain.require_public()
    wanted = [tuple(key) for key in tables]
    waves = {name: SquareWave.of(levels=_numeric(domain, name).size, epsilon=epsilon) for name in curves}
    bounds = {name: _numeric(domain, name).line_bounds for name in means}
    channels = {name: HybridMean.of(epsilon=epsilon, low=low, high=high) for name, (low, high) in bounds.items()}
    numbers = len(waves) + len(channels)
    share = len(wanted) / (len(wanted) + numbers) if wanted or numbers else 0.0
    design = None
    if wanted:
        answering = max(1, round(respondents * share))
        design = plan_collection(domain, Workload.of(*wanted), respondents=answering, epsilon=epsilon, mode="tables")
    return MixedDesign(domain=domain, tables=design, curves=waves, means=channels, table_share=share)


@dataclass(frozen=True, kw_only=True)
class MixedReports:
    """Reports of the devices: those of tables, and for each number asked, its reports."""

    tables: Reports | None
    numbers: Mapping[tuple[str, str], Array]
    simulated: bool


def respond_mixed(
    design: MixedDesign, codes: Mapping[str, Array], values: Mapping[str, Array], source: Source, *, seed: int
) -> MixedReports:
    """Return the reports of these people's devices: each gets one random question and randomises its own answer.

    Args:
        design: The public design.
        codes: True codes of every attribute whose table or curve is asked, one row for each person.
        values: True numbers of every attribute whose mean is asked; outside its bounds they are clipped.
        source: Randomness of the channels.
        seed: Of the assignment, which is public; it must not have been used to simulate the people.
    """
    lengths = {len(column) for column in (*codes.values(), *values.values())}
    if len(lengths) != 1:
        raise InvalidInput("must hold one row for each person", field="codes", value=sorted(lengths))
    for_kind, for_table = np.random.SeedSequence(seed).spawn(2)
    shares = np.array(list(design.shares.values()))
    lot = np.random.default_rng(for_kind).choice(len(shares), size=lengths.pop(), p=shares)
    tables, numbers = None, {}
    for drawn, (kind, name) in enumerate(design.shares):
        chosen = lot == drawn
        if kind == _TABLES and design.tables is not None and chosen.any():
            own = {each: column[chosen] for each, column in codes.items()}
            tables = respond(design.tables, own, source, seed=int(for_table.generate_state(1)[0]))
        elif kind == "curve":
            bins = np.asarray(codes[name])[chosen].astype(np.int64)
            wave = design.curves[name]
            # respondents whose value is out of domain answer as well, with the middle of the range
            numbers[kind, name] = wave.randomize(np.where(bins < wave.levels, bins, wave.levels // 2), source)
        elif kind == "mean":
            low, high = _numeric(design.domain, name).line_bounds
            held = np.nan_to_num(np.asarray(values[name], dtype=float)[chosen], nan=(low + high) / 2)
            numbers[kind, name] = design.means[name].randomize(np.clip(held, low, high), source)
    return MixedReports(tables=tables, numbers=numbers, simulated=source.simulated)


class MixedTally:
    """Counts of mixed reports, as an aggregator keeps them; tallies of disjoint people add up."""

    def __init__(self, design: MixedDesign) -> None:
        self.design = design
        self.tables = Tally(design.tables) if design.tables is not None else None
        self.simulated = False
        self._numbers: dict[tuple[str, str], NDArray[np.int64]] = {}

    def _channel(self, key: tuple[str, str]) -> SquareWave | MeanChannel:
        kind, name = key
        return self.design.curves[name] if kind == "curve" else self.design.means[name]

    def add(self, reports: MixedReports) -> MixedTally:
        """Count some reports; they need not be kept."""
        counted = {key: self._channel(key).tally(batch) for key, batch in reports.numbers.items() if len(batch)}
        if reports.tables is not None and self.tables is not None:
            self.tables.add(reports.tables)
        return self._join(counted, simulated=reports.simulated)

    def _join(self, counted: Mapping[tuple[str, str], NDArray[np.int64]], *, simulated: bool) -> MixedTally:
        for key, counts in counted.items():
            self._numbers[key] = self._numbers.get(key, np.zeros_like(counts)) + counts
        self.simulated = self.simulated or simulated
        return self

    def merge(self, other: MixedTally) -> MixedTally:
        """The tally of both aggregators' people."""
        if other.design != self.design:
            raise InvalidInput("must be of the same design", field="tally")
        merged = MixedTally(self.design)
        if self.tables is not None and other.tables is not None:
            merged.tables = self.tables.merge(other.tables)
        for part in (self, other):
            merged._join(part._numbers, simulated=part.simulated)
        return merged

    def _counts(self, kind: str, name: str) -> NDArray[np.int64]:
        if (kind, name) not in self._numbers:
            raise UnknownName(name, field=kind, available=[n for k, n in self._numbers if k == kind])
        return self._numbers[kind, name]

    def mean(self, name: str) -> MeanEstimate:
        """The mean of a number, unbiased, with its standard error."""
        return self.design.means[name].estimate(self._counts("mean", name))

    def curve(self, name: str) -> Cells:
        """The distribution of a number over its bins: never negative, smooth, biased."""
        fitted = self.design.curves[name].distribution(self._counts("curve", name))
        return Cells(self.design.domain.project((name,)), np.asarray(fitted.frequencies))

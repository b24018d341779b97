"""What an aggregator keeps: how often each cell was supported, for every question. Tallies of disjoint people add up.

The respondents' side (`respond`) and the aggregator's side (`Tally.add`) are two functions; nothing but reports
passes from one to the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.cells import Cells
from tacita.collect.design import Asked, Design
from tacita.collect.protocol import About
from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.errors import InvalidInput
from tacita.noise import SeededSource, Source
from tacita.privacy.event import Pure
from tacita.privacy.unit import Neighbours, Unit
from tacita.release import Provenance, Release, Releases
from tacita.uncertainty import Correlated

__all__ = ["Reports", "Tally", "respond", "simulate"]

Array = NDArray[Any]
Reports = dict[int, Array]
"""Reports by the number of their question."""


def joint_codes(domain: Domain, asked: Asked, codes: Mapping[str, Array]) -> Array:
    """The cell of each row in the table of a question; rows without a place in it are left out."""
    shape = tuple(domain[name].size for name in asked.attributes)
    columns = [np.asarray(codes[name]) for name in asked.attributes]
    placed = np.logical_and.reduce([column < size for column, size in zip(columns, shape, strict=True)])
    return np.ravel_multi_index([column[placed].astype(np.int64) for column in columns], shape)


def respond(design: Design, codes: Mapping[str, Array], source: Source, *, seed: int) -> Reports:
    """What the devices of these people send: each is given one question by lot and randomises its own answer.

    Args:
        design: The public design.
        codes: True codes of every attribute, one row for each person. They do not leave this function.
        source: Randomness of the channels.
        seed: Of the lot, which is public.
    """
    people = len(next(iter(codes.values())))
    lot = np.random.default_rng(seed).choice(len(design.questions), size=people, p=design.shares)
    reports = {}
    for number, asked in enumerate(design.questions):
        chosen = lot == number
        cells = joint_codes(design.domain, asked, {name: codes[name][chosen] for name in asked.attributes})
        if len(cells):
            reports[number] = asked.channel.randomize(cells, source)
    return reports


class Tally:
    """Supports and numbers of reports of every question of a design."""

    def __init__(self, design: Design, *, simulated: bool) -> None:
        self.design, self.simulated = design, simulated
        self._counts: dict[int, NDArray[np.int64]] = {}

    def add(self, reports: Reports) -> Tally:
        """Count some reports; they need not be kept."""
        for number, batch in reports.items():
            counts = self.design.questions[number].channel.tally(batch)
            self._counts[number] = self._counts.get(number, np.zeros_like(counts)) + counts
        return self

    def merge(self, other: Tally) -> Tally:
        """The tally of both aggregators' people."""
        if other.design is not self.design and other.design != self.design:
            raise InvalidInput("must be of the same design", field="tally")
        merged = Tally(self.design, simulated=self.simulated or other.simulated)
        for part in (self, other):
            for number, counts in part._counts.items():
                merged._counts[number] = merged._counts.get(number, np.zeros_like(counts)) + counts
        return merged

    def __iter__(self) -> Iterator[tuple[Asked, NDArray[np.int64]]]:
        for number in sorted(self._counts):
            yield self.design.questions[number], self._counts[number]

    def releases(self, about: About = "population") -> Releases:
        """Unbiased shares of every table that was asked, each with its covariance; tables may disagree."""
        return Releases(self._release(asked, counts, about) for asked, counts in self)

    def _release(self, asked: Asked, counts: NDArray[np.int64], about: About) -> Release:
        domain = self.design.domain.project(asked.attributes)
        found = asked.channel.estimate(counts, about=about)
        recipe = {"method": "collection", "channel": type(asked.channel).__name__, "about": about}
        return Release(
            estimate=Cells(domain, np.asarray(found.frequencies).reshape(domain.shape)),
            quantity="share",
            uncertainty=Correlated(covariance=found.uncertainty),
            event=Pure(epsilon=asked.channel.epsilon_upper),
            unit=Unit.row(),
            neighbours=Neighbours.REPLACE_ONE,
            trust="local",
            provenance=Provenance(recipe=recipe | {"respondents": found.respondents}, simulated=self.simulated),
        )


def simulate(design: Design, engine: Engine, source: SeededSource) -> Tally:
    """Run a whole collection over the rows of an engine, as if each were a respondent. For planning and studies."""
    names = sorted({name for asked in design.questions for name in asked.attributes})
    tally = Tally(design, simulated=True)
    for number, batch in enumerate(engine.rows(names)):
        codes = engine.domain.encode(batch, names)
        tally.add(respond(design, codes, source, seed=source.seed * 1_000_003 + number))
    return tally

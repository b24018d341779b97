"""All tables of up to k yes-or-no attributes from one bit of each respondent.  [Cormode, Kulkarni, Srivastava 2018]

A table over attributes B is a sum of coefficients c_S of the sets S inside B:

    P_B(v) = 2^-|B| sum_{S in B} c_S (-1)^(sum of v over S),      c_S = E (-1)^(sum of x over S),   c_{} = 1

so the coefficients of all sets of at most k attributes give every table of at most k of them, and tables that share
attributes agree by themselves. Each respondent is given one random set and sends the parity of its own values there.

Privacy: local, pure; that of randomized response of one bit with the whole epsilon, exact. The lot is public.
Utility: unbiased, with a covariance. The variance of a coefficient with n answers is (1 - p^2 c^2) / (n p^2), with
p = (e^eps - 1) / (e^eps + 1). A small set serves more tables than a large one, so it is asked more often: shares
proportional to the root of the number of tables of k attributes that it is in, which makes the sum of all variances
least. With all sets alike it is the published method.
Cost: one word a respondent for the lot, one for the bit; O(number of sets) on the server.
Claim page: docs/claims/fourier-marginals.md.   Flags: unvetted.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.planning.design import UNIT
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.noise import Source
from tacita.privacy.event import Pure
from tacita.privacy.unit import Neighbours
from tacita.tables.cells import Cells
from tacita.tables.release import Provenance, Release
from tacita.tables.simplex import project_table
from tacita.tables.uncertainty import Correlated, Covariance

__all__ = ["Coefficients", "FourierDesign", "FourierReports", "FourierTally"]

Array = NDArray[np.float64]
Key = tuple[str, ...]

_MOST_ATTRIBUTES = 64  # a record is one word
_MOST_SETS = 2**20


@dataclass(frozen=True, kw_only=True)
class FourierDesign:
    """Coefficients to ask, and the share of the respondents for each. Public: it is sent to every device.

    Args:
        domain: Attributes of two levels each.
        order: The most attributes that a table will have.
        epsilon: The loss wanted; the true one is at most this, and less by no more than 1e-9.
        even: Whether all coefficients are asked equally often, as published.
    """

    domain: Domain = field(repr=False)
    order: int
    epsilon: float
    even: bool = False

    def __post_init__(self) -> None:
        UNIT.check(self.domain)
        names = self.domain.countable
        for name in names:
            if self.domain[name].size != 2:
                raise InvalidInput("must have two levels", field=name, value=self.domain[name].size)
        if len(names) > _MOST_ATTRIBUTES:
            raise InvalidInput(f"must be at most {_MOST_ATTRIBUTES} attributes", field="domain", value=len(names))
        if type(self.order) is not int or not 1 <= self.order <= len(names):
            raise InvalidInput(f"must be an integer from 1 to {len(names)}", field="order", value=self.order)
        sets = sum(comb(len(names), size) for size in range(1, self.order + 1))
        if sets > _MOST_SETS:
            raise InvalidInput(f"needs more than {_MOST_SETS} coefficients", field="order", value=self.order)

    @cached_property
    def channel(self) -> RandomizedResponse:
        """Channel that randomises a parity."""
        return RandomizedResponse.k_ary(levels=2, epsilon=self.epsilon)

    @cached_property
    def sets(self) -> tuple[Key, ...]:
        """The sets whose coefficients are asked, small ones first, attributes in the order of the domain."""
        sizes = range(1, self.order + 1)
        return tuple(key for size in sizes for key in itertools.combinations(self.domain.countable, size))

    @cached_property
    def numbers(self) -> dict[frozenset[str], int]:
        """The number of each set."""
        return {frozenset(key): number for number, key in enumerate(self.sets)}

    @cached_property
    def masks(self) -> NDArray[np.uint64]:
        """Each set as the bits of its attributes."""
        place = {name: 1 << bit for bit, name in enumerate(self.domain.countable)}
        return np.array([sum(place[name] for name in key) for key in self.sets], dtype=np.uint64)

    @cached_property
    def shares(self) -> Array:
        """The share of the respondents that each set gets.

        The sum over tables of k attributes of the variances of their coefficients is sum_S t_S / share_S times a
        constant, with t_S = C(d - |S|, k - |S|) tables around S: least for shares proportional to sqrt(t_S).
        """
        d, k = len(self.domain.countable), self.order
        tables = [1 if self.even else comb(d - len(key), k - len(key)) for key in self.sets]
        weights = np.sqrt(np.array(tables, dtype=np.float64))
        return np.asarray(weights / weights.sum())

    def respond(self, codes: Mapping[str, NDArray[Any]], source: Source, *, seed: int) -> FourierReports:
        """Return the reports of these people's devices: the set they were given, and one randomised bit.

        Args:
            codes: True codes of every attribute. They are not part of the result.
            source: Randomness of the channel.
            seed: Of the assignment of sets, which is public; it must not have been used to simulate the people.
        """
        people = len(next(iter(codes.values())))
        lot = np.random.default_rng(seed).choice(len(self.sets), size=people, p=self.shares)
        # respondents whose value is out of domain use a fair coin for that attribute; not answering would reveal it
        record = np.zeros(people, dtype=np.uint64)
        die = source.words(people)
        for bit, name in enumerate(self.domain.countable):
            column = np.asarray(codes[name])
            value = np.where(column < 2, column.astype(np.uint64), (die >> np.uint64(bit)) & np.uint64(1))
            record |= value << np.uint64(bit)
        parity = np.bitwise_count(record & self.masks[lot]) & 1
        return FourierReports(sets=lot, bits=self.channel.randomize(parity, source), simulated=source.simulated)


@dataclass(frozen=True, kw_only=True, eq=False)
class FourierReports:
    """The number of the set that each respondent was given, and the bit sent; 1 for an odd parity."""

    sets: NDArray[np.int64]
    bits: NDArray[Any]
    simulated: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class Coefficients:
    """Unbiased coefficients, in the order of the design's sets; their errors are independent of each other."""

    values: Array
    std: Array


class FourierTally:
    """Counts of even and odd parities for each set, as an aggregator keeps them. Tallies of disjoint people add up."""

    def __init__(self, design: FourierDesign, *, simulated: bool = False) -> None:
        self.design, self.simulated = design, simulated
        self.counts: NDArray[np.int64] = np.zeros((len(design.sets), 2), dtype=np.int64)

    def add(self, reports: FourierReports) -> FourierTally:
        """Count some reports, all of them or none; they need not be kept."""
        sets, bits = np.asarray(reports.sets), np.asarray(reports.bits)
        if sets.shape != bits.shape or sets.ndim != 1 or sets.dtype.kind not in "iu" or bits.dtype.kind not in "iu":
            raise InvalidInput("must be a set and a bit for each respondent", field="reports", value=sets.shape)
        wrong = (sets < 0) | (sets >= len(self.design.sets)) | (bits < 0) | (bits > 1)
        if wrong.any():
            raise InvalidInput("must name sets of the design and bits", field="reports")
        seen = np.bincount(2 * sets.astype(np.int64) + bits.astype(np.int64), minlength=self.counts.size)
        self.counts = self.counts + seen.reshape(-1, 2)
        self.simulated = self.simulated or reports.simulated
        return self

    def merge(self, other: FourierTally) -> FourierTally:
        """The tally of both aggregators' people."""
        if other.design != self.design:
            raise InvalidInput("must be of the same design", field="tally")
        merged = FourierTally(self.design, simulated=self.simulated or other.simulated)
        merged.counts = self.counts + other.counts
        return merged

    @property
    def respondents(self) -> int:
        """Number of reports."""
        return int(self.counts.sum())

    def coefficients(self) -> Coefficients:
        """The coefficient of every set.

        Claim: E[(even - odd) / n] = p c, so c^ = (even - odd) / (n p) has no bias given how many were asked; one sign
        is +-1 with mean p c, so Var c^ = (1 - p^2 c^2) / (n p^2), taken at a possible c.
        """
        asked = self.counts.sum(axis=1)
        if not asked.all():
            unasked = self.design.sets[int(np.flatnonzero(asked == 0)[0])]
            hint = "Ask more people, or for tables of fewer attributes"
            raise InvalidInput("no one was asked about it", field="sets", value=unasked, hint=hint)
        p = self.design.channel.keep_probability
        values = (self.counts[:, 0] - self.counts[:, 1]) / (asked * p)
        possible = np.clip(values, -1.0, 1.0)
        return Coefficients(values=values, std=np.sqrt((1 - (p * possible) ** 2) / asked) / p)

    def table(self, attributes: Iterable[str]) -> Release:
        """Unbiased shares of a table of at most `order` attributes, about the population; cells may be negative."""
        domain = self.design.domain.project(attributes)
        names = domain.names
        if not 1 <= len(names) <= self.design.order:
            raise InvalidInput(f"must be 1 to {self.design.order} attributes", field="attributes", value=list(names))
        found = self.coefficients()
        inside = [key for size in range(1, len(names) + 1) for key in itertools.combinations(names, size)]
        chosen = [self.design.numbers[frozenset(key)] for key in inside]
        signs = np.stack([_signs(names, key) for key in inside]) / domain.size
        covariance = Covariance(
            diagonal=np.zeros(domain.size),
            vectors=signs * found.std[chosen][:, None],
            signs=np.full(len(inside), -1.0),
        )
        recipe = {
            "method": "Fourier coefficients",
            "order": self.design.order,
            "even": self.design.even,
            "respondents": self.respondents,
        }
        shares = 1 / domain.size + found.values[chosen] @ signs
        return Release(
            estimate=Cells(domain, shares.reshape(domain.shape)),
            quantity="share",
            uncertainty=Correlated(covariance=covariance),
            event=Pure(epsilon=self.design.channel.epsilon_upper),
            unit=UNIT,
            neighbours=Neighbours.REPLACE_ONE,
            trust="local",
            provenance=Provenance(recipe=recipe, simulated=self.simulated),
        )

    def published(self, attributes: Iterable[str]) -> Cells:
        """The table as the nearest distribution: never negative, and biased for that."""
        return project_table(self.table(attributes).estimate)


def _signs(names: Key, inside: Key) -> Array:
    """(-1)^(sum of v over `inside`) for every cell v of the table over `names`."""
    signs = np.ones(1)
    for name in names:
        signs = np.outer(signs, [1.0, -1.0] if name in inside else [1.0, 1.0]).reshape(-1)
    return signs

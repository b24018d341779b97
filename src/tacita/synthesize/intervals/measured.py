"""Released tables that a model was fitted to, with the law of their noise: what intervals are computed from.

Tables are kept in rounds. Tables of one round were chosen before any noise of the round was drawn; which tables a later
round measures may depend on the noise of earlier ones.

Privacy: released noisy counts only; the event of the model pays for them.   Claim: docs/claims/model-intervals.md
Cost:    a number for each measured cell. A mixture of all pairs of 100 columns is larger than its tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.noise import Law, law_from_dict
from tacita.tables.release import Release
from tacita.tables.uncertainty import AdditiveNoise

__all__ = ["LATER_WIDTH", "MeasuredTable", "MeasuredTables"]

LATER_WIDTH = 2
"""Most attributes of a table in a later round."""
_MARK = "measured/1"


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasuredTable:
    """Noisy counts over some attributes.

    Attributes:
        attributes: Names of the axes.
        counts: Exact counts plus noise.
        law: Noise of each cell.
        terms: Independent draws of it in each cell.
    """

    attributes: tuple[str, ...]
    counts: NDArray[np.float64] = field(repr=False)
    law: Law
    terms: int = 1

    @property
    def variance(self) -> float:
        """Variance of the noise of a cell."""
        return self.law.variance * self.terms

    def margin(self, names: tuple[str, ...]) -> NDArray[np.float64]:
        """The noisy counts over some of the attributes, in the order given; those of at most one are kept."""
        if names not in self._margins:
            left = [name for name in self.attributes if name in names]
            summed = self.counts.sum(axis=tuple(at for at, name in enumerate(self.attributes) if name not in names))
            found = np.asarray(summed).transpose([left.index(name) for name in names])
            if len(names) > 1:
                return found
            self._margins[names] = found
        return self._margins[names]

    @cached_property
    def _margins(self) -> dict[tuple[str, ...], NDArray[np.float64]]:
        return {}


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasuredTables:
    """Measured tables, by round.

    Attributes:
        rounds: If there are several, the first has tables of one attribute, and later ones of at most two.
    """

    rounds: tuple[tuple[MeasuredTable, ...], ...]

    def __post_init__(self) -> None:
        if not self.rounds or not self.rounds[0]:
            raise InvalidInput("must hold at least one table", field="measured")
        if len(self.rounds) == 1:
            return
        widths = [max((len(table.attributes) for table in each), default=0) for each in self.rounds]
        if widths[0] != 1 or max(widths) > LATER_WIDTH:
            raise InvalidInput(
                f"a first round has tables of one attribute, later ones of at most {LATER_WIDTH}", field="measured"
            )

    @classmethod
    def of(cls, rounds: Sequence[Sequence[Release]]) -> MeasuredTables | None:
        """Keep released counts; None if there are none, or if the law of their noise is not known."""
        found = []
        for releases in rounds:
            if not all(isinstance(each.uncertainty, AdditiveNoise) for each in releases):
                return None
            found.append(tuple(map(_kept, releases)))
        return cls(rounds=tuple(found)) if found and found[0] else None

    def __iter__(self) -> Iterator[MeasuredTable]:
        return (table for tables in self.rounds for table in tables)

    @cached_property
    def cells(self) -> int:
        """Number of measured cells."""
        return sum(table.counts.size for table in self)

    def as_dict(self) -> dict[str, Any]:
        """Plain data; each law is there once."""
        laws = list(dict.fromkeys((table.law, table.terms) for table in self))
        return {
            "tacita": _MARK,
            "laws": [law.as_dict() | {"terms": terms} for law, terms in laws],
            "rounds": [
                [
                    {
                        "attributes": list(table.attributes),
                        "law": laws.index((table.law, table.terms)),
                        "counts": _plain(table.counts),
                    }
                    for table in tables
                ]
                for tables in self.rounds
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], domain: Domain) -> MeasuredTables:
        """The tables that `as_dict` wrote, over attributes of this domain."""
        if not isinstance(data, Mapping) or data.get("tacita") != _MARK:
            raise InvalidInput(f"must have the mark `{_MARK}`", field="measured")
        try:
            laws = [_read_law(each) for each in data["laws"]]
            rounds = tuple(tuple(_read(each, laws, domain) for each in tables) for tables in data["rounds"])
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
            raise InvalidInput("must be rounds of tables, each with a law", field="measured") from None
        return cls(rounds=rounds)


def _kept(release: Release) -> MeasuredTable:
    noise = release.uncertainty
    assert isinstance(noise, AdditiveNoise)
    counts = np.asarray(release.values, float)
    return MeasuredTable(attributes=release.attributes, counts=counts, law=noise.law, terms=noise.terms)


def _plain(counts: NDArray[np.float64]) -> list[int] | list[float]:
    """Whole numbers as such."""
    flat = counts.reshape(-1)
    whole = np.rint(flat)
    return whole.astype(np.int64).tolist() if (whole == flat).all() else flat.tolist()


def _read_law(data: Mapping[str, Any]) -> tuple[Law, int]:
    check.whole(data["terms"], "measured.terms", least=1)
    return law_from_dict(data), data["terms"]


def _read(data: Mapping[str, Any], laws: Sequence[tuple[Law, int]], domain: Domain) -> MeasuredTable:
    names = tuple(data["attributes"])
    shape = domain.project(names).shape
    counts = np.array(data["counts"], float)
    if counts.size != int(np.prod(shape)) or not np.isfinite(counts).all():
        raise InvalidInput("must have a count for each cell", field="measured", value=" x ".join(names))
    check.whole(data["law"], "measured.law", least=0, most=len(laws) - 1)
    law, terms = laws[data["law"]]
    return MeasuredTable(attributes=names, counts=counts.reshape(shape), law=law, terms=terms)

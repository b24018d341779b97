"""Records by their quasi-identifiers: keys, sample and population frequencies, weights, households.

Two records have the same key if all quasi-identifiers are equal. A missing value is a value of its own; undeclared
values and values beyond the bounds of the schema count as they are, because an attacker sees them as they are.

Privacy: exact rows; for the owner.   Cost: one sort of the records for each attribute.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacita.domain import Domain
from tacita.domain.attributes import Numeric
from tacita.engines.local.bound import key_texts
from tacita.errors import DataError, InvalidInput

__all__ = ["Sample", "combine", "read_sample", "sample_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Sample:
    """Records with their keys.

    Attributes:
        names: Quasi-identifiers.
        codes: Code of each quasi-identifier (one in each row of the array) for each record.
        sizes: Number of codes of each.
        group: Key of each record.
        f: Records of each key.
        weights: Weight of each record: how many people of the population it stands for.
        households: Household of each record, -1 for none.
        population: People of the population with each key; at least `f`.
        people: Size of the population, where it is known or estimated.
    """

    names: tuple[str, ...]
    codes: Ints
    sizes: tuple[int, ...]
    group: Ints
    f: Ints
    weights: Floats | None = None
    households: Ints | None = None
    population: Ints | None = None
    people: float | None = None

    def __len__(self) -> int:
        return len(self.group)

    @property
    def fraction(self) -> float | None:
        """Sampling fraction: records over the size of the population; None if that is not known."""
        return None if not self.people else min(1.0, len(self) / self.people)

    @property
    def unique(self) -> NDArray[np.bool_]:
        """Whether a record is unique in the sample."""
        return np.asarray(self.f[self.group] == 1)


def combine(codes: Iterable[Ints], sizes: Iterable[int], many: int) -> tuple[Ints, int]:
    """Number the combinations of codes; returns the number of each record and an upper bound of the numbers."""
    key, span = np.zeros(many, np.int64), 1
    for code, size in zip(codes, sizes, strict=True):
        if span * max(size, 1) >= 2**62:
            _, key = np.unique(key, return_inverse=True)
            key, span = key.reshape(-1).astype(np.int64), int(key.max(initial=0)) + 1
        key, span = key * max(size, 1) + code, span * max(size, 1)
    return key, span


def sample_of(
    names: Sequence[str],
    codes: Ints,
    *,
    weights: Floats | None = None,
    households: Ints | None = None,
    population: Ints | None = None,
    people: float | None = None,
) -> Sample:
    """Return a sample from codes.

    Args:
        names: Quasi-identifiers.
        codes: Their codes, one row for each.
        weights: Weight of each record; their sum estimates the size of the population.
        households: Household of each record.
        population: Codes of everyone in the population, these people included, in the same coding.
        people: Size of the population, if known otherwise.
    """
    if not len(names) or codes.shape[0] != len(names):
        raise InvalidInput(
            "must be at least one", field="qi", hint="Name quasi-identifiers, or set roles in the schema"
        )
    many = codes.shape[1]
    if not many:
        raise InvalidInput("must have rows", field="data")
    if weights is not None and (not np.isfinite(weights).all() or (weights <= 0).any()):
        raise DataError("weights must be positive numbers, and none may be missing", field="weight")
    every = codes if population is None else np.concatenate([codes, population], axis=1)
    sizes = tuple(int(each.max(initial=0)) + 1 for each in every)
    keys, _ = combine(every, sizes, every.shape[1])
    _, group = np.unique(keys, return_inverse=True)
    group = group.reshape(-1).astype(np.int64)
    held, own = np.unique(group[:many], return_inverse=True)
    f = np.bincount(own.reshape(-1))
    counts = None
    if population is not None:
        counts = np.bincount(group[many:], minlength=int(group.max()) + 1)[held]
        if (counts < f).any():
            hint = "The population is everyone, the people in the data included"
            raise DataError("has fewer people with some quasi-identifiers than the data", field="population", hint=hint)
        people = float(population.shape[1])
    elif weights is not None and people is None:
        people = float(weights.sum())
    return Sample(
        names=tuple(names),
        codes=codes,
        sizes=sizes,
        group=own.reshape(-1).astype(np.int64),
        f=f,
        weights=weights,
        households=households,
        population=counts,
        people=people,
    )


def read_sample(
    domain: Domain,
    table: pa.Table,
    *,
    quasi: Sequence[str] | None = None,
    weight: str | None = None,
    household: str | None = None,
    population: pa.Table | None = None,
    people: float | None = None,
) -> Sample:
    """Read records.

    Args:
        domain: The schema.
        table: Records.
        quasi: Quasi-identifiers; by default all attributes with that role.
        weight: Column with sample weights.
        household: Column with the key of a household.
        population: Everyone in the population, with the quasi-identifiers.
        people: Size of the population, if known otherwise.
    """
    names = (
        tuple(quasi) if quasi is not None else tuple(a.name for a in domain.attributes if a.role == "quasi-identifier")
    )
    for name in names:
        if not domain[name].countable:
            raise InvalidInput("is an identifier and no quasi-identifier", field="qi", value=name)
    if len(set(names)) < len(names):
        raise InvalidInput("must be different attributes", field="qi", value=",".join(names))
    if people is not None and not people >= table.num_rows:
        raise InvalidInput("must be at least the number of rows", field="people", value=people)
    codes, others = [], []
    for name in names:
        known: dict[Any, int] = {}
        numeric = isinstance(domain[name], Numeric)
        codes.append(_codes(table.column(name), domain.nulls, known, numeric=numeric))
        if population is not None:
            others.append(_codes(population.column(name), domain.nulls, known, numeric=numeric))
    weights = None if weight is None else _numbers(table.column(weight), domain.nulls, weight)
    households = None
    if household is not None:
        keys = key_texts(table.column(household), domain.nulls, household)
        households = np.asarray(keys.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
    return sample_of(
        names,
        np.array(codes, np.int64).reshape(len(names), table.num_rows),
        weights=weights,
        households=households,
        population=None if population is None else np.array(others, np.int64).reshape(len(names), population.num_rows),
        people=people,
    )


def _codes(column: pa.ChunkedArray, nulls: Sequence[str], known: dict[Any, int], *, numeric: bool) -> Ints:
    """Codes of a column; equal numbers have the same code however they are written. `known` grows with new values."""
    whole = column.combine_chunks()
    encoded = whole if pa.types.is_dictionary(whole.type) else whole.dictionary_encode()
    absent = frozenset(nulls)
    places = [
        known.setdefault(_key(value, absent, numeric=numeric), len(known)) for value in _plain(encoded.dictionary)
    ]
    missing = known.setdefault(None, len(known))
    indices = pc.fill_null(encoded.indices.cast(pa.int64()), len(places)).to_numpy(zero_copy_only=False)
    return np.asarray(np.array([*places, missing], np.int64)[indices])


def _plain(distinct: pa.Array) -> list[Any]:
    if pa.types.is_string(distinct.type) or pa.types.is_large_string(distinct.type):
        return [bytes(raw).decode("utf-8", "replace") for raw in distinct.cast(pa.large_binary()).to_pylist()]
    return list(distinct.to_pylist())


def _key(value: Any, absent: frozenset[str], *, numeric: bool) -> Any:
    if value is None or (isinstance(value, float) and math.isnan(value)) or str(value) in absent:
        return None
    if numeric:
        try:
            number = float(value)
        except (TypeError, ValueError):
            return str(value)
        return None if math.isnan(number) else number
    return str(value)


def _numbers(column: pa.ChunkedArray, nulls: Sequence[str], name: str) -> Floats:
    known: dict[Any, int] = {}
    codes = _codes(column, nulls, known, numeric=True)
    values = np.array([each if isinstance(each, float) else np.nan for each in known], np.float64)[codes]
    if np.isnan(values).any() or (values <= 0).any():
        raise DataError("weights must be positive numbers, and none may be missing", field=name)
    return values

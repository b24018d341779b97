"""Public tables as a prior of collected ones: how far they are trusted is decided by the reports.

A prior holds tables of some of the attributes that are public already: census margins, last year's tables, a release.
Four descriptions of the population are compared, each a table for every set of attributes:

    fitted       the latent classes, without the prior                                   (`classes`)
    margins      the classes scaled to the prior's single attributes
    dependence   the prior's tables scaled to the fitted single attributes, the classes where it has none
    whole        the classes scaled to all tables of the prior

What each leaves of the measured tables is added back as far as it stands out of the noise (`rests`): a prior that is
right for most attributes and wrong for one is mended there. Of an attribute whose levels have an order, the ratio to
the prior is smoothed instead, as far as the reports support it (`ordered`).

The four are averaged with weights exp(-score / 8), the first having as much weight before as the others together.
score = squared error in units of the noise + 2 f is the expected distance to the truth up to a constant (`automatic`).
A prior that is further from the truth than the fitted tables are has a worse score, and loses its weight; one that is
nearer helps.

Privacy: post-processing of reports and public tables; nothing is spent. A table that is neither public nor released
must not be a prior: what is published may show it.
Utility: `bench/priors.py`.   Claim page: docs/claims/collected-tables.md.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.special import softmax

from tacita.collect.estimating.classes import Averaged
from tacita.collect.estimating.evidence import Evidence, Key
from tacita.collect.estimating.interactions import Interactions
from tacita.collect.estimating.ordered import COUNTED, information_of, is_ordered, single_information, smooth_shares
from tacita.collect.estimating.rests import Describes, Rests
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.tables.cells import Cells
from tacita.tables.consistency import rake
from tacita.tables.release import Release, Releases

__all__ = ["Prior", "Weighed", "weigh_prior"]

Array = NDArray[np.float64]
Tables = dict[Key, Cells]

_TRACE = 1e-6
"""Of the even table in each table of a prior, so that scaling can move every cell."""
_TEMPERATURE = 8.0
_SCALINGS = 50
_NUMBERS = ("count", "share", "estimate")
"""Columns of a file that hold the numbers of a table."""
_MOST_CELLS = 1_000_000
_MOST_LEVELS = 512
"""Of a table of one attribute whose errors are weighed together: time grows with the cube."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Prior:
    """Public tables of shares about some attributes of a domain.

    Args:
        tables: Non-negative shares that sum to 1, each over some attributes.
    """

    tables: tuple[Cells, ...] = field(repr=False)

    @classmethod
    def of(cls, domain: Domain, tables: Iterable[Cells | Release]) -> Self:
        """The parts of some public tables that are about the attributes of a domain.

        Args:
            domain: The attributes that are asked about.
            tables: Counts or shares; levels are matched by their labels.
        """
        found = [_matched(domain, table) for table in tables]
        held = tuple(table for table in found if table is not None)
        if not held:
            hint = "Give a table of at least one attribute that is asked about"
            raise InvalidInput("has no attribute of the collection", field="prior", hint=hint)
        return cls(tables=held)

    @classmethod
    def read(cls, domain: Domain, path: str | Path) -> Self:
        """Read a prior from a file: releases as JSON, or one table as CSV or Parquet.

        A table has a column for each of its attributes, with the labels of their levels, and the column `count`,
        `share` or `estimate`. Without one of these, each line is a row of public data.
        """
        target = Path(path)
        match target.suffix.lower():
            case ".json":
                return cls.of(domain, _releases(target))
            case ".csv":
                return cls.of(domain, [_counted(domain, pa_csv.read_csv(target), target)])
            case ".parquet":
                return cls.of(domain, [_counted(domain, pq.read_table(target), target)])
        raise InvalidInput("must be a .json, .csv or .parquet file", field="prior", value=str(path))

    def __add__(self, other: Prior) -> Prior:
        """The tables of both."""
        return Prior(tables=self.tables + other.tables)

    @classmethod
    def from_list(cls, domain: Domain, data: Sequence[Mapping[str, Any]]) -> Self:
        """The prior that `as_list` wrote, for the attributes of a domain."""
        tables = []
        for number, plain in enumerate(data):
            names = [name for name in plain["attributes"] if name in domain.names]
            if len(names) < len(plain["attributes"]):
                strange = next(name for name in plain["attributes"] if name not in domain.names)
                raise InvalidInput("is not an attribute of the collection", field=f"prior[{number}]", value=strange)
            over = domain.project(names)
            levels = [list(each) for each in plain["levels"]]
            shape = tuple(len(each) for each in levels)
            shares = np.asarray(plain["shares"], float)
            if len(levels) != len(names) or shares.size != int(np.prod(shape)):
                rule = "must have the levels of each attribute, and a share for each cell"
                raise InvalidInput(rule, field=f"prior[{number}].shares", value=shares.size)
            orders = [_order(over, name, each) for name, each in zip(names, levels, strict=True)]
            tables.append(_checked(Cells(over, shares.reshape(shape)[np.ix_(*orders)])))
        return cls.of(domain, tables)

    def as_list(self) -> list[dict[str, Any]]:
        """Plain data: attributes, their levels, and shares in row-major order."""
        return [
            {
                "attributes": list(table.attributes),
                "levels": [list(table.domain[name].all_labels) for name in table.attributes],
                "shares": table.values.reshape(-1).tolist(),
            }
            for table in self.tables
        ]

    @property
    def names(self) -> set[str]:
        """All attributes that some table holds."""
        return {name for table in self.tables for name in table.attributes}

    def margins_of(self, names: Iterable[str], *, largest: bool) -> list[Cells]:
        """The known margins within some attributes: the largest that tables hold, or single attributes."""
        wanted = set(names)
        held: list[Cells] = []
        for table in self.tables:
            shared = [name for name in table.attributes if name in wanted]
            sets = [shared] if largest else [[name] for name in shared]
            held += [_traced(table.project(each)) for each in sets if each]
        held.sort(key=lambda table: -len(table.attributes))
        kept: list[Cells] = []
        for table in held:
            if not any(set(table.attributes) <= set(other.attributes) for other in kept):
                kept.append(table)
        return kept[::-1]

    def dependence(self) -> float | None:
        """Mean total variation distance of its pairs from the products of their margins; None without pairs."""
        found = []
        for table in self.tables:
            for pair in itertools.combinations(table.attributes, 2):
                values = table.project(pair).values
                found.append(0.5 * float(np.abs(values - np.outer(values.sum(axis=1), values.sum(axis=0))).sum()))
        return float(np.mean(found)) if found else None


# -- the descriptions ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class _Margins:
    """A description scaled to margins of the prior."""

    base: Describes
    prior: Prior
    largest: bool

    def project(self, attributes: Iterable[str]) -> Cells:
        """The base's table, scaled."""
        names = tuple(attributes)
        known = self.prior.margins_of(names, largest=self.largest)
        table = self.base.project(names)
        return rake(table, known, rounds=_SCALINGS) if known else table


@dataclass(frozen=True, kw_only=True, eq=False)
class _Dependence:
    """The prior's tables, scaled to the single attributes of a description."""

    base: Describes
    prior: Prior

    def project(self, attributes: Iterable[str]) -> Cells:
        """The base's table, scaled to the prior's and back to its own single attributes."""
        names = tuple(attributes)
        known = [table for table in self.prior.margins_of(names, largest=True) if len(table.attributes) > 1]
        table = self.base.project(names)
        if not known:
            return table
        return rake(rake(table, known, rounds=_SCALINGS), [table.project((name,)) for name in names], rounds=_SCALINGS)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Mean:
    """The mean of some descriptions."""

    parts: tuple[Describes, ...]
    weights: Array

    def project(self, attributes: Iterable[str]) -> Cells:
        """The mean of their tables."""
        names = tuple(attributes)
        tables = [part.project(names) for part in self.parts]
        values = sum((w * table.values for w, table in zip(self.weights, tables, strict=True)), np.zeros(()))
        return Cells(tables[0].domain, values)


@dataclass(frozen=True, kw_only=True, eq=False)
class Weighed:
    """The average of fitted tables and of those with the prior.

    Attributes:
        tables: Of all keys. model: The same without what stands out, for any attributes.
        weights: Of each description, by its name. parameters: The average of their effective numbers.
    """

    tables: Tables = field(repr=False)
    model: Describes = field(repr=False)
    weights: Mapping[str, float]
    parameters: float

    @property
    def trusted(self) -> float:
        """Weight of the descriptions that use the prior."""
        return 1 - self.weights["fitted"]


def weigh_prior(
    evidence: Evidence,
    measured: Interactions,
    found: Averaged,
    fitted: Tables,
    parameters: float,
    prior: Prior,
) -> Weighed:
    """Average fitted tables with those that begin at a prior, by their scores.

    Args:
        evidence: What was measured. measured: Its averaged parts, not shrunk.
        found: The fitted classes.
        fitted: The tables that were made with them. parameters: Their effective number.
        prior: The public tables.
    """
    prior, measured, followed = _updated(prior, measured, evidence)
    described: dict[str, Describes] = {"margins": _Margins(base=found.model, prior=prior, largest=False)}
    if any(len(table.attributes) > 1 for table in prior.tables):
        described["dependence"] = _Dependence(base=found.model, prior=prior)
        described["whole"] = _Margins(base=found.model, prior=prior, largest=True)
    parts: list[Describes] = [found.model]
    tables, used = [fitted], [parameters]
    for name, model in described.items():
        rests = Rests(evidence, measured, model)
        parts.append(model)
        tables.append({key: rests.corrected(key) for key in fitted})
        used.append(rests.parameters + followed + _kept_parameters(name, measured, found, prior))
    scores = np.array([_score(evidence, each, count) for each, count in zip(tables, used, strict=True)])
    before = np.array([0.5, *[0.5 / len(described)] * len(described)])
    weights = np.asarray(softmax(np.log(before) - scores / _TEMPERATURE))
    mean = {
        key: Cells(
            table.domain,
            sum((w * each[key].values for w, each in zip(weights, tables, strict=True)), np.zeros(())),
        )
        for key, table in fitted.items()
    }
    return Weighed(
        tables=mean,
        model=_Mean(parts=tuple(parts), weights=weights),
        weights=dict(zip(("fitted", *described), weights.tolist(), strict=True)),
        parameters=float(weights @ np.array(used)),
    )


def _updated(prior: Prior, measured: Interactions, evidence: Evidence) -> tuple[Prior, Interactions, float]:
    """The prior with the shares of ordered attributes moved towards the reports, these as measured, and parameters."""
    singles, moved, parameters = measured.singles.copy(), {}, 0.0
    for name, block in zip(measured.domain.names, measured.blocks, strict=True):
        known = prior.margins_of([name], largest=False)
        if not known or not is_ordered(measured.domain, name):
            continue
        (base,) = known
        information = single_information(measured, evidence, name)
        shares = measured.singles[block] + 1 / base.domain.size
        found = smooth_shares(measured.domain, name, shares, information, base=base.values)
        singles[block] = found.shares - 1 / base.domain.size
        moved[name] = Cells(base.domain, found.shares)
        parameters += min(COUNTED * found.parameters, base.domain.size - 1.0)
    if not moved:
        return prior, measured, 0.0
    tables = tuple(
        rake(_traced(table), [moved[name] for name in table.attributes if name in moved], rounds=_SCALINGS)
        for table in prior.tables
    )
    return Prior(tables=tables), replace(measured, singles=singles), parameters


def _kept_parameters(name: str, measured: Interactions, found: Averaged, prior: Prior) -> float:
    """Effective parameters of the classes that a description still uses."""
    domain = measured.domain
    known = set() if name == "dependence" else prior.names
    singles = sum(domain[each].size - 1 for each in domain.names if each not in known)
    free = sum(domain[each].size - 1 for each in domain.names)
    pairs = [frozenset((domain.names[a], domain.names[b])) for a, b in measured.measured_pairs]
    joint = (
        {frozenset(pair) for table in prior.tables for pair in itertools.combinations(table.attributes, 2)}
        if name != "margins"
        else set()
    )
    left = 1 - sum(pair in joint for pair in pairs) / len(pairs) if pairs else 0.0
    return singles + max(found.parameters - free, 0.0) * left


def _score(evidence: Evidence, tables: Tables, parameters: float) -> float:
    """Squared error in units of the noise + 2 f."""
    total = 2 * parameters
    for key, values in evidence.values.items():
        error = (values - tables[key].values).reshape(-1)
        covariance = evidence.covariance(key)
        if len(key) == 1 and error.size <= _MOST_LEVELS:  # errors of levels may depend, as with Square Wave
            total += float(error @ information_of(covariance) @ error)
        else:
            total += float(error @ error) / float(np.mean(covariance.variance()))
    return total


# -- reading ---------------------------------------------------------------------------------------------------------


def _traced(table: Cells) -> Cells:
    return Cells(table.domain, (1 - _TRACE) * table.values + _TRACE / table.domain.size)


def _order(domain: Domain, name: str, labels: Sequence[str]) -> list[int]:
    """For each level of the collection its place among the labels of a table."""
    wanted = list(domain[name].all_labels)
    if sorted(labels) != sorted(wanted):
        strange = next((label for label in labels if label not in wanted), None)
        missing = next((label for label in wanted if label not in labels), None)
        raise InvalidInput(
            f"must have the levels that the collection asks for: {', '.join(wanted)}",
            field=f"prior.{name}",
            value=strange if strange is not None else f"no {missing!r}",
            hint="Merge or rename levels of the table first",
        )
    return [list(labels).index(label) for label in wanted]


def _matched(domain: Domain, table: Cells | Release) -> Cells | None:
    """The part of a table about the attributes of a domain, as shares in the domain's order of levels."""
    names = [name for name in table.attributes if name in domain.names]
    if not names:
        return None
    part = table.project(names)
    values = np.asarray(part.values, float)
    if isinstance(part, Release):  # what noise made negative is no share
        values = np.maximum(values, 0.0)
    orders = [_order(domain, name, part.domain[name].all_labels) for name in names]
    return _checked(Cells(domain.project(names), values[np.ix_(*orders)]))


def _checked(table: Cells) -> Cells:
    values = np.asarray(table.values, float)
    if not np.isfinite(values).all() or (values < 0).any() or not values.any():
        rule = "must be non-negative numbers that are not all 0"
        raise InvalidInput(rule, field="prior", value=" x ".join(table.attributes))
    return Cells(table.domain, values / values.sum())


def _releases(path: Path) -> list[Release]:
    text = path.read_text(encoding="utf-8")
    try:
        return list(Releases.from_json(text).values())
    except (InvalidInput, KeyError, TypeError, ValueError):
        pass
    try:
        return [Release.from_json(text)]
    except (KeyError, TypeError, ValueError) as error:
        rule = "must hold a release of Tacita"
        raise InvalidInput(rule, field="prior", value=str(path), hint="Or give a CSV file with counts") from error


def _counted(domain: Domain, rows: pa.Table, path: Path) -> Cells:
    """Count a table of labels, weighted by its numbers."""
    names = [name for name in domain.names if name in rows.column_names]
    if not names:
        hint = f"Name columns as the schema does: {', '.join(domain.names)}"
        raise InvalidInput("has no attribute of the schema", field="prior", value=path.name, hint=hint)
    over = domain.project(names)
    if over.size > _MOST_CELLS:
        raise InvalidInput(f"must have at most {_MOST_CELLS:,} cells", field="prior", value=f"{over.size:,}")
    number = next((column for column in _NUMBERS if column in rows.column_names), None)
    if "table" in rows.column_names and "table" not in domain.names:
        hint = "Save the releases as JSON, or one table in a file"
        raise InvalidInput("holds several tables", field="prior", value=path.name, hint=hint)
    weights = np.ones(rows.num_rows) if number is None else np.asarray(rows[number].to_numpy(), float)
    if number == "estimate":  # what noise made negative is no share
        weights = np.maximum(weights, 0.0)
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise InvalidInput("must be non-negative numbers", field=f"prior.{number}", value=path.name)
    columns = [_codes(domain, name, rows) for name in names]
    values = np.zeros(over.shape)
    np.add.at(values, tuple(columns), weights)
    return _checked(Cells(over, values))


def _codes(domain: Domain, name: str, rows: pa.Table) -> NDArray[np.int64]:
    """Codes of a column: by the labels of levels, or as values of the attribute."""
    labels = {label: code for code, label in enumerate(domain[name].all_labels)}
    seen = rows[name].to_pylist()
    if all(str(value) in labels for value in seen):
        return np.array([labels[str(value)] for value in seen], dtype=np.int64)
    codes = np.asarray(domain.project([name]).encode(rows.select([name]), [name])[name]).astype(np.int64)
    if (codes >= domain[name].size).any():
        strange = str(seen[int(np.flatnonzero(codes >= domain[name].size)[0])])
        rule = f"must be levels that the collection asks for: {', '.join(domain[name].all_labels)}"
        raise InvalidInput(rule, field=f"prior.{name}", value=strange)
    return codes

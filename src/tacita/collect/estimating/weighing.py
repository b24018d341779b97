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

The four are averaged with weights exp(-score / 4), the first having as much weight before as the others together.
score = squared error in units of the noise + 2 f is the expected distance to the truth up to a constant (`automatic`).
A prior that is further from the truth than the fitted tables are has a worse score, and loses its weight; one that is
nearer helps.

Privacy: post-processing of reports and public tables; nothing is spent. A table that is neither public nor released
must not be a prior: what is published may show it.
Utility: `bench/priors.py`.   Claim page: docs/claims/collected-tables.md.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from tacita.collect.estimating.classes import Averaged
from tacita.collect.estimating.evidence import Evidence, Key
from tacita.collect.estimating.interactions import Interactions
from tacita.collect.estimating.ordered import COUNTED, information_of, is_ordered, single_information, smooth_shares
from tacita.collect.estimating.prior import Prior, traced
from tacita.collect.estimating.rests import Describes, Rests
from tacita.tables.cells import Cells
from tacita.tables.consistency import rake

__all__ = ["Weighed", "weigh_prior"]

Array = NDArray[np.float64]
Tables = dict[Key, Cells]

_TEMPERATURE = 4.0
"""Half that of the theorem for many estimates (`classes`), because there are four: a wrong prior then costs less."""
_SCALINGS = 50
_MOST_LEVELS = 512
"""Of a table of one attribute whose errors are weighed together: time grows with the cube."""


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
        trust: Share of the prior that was kept: the weight of each description that uses it, times the mean share of
            its numbers that the reports did not mend.
    """

    tables: Tables = field(repr=False)
    model: Describes = field(repr=False)
    weights: Mapping[str, float]
    parameters: float
    trust: float

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for the provenance of what is published."""
        return {
            "trust": round(self.trust, 4),
            "weights": {name: round(weight, 4) for name, weight in self.weights.items()},
        }


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
    tables, used, mended = [fitted], [parameters], [1.0]
    for name, model in described.items():
        rests = Rests(evidence, measured, model)
        parts.append(model)
        mended.append(rests.kept[2 if name == "dependence" else 1])
        if name == "whole":
            mended[-1] = (rests.kept[1] + rests.kept[2]) / 2
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
        trust=float(weights @ (1 - np.clip(mended, 0.0, 1.0))),
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
        rake(traced(table), [moved[name] for name in table.attributes if name in moved], rounds=_SCALINGS)
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

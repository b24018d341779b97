"""Published tables from the counts: consistent, never negative, as near to the truth as the reports allow.

    raw          unbiased, with intervals; may be negative and disagree      for tests
    pooled       unbiased, with intervals; agree on shared attributes        for the shares of one question
    consistent   pooled, made non-negative                                   no model
    singles      the product of single attributes                            independence
    modelled     a few latent classes for all tables together, and what stands out of the noise of each added back

Modelled tables, from all measured tables at once:

    interactions   averaged over all tables that hold them                                    (`interactions`)
    singles        shrunk towards the mean of attributes with the same labels                 (`empirical`)
                   smoothed along the order of their levels, where they have one              (`ordered`)
    classes        1 to 6, with several priors, averaged by their estimated error             (`classes`)
    the rest       what classes leave of singles, pairs and larger tables, kept as far as it stands out (`rests`)
    the prior      public tables, if some are given: averaged in by estimated error           (`weighing`)

The number of classes and all strengths are chosen from releases only, so they cost no privacy. For the choice between
these ways see `tacita.collect.estimating.automatic`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tacita.collect.estimating.classes import CLASSES, Averaged, average_classes
from tacita.collect.estimating.empirical import shrink_singles, shrunk_parameters
from tacita.collect.estimating.evidence import Evidence, Key
from tacita.collect.estimating.interactions import Interactions, part_precisions
from tacita.collect.estimating.ordered import smooth_singles
from tacita.collect.estimating.pooled import pool_tables
from tacita.collect.estimating.prior import Prior
from tacita.collect.estimating.rests import Describes, Rests
from tacita.collect.estimating.tally import Tally
from tacita.collect.estimating.weighing import Weighed, weigh_prior
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.models.mixture import Mixture
from tacita.privacy.event import Event, Pure
from tacita.tables.cells import Cells
from tacita.tables.consistency import rake, settle
from tacita.tables.release import Release, Releases
from tacita.tables.uncertainty import anchored

__all__ = ["CLASSES", "FittedTables", "Modelled", "fit_model", "model", "settle_small"]

Array = NDArray[np.float64]
Tables = dict[Key, Cells]

_TRACE = 1e-9
"""Of the uniform table, so that no margin needs a cell that scaling cannot move."""
_SCALINGS = 500
_CLEARLY = 0.5
"""Standard deviations of a chi-squared misfit by which tables of pairs alone must fit better to be averaged in."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedTables:
    """Models fitted to some evidence, and the tables that their average gives.

    Attributes:
        averaged: The average of the fits.
        tables: Of all tables that were asked, and of those wanted inside larger ones; corrected where one stands out of
            its noise, before they are settled.
        parameters: The effective number, of the fits and of what was added back.
        smoothed: The effective number for each attribute that was smoothed along its order.
        weighed: The average with a prior, where one was given.
    """

    averaged: Averaged
    tables: Tables = field(repr=False)
    parameters: float
    smoothed: Mapping[str, float] = field(default_factory=dict)
    weighed: Weighed | None = None

    @property
    def model(self) -> Mixture:
        """All classes of all fits."""
        return self.averaged.model

    @property
    def one(self) -> Mixture:
        """The model of one class: all attributes independent."""
        return self.averaged.one

    @property
    def latent(self) -> Describes:
        """The model of tables that were not asked for."""
        return self.model if self.weighed is None else self.weighed.model

    @property
    def saved(self) -> float:
        """Parameters of single attributes that smoothing leaves out."""
        return sum(self.one.domain[name].size - 1 - used for name, used in self.smoothed.items())


def fit_model(
    evidence: Evidence, *, classes: Iterable[int] = CLASSES, seed: int = 0, prior: Prior | None = None
) -> FittedTables:
    """Fit latent classes to all tables, and correct each table by what stands out of its noise.

    Args:
        evidence: What was measured.
        classes: Numbers of classes to try, beside one.
        seed: Of the fits' starts.
        prior: Public tables, which are trusted as far as the reports support them.
    """
    if not evidence.values:
        raise InvalidInput("holds no table", field="tally")
    measured, _ = smooth_singles(shrink_singles(Interactions.of(evidence)), evidence)
    found = average_classes(measured, classes=classes, seed=seed)
    # weighted once more, by the noise that measurements of the model itself would have
    precisions = part_precisions(evidence, {key: found.model.project(key).values for key in evidence.values})
    plain = Interactions.of(evidence, precisions)
    measured, smoothed = smooth_singles(shrink_singles(plain), evidence)
    found = average_classes(measured, near=found.fits)
    rests = Rests(evidence, measured, found.model)
    keys = (*evidence.values, *evidence.inside)
    fitted = FittedTables(
        averaged=found,
        tables={key: rests.corrected(key) for key in keys},
        parameters=found.parameters + rests.parameters,
        smoothed=smoothed,
    )
    fitted = replace(fitted, parameters=fitted.parameters - fitted.saved)
    fitted = _beside_pairs(evidence, measured, fitted) if evidence.phased else fitted
    if prior is None:
        return fitted
    used = fitted.parameters - shrunk_parameters(plain)
    weighed = weigh_prior(evidence, plain, found, fitted.tables, used, prior)
    return replace(fitted, tables=weighed.tables, parameters=weighed.parameters, weighed=weighed)


def _beside_pairs(evidence: Evidence, measured: Interactions, fitted: FittedTables) -> FittedTables:
    """The mean of fitted tables and of single attributes with the pairs that stand out, where these fit better.

    After two phases the dependent pairs are known far better than the others. Classes that follow them bend the tables
    of the others, which cannot resist. Products of single attributes with the pairs that stand out are estimated for
    each pair alone; their errors are of another kind, and the mean of both is nearer to the truth than either.
    """
    rests = Rests(evidence, measured, fitted.one)
    alone = {key: rests.corrected(key) for key in fitted.tables}
    parameters = rests.parameters + sum(size - 1 for size in measured.domain.shape) - fitted.saved
    weights = {key: 1 / float(np.mean(evidence.covariance(key).variance())) for key in evidence.values}

    def score(tables: Tables, used: float) -> float:
        misfits = (weights[key] * np.sum((evidence.values[key] - tables[key].values) ** 2) for key in weights)
        return float(sum(misfits)) + 2 * used

    cells = sum(values.size for values in evidence.values.values())
    gain = score(fitted.tables, fitted.parameters) - score(alone, parameters)
    if gain < _CLEARLY * math.sqrt(2 * cells):
        return fitted
    tables = {key: Cells(t.domain, (t.values + alone[key].values) / 2) for key, t in fitted.tables.items()}
    return replace(fitted, tables=tables, parameters=(fitted.parameters + parameters) / 2)


def settle_small(tables: Tables, variances: dict[Key, float]) -> Tables:
    """Make tables of one and two attributes agree, then scale larger ones to them.

    Args:
        tables: Non-negative, each with a sum of 1.
        variances: Variance of one cell of each table; of a table that was not measured by itself, the largest.
    """
    most = max(variances.values())
    weights = {key: variances.get(key, most) for key in tables}
    small = {key: table for key, table in tables.items() if len(key) <= 2}
    large = {key: table for key, table in tables.items() if len(key) > 2}
    if any(len(set(one) & set(two)) > 2 for one, two in itertools.combinations(large, 2)) or not small:
        large = settle(large, weights) if large else large
    found = settle(small, weights) if small else {}
    single = {name: found.get((name,)) for key in large for name in key}
    for key, table in large.items():
        inside = [held for other, held in found.items() if len(other) == 2 and set(other) <= set(key)]
        for name in key:
            if single[name] is None:
                single[name] = next((held.project((name,)) for held in inside if name in held.attributes), None)
        ends = [held for name in key if (held := single[name]) is not None]
        traced = Cells(table.domain, (1 - _TRACE) * table.values + _TRACE / table.domain.size)
        found[key] = rake(rake(traced, inside), ends, rounds=_SCALINGS) if ends else table
    return {key: found[key] for key in tables}


@dataclass(frozen=True, kw_only=True, eq=False)
class Modelled:
    """Published tables: a latent-class model, corrected where a table that was asked stands out of its noise."""

    domain: Domain = field(repr=False)
    latent: Mixture
    classes: int
    corrected: Tables = field(repr=False)
    pooled: Releases = field(repr=False)
    event: Event

    def supports(self, attributes: Iterable[str]) -> bool:
        """Whether all these attributes were asked about."""
        return self.latent.supports(attributes)

    def project(self, attributes: Iterable[str]) -> Cells:
        """The table over these attributes: corrected if it was asked for, else the model's."""
        names = tuple(attributes)
        for key, table in self.corrected.items():
            if set(names) == set(key):
                return table.project(names)
        return self.latent.project(names)

    def releases(self) -> Releases:
        """The corrected tables as releases, with the intervals of the unbiased pooled tables."""
        return Releases(self._publish(key, table) for key, table in self.corrected.items())

    def _publish(self, key: tuple[str, ...], table: Cells) -> Release:
        source = self.pooled.project(key)
        recipe = dict(source.provenance.recipe) | {"published": "modelled", "classes": self.classes}
        provenance = replace(source.provenance, recipe=recipe)
        # every table was made from all reports, so it costs what the dearest question does
        uncertainty = anchored(source.estimate, source.uncertainty)
        return replace(source, estimate=table, uncertainty=uncertainty, event=self.event, provenance=provenance)


def model(tally: Tally, *, classes: Iterable[int] = CLASSES, seed: int = 0) -> Modelled:
    """Fit and correct.

    Args:
        tally: What was counted.
        classes: Numbers of classes to try.
        seed: Of the fit's starts.
    """
    evidence = Evidence.of(tally)
    fitted = fit_model(evidence, classes=classes, seed=seed)
    pooled = pool_tables(tally)
    variances = {key: float(np.mean(evidence.covariance(key).variance())) for key in evidence.values}
    agreed = settle_small(fitted.tables, variances)
    cost = Pure(epsilon=tally.design.epsilon_upper)
    return Modelled(
        domain=tally.design.domain,
        latent=fitted.model,
        classes=fitted.averaged.classes,
        corrected=agreed,
        pooled=pooled,
        event=cost,
    )

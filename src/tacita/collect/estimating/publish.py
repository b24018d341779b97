"""Published tables from the counts: consistent, never negative, as near to the truth as the reports allow.

    raw          unbiased, with intervals; may be negative and disagree      for tests
    pooled       unbiased, with intervals; agree on shared attributes        for the shares of one question
    consistent   pooled, made non-negative                                   no model
    singles      the product of single attributes                            independence
    modelled     a few latent classes for all tables together, and what stands out of the noise of each added back

Number of classes: the one whose misfit, plus one for each parameter that it has more (Akaike's rule on the
weighted squared error), is smallest; more are tried until they are no better. It uses releases only, so it costs no
privacy. For the choice between these see `tacita.collect.estimating.automatic`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tacita.collect.estimating.evidence import Evidence, Key
from tacita.collect.estimating.pooled import pool_tables
from tacita.collect.estimating.shrink import shrink_weighted
from tacita.collect.estimating.tally import Tally
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.models.measurement import Measurement
from tacita.models.mixture import Mixture
from tacita.models.mixture_fit import Fitted, fit_latent_classes
from tacita.privacy.event import Event, Pure
from tacita.tables.cells import Cells
from tacita.tables.consistency import settle
from tacita.tables.release import Release, Releases
from tacita.tables.simplex import project_table
from tacita.tables.uncertainty import Correlated, anchored

__all__ = ["CLASSES", "FittedTables", "Modelled", "fit_model", "measurements_of", "model"]

Array = NDArray[np.float64]
Tables = dict[Key, Cells]

CLASSES = (1, 2, 3, 4, 6)
"""Numbers of classes that are tried."""


def measurements_of(evidence: Evidence) -> list[Measurement]:
    """Every table of one or two attributes that was asked, and every pair of a larger one, with its variance."""
    found = [pair for key in evidence.larger() for pair in _pairs(evidence, key)]
    for key, values in evidence.values.items():
        if len(key) <= 2:
            at = partial(_variance_at, evidence, key)
            even = np.full(values.shape, 1 / values.size)
            found.append(Measurement(attributes=key, values=values, variance=at(even), variance_at=at))
    return found


def _pairs(evidence: Evidence, key: Key) -> list[Measurement]:
    """The pairs of a larger table, each as if it had been measured by itself."""
    found, domain = [], evidence.domain.project(key)
    table, error = Cells(domain, evidence.values[key]), Correlated(covariance=evidence.covariance(key))
    for pair in itertools.combinations(key, 2):
        margin = table.project(pair)
        variance = error.project(domain, pair).std(margin) ** 2
        found.append(Measurement(attributes=pair, values=margin.values, variance=variance))
    return found


def _variance_at(evidence: Evidence, key: Key, table: Array) -> Array:
    variance = evidence.sources[key].covariance(table.reshape(-1)).variance()
    return np.asarray(variance).reshape(table.shape)


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedTables:
    """Models fitted to some evidence, and the tables that the best of them gives.

    Attributes:
        best: The fit with the number of classes that Akaike's rule takes.
        fits: One for each number of classes that was tried, the smallest first.
        tables: Of all tables that were asked; corrected where one stands out of its noise, before they are settled.
    """

    best: Fitted
    fits: tuple[Fitted, ...]
    tables: Tables = field(repr=False)

    @property
    def one(self) -> Mixture:
        """The model of one class: all attributes independent."""
        return self.fits[0].model


def fit_model(
    evidence: Evidence, *, classes: Iterable[int] = CLASSES, seed: int = 0, near: Sequence[Mixture] = ()
) -> FittedTables:
    """Fit latent classes to all tables, and correct each table by what stands out of its noise.

    Args:
        evidence: What was measured.
        classes: Numbers of classes to try.
        seed: Of the fits' starts.
        near: Fits to similar evidence, one for each number of classes: fits begin there.
    """
    measurements = measurements_of(evidence)
    if not measurements:
        raise InvalidInput("holds no table of one or two attributes", field="tally")
    domain = evidence.domain
    fits = tuple(
        (fit_latent_classes(domain, measurements, classes=model.components, near=model) for model in near)
        if near
        else _fits(domain, measurements, classes, seed)
    )
    best = min(fits, key=_akaike)
    tables = {m.attributes: _corrected(domain, best.model, m) for m in measurements if m.attributes in evidence.values}
    larger = {key: project_table(Cells(domain.project(key), evidence.values[key])) for key in evidence.larger()}
    return FittedTables(best=best, fits=fits, tables=tables | larger)


def _fits(domain: Domain, measurements: Sequence[Measurement], classes: Iterable[int], seed: int) -> Iterator[Fitted]:
    """Fits with more and more classes, until more are no better."""
    least = math.inf
    for number in sorted(classes):
        fit = fit_latent_classes(domain, measurements, classes=number, seed=seed)
        yield fit
        if _akaike(fit) > least:
            return
        least = _akaike(fit)


def _akaike(fit: Fitted) -> float:
    return fit.misfit + fit.model.parameters


def _corrected(domain: Domain, fitted: Mixture, measured: Measurement) -> Cells:
    table = fitted.project(measured.attributes).values
    if len(measured.attributes) == 2:
        variance = np.asarray(measured.reweighted(table).variance)
        table = table + shrink_weighted(measured.values - table, variance)
    return project_table(Cells(domain.project(measured.attributes), table))


@dataclass(frozen=True, kw_only=True, eq=False)
class Modelled:
    """Published tables: a latent-class model, corrected where a table that was asked stands out of its noise."""

    domain: Domain = field(repr=False)
    latent: Mixture
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
        source = self.pooled[key]
        recipe = dict(source.provenance.recipe) | {"published": "modelled", "classes": self.latent.components}
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
    agreed = settle(fitted.tables, variances)
    cost = Pure(epsilon=tally.design.epsilon_upper)
    return Modelled(domain=tally.design.domain, latent=fitted.best.model, corrected=agreed, pooled=pooled, event=cost)

"""From what was counted to tables that people use: consistent, never negative, as near to the truth as we can.

    raw          unbiased, with intervals, may be negative and disagree      for tests and intervals
    consistent   raw, made to agree and projected                            no model
    modelled     a few latent classes for all tables together, and back what stands out of the noise of each

Which number of classes: the one whose misfit, plus one for each parameter that it has more (Akaike's rule on the
weighted squared error), is smallest. It looks at releases only, so it is free.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tacita.cells import Cells
from tacita.collect.consistency import settle
from tacita.collect.design import Asked
from tacita.collect.latent import LatentClasses, Measurement, fit_latent_classes
from tacita.collect.shrink import shrink_weighted
from tacita.collect.simplex import project_table
from tacita.collect.tally import Tally
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.privacy.event import Event, Pure
from tacita.release import Release, Releases
from tacita.uncertainty import Unknown

__all__ = ["Modelled", "measurements_of", "model"]

Array = NDArray[np.float64]

_CLASSES = (1, 2, 3, 4, 6)


def measurements_of(tally: Tally) -> list[Measurement]:
    """Every table of one or two attributes that was asked, and every pair of a larger one, with its variance."""
    larger = {key: release for key, release in tally.releases().items() if len(key) > 2}
    found = [pair for release in larger.values() for pair in _pairs(release)]
    for asked, counts in tally:
        if asked.attributes in larger:
            continue
        estimate = asked.channel.estimate(counts)
        shape = tally.design.domain.project(asked.attributes).shape
        at = partial(_variance_at, asked, estimate.respondents)
        values = np.asarray(estimate.frequencies).reshape(shape)
        even = np.full(shape, 1 / values.size)
        found.append(Measurement(attributes=asked.attributes, values=values, variance=at(even), variance_at=at))
    return found


def _pairs(release: Release) -> list[Measurement]:
    """The pairs of a larger table, each as if it had been measured by itself."""
    found = []
    for pair in itertools.combinations(release.attributes, 2):
        margin = release.project(pair)
        found.append(Measurement(attributes=pair, values=margin.values, variance=margin.std() ** 2))
    return found


def _variance_at(asked: Asked, respondents: int, table: Array) -> Array:
    variance = asked.channel.covariance(table.reshape(-1), respondents=respondents).variance()
    return np.asarray(variance).reshape(table.shape)


@dataclass(frozen=True, kw_only=True, eq=False)
class Modelled:
    """Published tables: a latent-class model, corrected where a table that was asked stands out of its noise."""

    domain: Domain = field(repr=False)
    latent: LatentClasses
    corrected: dict[tuple[str, ...], Cells] = field(repr=False)
    raw: Releases = field(repr=False)
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
        """The corrected tables as releases; biased, so without intervals: those are in `raw`."""
        return Releases(self._publish(key, table) for key, table in self.corrected.items())

    def _publish(self, key: tuple[str, ...], table: Cells) -> Release:
        source = self.raw[key]
        recipe = dict(source.provenance.recipe) | {"published": "modelled", "classes": self.latent.classes}
        provenance = replace(source.provenance, recipe=recipe)
        # every table was made from all reports, so it costs what the dearest question does
        return replace(source, estimate=table, uncertainty=Unknown(), event=self.event, provenance=provenance)


def model(tally: Tally, *, classes: Iterable[int] = _CLASSES, seed: int = 0) -> Modelled:
    """Fit and correct.

    Args:
        tally: What was counted.
        classes: Numbers of classes to try.
        seed: Of the fit's starts.
    """
    measurements = measurements_of(tally)
    if not measurements:
        raise InvalidInput("holds no table of one or two attributes", field="tally")
    domain = tally.design.domain
    fits = [fit_latent_classes(domain, measurements, classes=z, seed=seed) for z in classes]
    best = min(fits, key=lambda fit: fit.misfit + _parameters(fit))
    raw = tally.releases()
    corrected = {key: _corrected(domain, best, m) for key, m in _by_table(measurements, raw).items()}
    larger = {key: project_table(release.estimate) for key, release in raw.items() if len(key) > 2}
    variances = {key: float(np.mean(release.std() ** 2)) for key, release in raw.items()}
    agreed = settle(corrected | larger, variances)
    cost = Pure(epsilon=tally.design.epsilon_upper)
    return Modelled(domain=domain, latent=best, corrected=agreed, raw=raw, event=cost)


def _by_table(measurements: Iterable[Measurement], raw: Releases) -> dict[tuple[str, ...], Measurement]:
    """One measurement for each table that was asked; where it was asked in several blocks, what they say together."""
    found: dict[tuple[str, ...], Measurement] = {}
    for measured in measurements:
        key = measured.attributes
        if key in raw:
            pooled = Measurement(attributes=key, values=raw[key].values, variance=raw[key].std() ** 2)
            found[key] = pooled if key in found else measured
    return found


def _parameters(fit: LatentClasses) -> int:
    return fit.classes - 1 + fit.classes * sum(len(table) - 1 for table in fit.conditionals.values())


def _corrected(domain: Domain, fit: LatentClasses, measured: Measurement) -> Cells:
    base = fit.project(measured.attributes)
    table = base.values
    if len(measured.attributes) == 2:
        variance = measured.variance_at(table) if measured.variance_at else measured.variance
        table = table + shrink_weighted(measured.values - table, variance)
    return project_table(Cells(domain.project(measured.attributes), table))

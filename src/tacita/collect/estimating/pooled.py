"""Pooled tables: one estimate of every share from all reports that hold its attributes, with its covariance.

    pool_tables    unbiased tables that agree on all shared margins, each with a covariance

A question about smoking and age also measures the share of smokers. So this share is measured by the question about
smoking alone and by every table that holds it. Generalised least squares combines these measurements: among all
estimates that are linear in the counts and unbiased it has the smallest variance, up to the estimation of the
covariances themselves.

Model: table t is measured as x_t with a known covariance S_t, independently of the other tables, because each person
answers one question. Write M_t' x_t for the contrasts of all margins that t shares with another table (total excluded:
it is known to be 1), C_t = M_t' S_t M_t for their covariance, and b for the true values of all shared contrasts. Then

    V = (sum_t C_t^-1)^-1,   b^ = V sum_t C_t^-1 M_t' x_t            the shared contrasts, all tables together
    x_t + A_t (b^ - M_t' x_t),   A_t = S_t M_t C_t^-1                table t, given them
    S_t - A_t C_t A_t' + A_t V A_t'                                  its covariance

which is the generalised least squares estimate of all tables together: what t shares with no other table is free.

Privacy: post-processing of reports; nothing is spent.
Utility: unbiased; intervals of the normal law; never wider than those of one table alone, up to estimated weights.
Cost: the cube of the number of shared contrasts.   Claim page: docs/claims/collected-tables.md.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from tacita.collect.analysis.independence import known_total
from tacita.collect.estimating.evidence import Evidence, Key
from tacita.collect.estimating.tally import Tally
from tacita.domain import Domain
from tacita.tables.cells import Cells
from tacita.tables.release import Release, Releases
from tacita.tables.uncertainty import Correlated, Covariance

__all__ = ["Pooling", "combine_phases", "pool_tables"]

Array = NDArray[np.float64]
Tables = Mapping[Key, Array]

_MOST_SHARED = 3000
"""Shared contrasts above which tables are combined by their single attributes only: time grows with the cube."""
_PASSES = 2
"""The covariances are evaluated at the raw tables first, then at the pooled ones."""


def pool_tables(tally: Tally, pooling: Pooling | None = None) -> Releases:
    """Combine all tables of a collection by generalised least squares.

    Where one person answers several questions (a view), these are about different attributes. Their errors are then
    correlated through the people who were sampled, by at most the dependence of the attributes. The weights ignore
    that, which keeps estimates unbiased.

    Args:
        tally: What was counted.
        pooling: Of its evidence, where it was computed before.
    """
    if tally.design.first is not None and tally.of_block(1) and tally.of_block(2):
        return combine_phases(tally.of_block(1), tally.of_block(2))
    pooling = pooling or Pooling.of(Evidence.of(tally))
    raw = tally.releases(at=pooling.tables)
    return Releases(_published(release, pooling) for release in raw.values())


def combine_phases(first: Tally, second: Tally) -> Releases:
    """Pool each phase by itself, then combine each table of both with weights that hold for any second design.

    The second phase's numbers of reports follow from the first one's reports, so that weights by their variances would
    be correlated with the errors of the first. With w_1, w_2 the roots of the planned shares and s_b the mean standard
    deviation of the table in phase b,

        estimate = a x_1 + (1 - a) x_2,    a = (w_1 / s_1) / (w_1 / s_1 + w_2 / s_2)

    has an error proportional to w_1 e_1 / s_1 + w_2 e_2 / s_2: given the first phase, e_2 / s_2 is standard normal
    whatever the design is, so that the sum is normal with variance 1 [Lehmacher, Wassmer 1999]. A table that only one
    phase holds is that of this phase.
    """
    share = first.design.first
    assert share is not None
    design, phases = first.design, [_of_phase(first), _of_phase(second)]
    keys: dict[frozenset[str], Key] = {}
    for key in [
        *(key for found in phases for key in found),
        *design.wanted,
        *((name,) for name in design.domain.names),
    ]:
        keys.setdefault(frozenset(key), tuple(key))
    held = [(key, [found.project(key) for found in phases if found.supports(key)]) for key in keys.values()]
    weights = (np.sqrt(share), np.sqrt(1 - share))
    return Releases(_combined(both, weights) if len(both) == 2 else both[0] for _, both in held if both)


def _of_phase(tally: Tally) -> Releases:
    pooling = Pooling.of(Evidence.of(tally))
    return Releases(_published(release, pooling) for release in tally.releases(at=pooling.tables).values())


def _combined(both: Sequence[Release], planned: Sequence[float]) -> Release:
    pulls = [w / float(np.sqrt(np.mean(release.std() ** 2))) for w, release in zip(planned, both, strict=True)]
    shares = [pull / sum(pulls) for pull in pulls]
    parts = []
    for release in both:
        assert isinstance(release.uncertainty, Correlated)
        parts.append(release.uncertainty.covariance)
    covariance = Covariance(
        diagonal=sum((w * w * part.diagonal for w, part in zip(shares, parts, strict=True)), np.zeros(1)),
        vectors=np.vstack([w * part.vectors for w, part in zip(shares, parts, strict=True)]),
        signs=np.concatenate([part.signs for part in parts]),
    )
    values = sum((w * release.values for w, release in zip(shares, both, strict=True)), np.zeros(()))
    recipes = [release.provenance.recipe for release in both]
    recipe = dict(recipes[0]) | {"reports": sum(each["reports"] for each in recipes), "phases": 2}
    return replace(
        both[0],
        estimate=Cells(both[0].domain, values),
        uncertainty=Correlated(covariance=covariance),
        provenance=replace(both[0].provenance, recipe=recipe),
    ).derived()


def _published(release: Release, pooling: Pooling) -> Release:
    recipe = dict(release.provenance.recipe) | {"published": "pooled", "reports": pooling.reports(release.attributes)}
    found = replace(release, provenance=replace(release.provenance, recipe=recipe))
    if pooling.is_alone(release.attributes):  # no other table says anything about this one
        return found
    estimate = pooling.cells(release.attributes)
    uncertainty = Correlated(covariance=pooling.covariances[release.attributes])
    return replace(found, estimate=estimate, uncertainty=uncertainty).derived()


class Pooling:
    """The generalised least squares map of some evidence, for given covariances.

    Attributes:
        tables: The pooled tables.
        covariances: The covariance of each.
    """

    def __init__(self, evidence: Evidence, at: Tables) -> None:
        """Set up the weights.

        Args:
            evidence: What was measured.
            at: The tables at which covariances are evaluated.
        """
        self._evidence, domain = evidence, evidence.domain
        shared = _shared_sets(domain, list(evidence.values))
        ends = np.cumsum([0, *(_contrasts(domain, names) for names in shared)])
        places = {names: slice(int(a), int(b)) for names, a, b in zip(shared, ends[:-1], ends[1:], strict=True)}
        self._parts = {key: _Part(domain, key, evidence.covariance(key, at[key]), places) for key in evidence.values}
        information = np.zeros((ends[-1], ends[-1]))
        for part in self._parts.values():
            information[np.ix_(part.at, part.at)] += part.information
        self._variance = np.linalg.inv(information)
        self.tables = self(evidence.values)
        self.covariances = {key: part.given(self._variance) for key, part in self._parts.items()}

    @classmethod
    def of(cls, evidence: Evidence) -> Pooling:
        """The pooled tables of some evidence, its covariances evaluated at what they turn out to be."""
        at: Tables = evidence.values
        for _ in range(_PASSES - 1):
            at = cls(evidence, at).tables
        return cls(evidence, at)

    def __call__(self, values: Tables) -> dict[Key, Array]:
        """The pooled tables of other measurements, with the same weights: a linear map."""
        flat = {key: part.with_total(values[key].reshape(-1)) for key, part in self._parts.items()}
        pull = np.zeros(len(self._variance))
        for key, part in self._parts.items():
            pull[part.at] += part.information @ (part.maps.T @ flat[key])
        shared = self._variance @ pull
        return {
            key: (flat[key] + part.weights @ (shared[part.at] - part.maps.T @ flat[key])).reshape(values[key].shape)
            for key, part in self._parts.items()
        }

    def cells(self, key: Key) -> Cells:
        """One pooled table."""
        return Cells(self._evidence.domain.project(key), self.tables[key])

    def is_alone(self, key: Key) -> bool:
        """Whether a table shares no attribute with another one."""
        return self._parts[key].at.size == 0

    def reports(self, key: Key) -> int:
        """Number of answers about some attribute of a table."""
        sources = self._evidence.sources
        return sum(sum(source.reports) for other, source in sources.items() if set(other) & set(key))


def _shared_sets(domain: Domain, keys: Sequence[Key]) -> list[Key]:
    """Non-empty sets of attributes that at least two tables hold, smallest first."""
    common = {frozenset(a) & frozenset(b) for a, b in itertools.combinations(keys, 2)}
    sets = {
        frozenset(s) for whole in common for size in range(len(whole)) for s in itertools.combinations(whole, size + 1)
    }
    ordered = sorted((tuple(sorted(s, key=domain.names.index)) for s in sets), key=lambda s: (len(s), s))
    contrasts = sum(_contrasts(domain, s) for s in ordered)
    return ordered if contrasts <= _MOST_SHARED else [s for s in ordered if len(s) == 1]


def _contrasts(domain: Domain, names: Key) -> int:
    return int(np.prod([domain[name].size - 1 for name in names]))


def _contrast_matrix(domain: Domain, key: Key, names: Key) -> Array:
    """The orthonormal contrasts of the margin over `names`, as columns over the cells of the table `key`."""
    parts = [linalg.helmert(domain[n].size) if n in names else np.ones((1, domain[n].size)) for n in key]
    return np.asarray(reduce(np.kron, parts).T)


class _Part:
    """One table: its estimate of the shared contrasts, and how it changes when they are known better."""

    def __init__(self, domain: Domain, key: Key, measured: Covariance, places: Mapping[Key, slice]) -> None:
        self._measured = measured
        size = measured.diagonal.size
        self.covariance = known_total(np.zeros(size), measured)[1]
        held = [names for names in places if set(names) <= set(key) and _contrasts(domain, names)]
        self.at = np.concatenate([np.arange(places[n].start, places[n].stop) for n in held] or [np.arange(0)])
        self.maps = np.hstack([_contrast_matrix(domain, key, n) for n in held]) if held else np.zeros((size, 0))
        self._moved = self.covariance.times(self.maps)
        self._factor = linalg.cho_factor(self.maps.T @ self._moved, lower=True) if held else (np.zeros((0, 0)), True)
        self.information = linalg.cho_solve(self._factor, np.eye(self.at.size)) if held else np.zeros((0, 0))
        self.weights = self._moved @ self.information

    def with_total(self, values: Array) -> Array:
        """The measured table, given that all shares sum to 1."""
        return known_total(values, self._measured)[0]

    def given(self, variance: Array) -> Covariance:
        """The covariance of the table when the shared contrasts have this one."""
        if not self.at.size:
            return self.covariance
        taken = linalg.solve_triangular(self._factor[0], self._moved.T, lower=True)
        returned = (self.weights @ linalg.cholesky(variance[np.ix_(self.at, self.at)], lower=True)).T
        old = self.covariance
        return Covariance(
            diagonal=old.diagonal,
            vectors=np.vstack([old.vectors, taken, returned]),
            signs=np.concatenate([old.signs, np.ones(len(taken)), -np.ones(len(returned))]),
        )

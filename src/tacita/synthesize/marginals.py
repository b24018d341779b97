"""Synthesis from all pairs, or from single attributes alone, measured once.

    Pairs         every pair of attributes with noise, and the mixture of products and the tree that fit them
    Independent   every attribute with noise, and their product

Privacy:  that of the noisy tables; which tables are measured does not depend on data, so nothing is spent on choosing,
          and with Gaussian noise the losses add up by their distributions.   Claim: docs/claims/marginal-synthesis.md
Utility:  all pairs get the same noise; less for larger ones was tried and made no difference. Dependence that noise
          hides is left out, not invented.
Cost:     one pass for all tables; the fit takes seconds, whatever the number of rows.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tacita import check
from tacita.common.plain import plain_fields
from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.models.measurement import singles_of
from tacita.models.mixture_fit import COMPONENTS, FITS, STEPS
from tacita.models.network import BayesianNetwork
from tacita.models.pairs.stacked import fit_stacked
from tacita.noise import Source
from tacita.plans.additive import CalibratedTables, Family, NoisyTables
from tacita.privacy.budget import Budget
from tacita.privacy.event import Event
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.effort import check_seconds, mixture_step, scaled
from tacita.synthesize.estimate import check_width, lost_rows, measurements_of, shares_of
from tacita.synthesize.plan import Key, Outcome, SynthesisPlan, check_attributes, generator
from tacita.tables.cells import Cells
from tacita.tables.release import Release
from tacita.tables.workload import Workload

__all__ = ["EMPTY", "HIDDEN", "Independent", "Pairs", "PairsPlan", "pair_workload", "product_of"]

HIDDEN = "No dependence could be distinguished from noise, so the attributes are independent."
EMPTY = "The noise hides how many rows there are; the model says next to nothing."


def pair_workload(names: Key) -> Workload:
    """All pairs, or the one attribute there is; all with the same noise."""
    keys: list[Key] = [*itertools.combinations(names, 2)] or [names]
    return Workload.of(*keys)


def product_of(domain: Domain, releases: list[Release]) -> BayesianNetwork:
    """The network without edges that has these tables over single attributes."""
    tables = {release.attributes[0]: shares_of(release) for release in releases}
    return BayesianNetwork(
        domain=domain, parents=dict.fromkeys(domain.names, ()), conditionals={n: tables[n] for n in domain.names}
    )


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Measure all pairs, fit a mixture of products.

    Args:
        attributes: Attributes to synthesise; all that can be counted if None.
        components, fits, steps: See `fit_mixture`.
        seconds: About how long fitting may take: fewer steps are planned for, see `effort`.
        family: Noise; see `NoisyTables`.
    """

    attributes: Key | None = None
    components: int = COMPONENTS
    fits: int = FITS
    steps: int = STEPS
    seconds: float = math.inf
    family: Family = "auto"

    def __post_init__(self) -> None:
        for name in ("components", "fits", "steps"):
            check.whole(getattr(self, name), name, least=1, most=100_000)
        check_seconds(self.seconds)

    def calibrate(
        self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours, reason: str = ""
    ) -> PairsPlan:
        """Fix the noise so that all pairs together cost at most the budget; reads no data."""
        names = check_attributes(domain, self.attributes, unit)
        check_width(domain.project(names))
        # beside the fits that are averaged there are trials, and a fit for the share of a tree
        whole = (self.fits + 2) * self.steps * mixture_step(self.components, sum(domain.project(names).shape))
        within = replace(self, steps=scaled(self.steps, self.seconds, whole))
        return _planned(within, pair_workload(names), domain, budget, unit, neighbours, names, reason)

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        return {"method": "pairs"} | plain_fields(self)


@dataclass(frozen=True, kw_only=True)
class Independent:
    """Measure single attributes, take their product."""

    attributes: Key | None = None
    family: Family = "auto"

    def calibrate(
        self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours, reason: str = ""
    ) -> PairsPlan:
        """Fix the noise so that all attributes together cost at most the budget; reads no data."""
        names = check_attributes(domain, self.attributes, unit)
        workload = Workload.of(*((name,) for name in names))
        return _planned(self, workload, domain, budget, unit, neighbours, names, reason)

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        return {"method": "independent"} | plain_fields(self)


def _planned(
    recipe: Pairs | Independent,
    workload: Workload,
    domain: Domain,
    budget: Budget,
    unit: Unit,
    neighbours: Neighbours,
    names: Key,
    reason: str,
) -> PairsPlan:
    tables = NoisyTables(workload, family=recipe.family)
    return PairsPlan(
        recipe=recipe,
        domain=domain,
        unit=unit,
        neighbours=neighbours,
        budget=budget,
        names=names,
        reason=reason,
        tables=tables.calibrate(domain, budget, unit=unit, neighbours=neighbours),
    )


@dataclass(frozen=True, kw_only=True)
class PairsPlan(SynthesisPlan):
    """Tables with their noise fixed, and what is fitted to them."""

    tables: CalibratedTables

    @cached_property
    def event(self) -> Event:
        """That of the noisy tables."""
        return self.tables.event

    def model(self, engine: Engine, source: Source) -> Outcome:
        """All tables in one pass, then the fit."""
        releases = list(self.tables.run(engine, source).values())
        targets, people, error = measurements_of(releases)
        domain = self.domain.project(self.names)
        empty = people < 3 * error
        notes = ((EMPTY,) if empty else ()) + lost_rows(releases)
        if isinstance(self.recipe, Independent) or len(self.names) == 1:
            return Outcome(product_of(domain, releases), people, error, notes, [releases])
        if empty:
            singles = singles_of(domain, targets)
            tables = {name: Cells(domain.project([name]), shares) for name, shares in singles.items()}
            bare = BayesianNetwork(domain=domain, parents=dict.fromkeys(domain.names, ()), conditionals=tables)
            return Outcome(bare, people, error, (*notes, HIDDEN), [releases])
        recipe = self.recipe
        fitted = fit_stacked(
            domain,
            targets,
            generator(source),
            components=recipe.components,
            fits=recipe.fits,
            steps=recipe.steps,
        )
        notes += (
            f"All {len(releases)} pairs were measured; the fit leaves {fitted.loss:.2f} of the noise's variance.",
        )
        if fitted.share:
            notes += (f"A tree of pairs has a share of {fitted.share:.2f} in the model, the mixture has the rest.",)
        if fitted.adjusted:
            notes += (f"{fitted.adjusted} pairs that the fit misses by more than noise follow their own tables.",)
        if fitted.hidden:
            notes += (HIDDEN,)
        return Outcome(fitted.model, people, error, notes, [releases])

"""Synthetic rows for one task: to predict a target attribute from the others.

    tables of a, b, target   all of them, and a mixture for each level of the target      noise is small
    tables of a, target      all of them; given the target, the others are independent    noise is large

Which of the two is a matter of public facts: the noise of a table of three, as a share of the rows of one level.

Privacy:  that of the noisy tables; which tables are measured does not depend on data.
          Claim: docs/claims/marginal-synthesis.md
Utility:  classifiers of the target come nearer to those of the real rows than with all pairs; other tables are further
          off. If one classifier is all that is needed, private training on the real rows is still better.
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
from tacita.errors import InvalidInput, UnknownName
from tacita.models.mixture_fit import COMPONENTS, FITS, STEPS
from tacita.models.pairs.by_class import fit_by_class, fit_star
from tacita.models.pairs.dependence import TYPICAL_ROWS
from tacita.noise import Source
from tacita.plans.additive import CalibratedTables, NoisyTables
from tacita.privacy.budget import Budget
from tacita.privacy.event import Event
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.effort import check_seconds, mixture_step, scaled
from tacita.synthesize.estimate import check_width, lost_rows, measurements_of
from tacita.synthesize.marginals import EMPTY
from tacita.synthesize.plan import Key, Outcome, SynthesisPlan, check_attributes, generator
from tacita.tables.cells import MAX_DENSE
from tacita.tables.workload import Workload

__all__ = ["Targeted", "TargetedPlan"]

_CLEAR = 0.5
"""Noise of a table of three, as a share of the rows of one level, up to which such tables are measured."""
_MOST_TABLES = 5000


@dataclass(frozen=True, kw_only=True)
class Targeted:
    """Measure tables with the target, fit a model of the others given the target.

    Args:
        target: The attribute that will be predicted.
        attributes: Attributes to synthesise, the target among them; all that can be counted if None.
        people: Approximate number of rows, where that is public. It decides how large tables may be.
        components, fits, steps: See `fit_mixture`.
        seconds: About how long fitting may take: fewer steps are planned for, see `effort`.
    """

    target: str
    attributes: Key | None = None
    people: int | None = None
    components: int = COMPONENTS
    fits: int = FITS
    steps: int = STEPS
    seconds: float = math.inf

    def __post_init__(self) -> None:
        if not isinstance(self.target, str):
            raise InvalidInput("must be the name of an attribute", field="target", value=self.target)
        for name in ("components", "fits", "steps"):
            check.whole(getattr(self, name), name, least=1, most=100_000)
        check.whole(self.people, "people", least=2, optional=True)
        check_seconds(self.seconds)

    def calibrate(
        self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours, reason: str = ""
    ) -> TargetedPlan:
        """Fix the noise so that all tables together cost at most the budget; reads no data."""
        names = check_attributes(domain, self.attributes, unit)
        if self.target not in names:
            raise UnknownName(self.target, field="target", available=names)
        if len(names) < 2:
            raise InvalidInput("needs at least one attribute besides the target", field="attributes")
        over = domain.project(names)
        check_width(over)
        others = [name for name in names if name != self.target]
        threes = [_in_order(names, one, other, self.target) for one, other in itertools.combinations(others, 2)]
        plan, noise = None, math.inf
        if 0 < len(threes) <= _MOST_TABLES and sum(domain.project(key).size for key in threes) <= MAX_DENSE:
            tables = NoisyTables(Workload.of(*threes)).calibrate(domain, budget, unit=unit, neighbours=neighbours)
            noise = _noise_of_level(tables, domain[self.target].size, self.people or TYPICAL_ROWS)
            plan = tables if noise <= _CLEAR else None
        by_class = plan is not None
        if plan is None:
            twos = Workload.of(*(_in_order(names, other, self.target) for other in others))
            plan = NoisyTables(twos).calibrate(domain, budget, unit=unit, neighbours=neighbours)
        whole = 2 * self.fits * self.steps * mixture_step(self.components, sum(over.shape))
        return TargetedPlan(
            recipe=replace(self, steps=scaled(self.steps, self.seconds, whole)),
            domain=domain,
            unit=unit,
            neighbours=neighbours,
            budget=budget,
            names=names,
            reason=reason or self._reason(by_class, noise, budget),
            tables=plan,
            by_class=by_class,
        )

    def _reason(self, by_class: bool, noise: float, budget: Budget) -> str:
        rows = f"about {self.people:,} rows" if self.people else f"{TYPICAL_ROWS:,} rows (assumed: none are stated)"
        if by_class:
            return f"At {budget} and {rows}, every two attributes are measured together with {self.target}."
        large = f": noise on tables of three is {noise:.1f} times the rows of a level" if math.isfinite(noise) else ""
        return f"At {budget} and {rows}, each attribute is measured with {self.target} alone{large}."

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        return {"method": "targeted"} | plain_fields(self)


def _in_order(names: Key, *some: str) -> Key:
    return tuple(name for name in names if name in some)


def _noise_of_level(tables: CalibratedTables, levels: int, people: int) -> float:
    """Mean over tables of half the absolute noise in all cells, as a share of the rows of one level."""
    sizes = [tables.domain.project(key).size for key in tables.recipe.workload.keys]
    each = [law.std * size for law, size in zip(tables.laws, sizes, strict=True)]
    return math.sqrt(2 / math.pi) / 2 * sum(each) / len(each) * levels / people


@dataclass(frozen=True, kw_only=True)
class TargetedPlan(SynthesisPlan):
    """Tables with the target, with their noise fixed, and what is fitted to them.

    Attributes:
        tables: Of two attributes and the target if `by_class`, else of one attribute and the target.
        by_class: Whether the model has a mixture for each level of the target.
    """

    tables: CalibratedTables
    by_class: bool

    @cached_property
    def event(self) -> Event:
        """That of the noisy tables."""
        return self.tables.event

    def model(self, engine: Engine, source: Source) -> Outcome:
        """All tables in one pass, then the fit."""
        releases = list(self.tables.run(engine, source).values())
        measured, people, error = measurements_of(releases)
        domain, recipe = self.domain.project(self.names), self.recipe
        notes = ((EMPTY,) if people < 3 * error else ()) + lost_rows(releases)
        if not self.by_class:
            return Outcome(fit_star(domain, recipe.target, measured), people, error, notes, [releases])
        found = fit_by_class(
            domain,
            recipe.target,
            measured,
            generator(source),
            components=recipe.components,
            fits=recipe.fits,
            steps=recipe.steps,
        )
        left = ", ".join(f"{loss:.2f}" for loss in found.losses)
        notes += (f"Of the noise's variance the fits of the levels of {recipe.target} leave: {left}.",)
        return Outcome(found.model, people, error, notes, [releases])

    def parts(self) -> dict[str, Any]:
        """Own parts of the plain data."""
        return super().parts() | {"target": self.recipe.target, "tables_of": 3 if self.by_class else 2}

"""A parent table and a child table, synthesised together with privacy for the person.

    parents    any synthesizer over the parent's attributes and the number of its children, one row a person
    children   all pairs of a parent's and a child's attribute, and of two child's attributes, with noise for `most`
               rows a person; the mixture of products that fits them and the parents' own pairs

Privacy:  a person is a parent's row with all its children, of whom at most `most` count. The parts are charged one
          after the other: the first with a unit of one row, the second with one of `most` rows. The dependence
          between parents' attributes is read off the released model, which costs nothing.
          Claim: docs/claims/relational.md
Utility:  noise on children grows with `most`: choose it as small as most parents allow.
Cost:     both tables are read into memory once.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.common.plain import plain_fields
from tacita.domain import Domain
from tacita.engines.linked import Linked, child_names, linked_domain, parent_names
from tacita.errors import InvalidInput
from tacita.models.measurement import Measurement, singles_of
from tacita.models.mixture import Mixture
from tacita.models.mixture_fit import COMPONENTS, FITS, STEPS, fit_mixture
from tacita.noise import Source
from tacita.plans.additive import CalibratedTables, NoisyTables
from tacita.plans.recipe import CalibratedPlan
from tacita.plans.split import BudgetSplit, in_sequence
from tacita.privacy.budget import Budget
from tacita.privacy.event import Event
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.estimate import check_width, lost_rows, measurements_of
from tacita.synthesize.marginals import EMPTY, HIDDEN, Pairs
from tacita.synthesize.plan import Key, SynthesisPlan, generator
from tacita.synthesize.relational.related import Related
from tacita.synthesize.result import Model
from tacita.tables.release import Provenance, Release
from tacita.tables.workload import Workload

__all__ = ["Relational", "RelationalPlan"]


class ParentRecipe(Protocol):
    """Any synthesizer of this package."""

    def calibrate(self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours) -> SynthesisPlan:
        """Fix the noise."""

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""


@dataclass(frozen=True, kw_only=True)
class Relational:
    """Synthesise parents and children.

    Args:
        most: Children that count of one parent; more are dropped by a rule that reads one person at a time.
        count: Name of the number of children in the models.
        parents: How parents are synthesised.
        share: Of the budget that goes to the parents.
        components, fits, steps: Of the children's model; see `fit_mixture`.
    """

    most: int
    count: str = "children"
    parents: ParentRecipe = field(default_factory=Pairs)
    share: float = 0.5
    components: int = COMPONENTS
    fits: int = FITS
    steps: int = STEPS

    def __post_init__(self) -> None:
        if not isinstance(self.share, float) or not 0.01 <= self.share <= 0.99:
            raise InvalidInput("must lie between 0.01 and 0.99", field="share", value=self.share)
        for name in ("components", "fits", "steps"):
            check.whole(getattr(self, name), name, least=1, most=100_000)

    def calibrate(
        self, parents: Domain, children: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours
    ) -> RelationalPlan:
        """Fix the noise so that both parts together cost at most the budget; reads no data.

        Args:
            parents: Public description of parents; its person is their key.
            children: Public description of children; its person is the column that names the parent.
            budget: For both.
            unit: `person:KEY:MOST`, with the parents' key and `most`.
            neighbours: Against what change.
        """
        for domain in (parents, children):
            domain.require_public()
        linked = linked_domain(parents, children, most=self.most, count=self.count)
        unit.check(linked)
        if unit.max_rows != self.most:
            raise InvalidInput(
                f"must count {self.most} rows of a person, as `most` says", field="unit", value=str(unit)
            )
        above, below = parent_names(parents, self.count), child_names(children)
        check_width(linked.project((*above, *below)))
        first, second = _split(budget, Fraction(self.share).limit_denominator(1000), unit, neighbours)
        one = Unit.of_person(unit.person or "", max_rows=1)
        top = linked.model_copy(update={"attributes": tuple(linked[name] for name in (unit.person or "", *above))})
        pairs: list[Key] = [*itertools.product(above, below), *itertools.combinations(below, 2)]
        return RelationalPlan(
            recipe=self,
            domain=linked,
            unit=unit,
            neighbours=neighbours,
            budget=budget,
            link=children.person or "",
            above=above,
            first=self.parents.calibrate(Domain.from_dict(top.as_dict()), first, unit=one, neighbours=neighbours),
            second=NoisyTables(Workload.of(*pairs)).calibrate(linked, second, unit=unit, neighbours=neighbours),
        )

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        return {"method": "relational"} | plain_fields(self)


def _split(budget: Budget, share: Fraction, unit: Unit, neighbours: Neighbours) -> tuple[Budget, Budget]:
    """Two budgets that together cost no more than one: parts of epsilon, or of the rho that it is worth."""
    split = BudgetSplit.of(budget, unit, neighbours)
    make = Budget.zcdp if split.concentrated else Budget.pure
    # a float may lie above the ratio that it stands for; so much less is taken
    parts = [float(split.amount * part * (1 - Fraction(1, 10**12))) for part in (share, 1 - share)]
    return make(parts[0]), make(parts[1])


@dataclass(frozen=True, kw_only=True)
class RelationalPlan(CalibratedPlan[Related]):
    """Both parts with their noise fixed. Reads no data until it runs.

    Attributes:
        first: For parents, with a unit of one row.
        second: The tables for children, with a unit of `most` rows.
    """

    answer = Related

    recipe: Relational
    domain: Domain = field(repr=False)
    unit: Unit
    neighbours: Neighbours
    budget: Budget
    link: str
    above: Key
    first: SynthesisPlan
    second: CalibratedTables

    @property
    def event(self) -> Event:
        """Cost of both models to a person, derived from the noise distributions that draw."""
        return in_sequence(self.first.event, self.second.event)

    def run(self, linked: Linked, source: Source) -> Related:
        """Count, add noise, fit. Charge the event first: a `Session` takes the linked pair as an engine."""
        if linked.domain.fingerprint != self.domain.fingerprint:
            raise InvalidInput("the schemas are not those that the plan was made for", field="linked")
        parents = self.first.run(linked.by_parent, source)
        releases = list(self.second.run(linked.by_child, source).values())
        children, notes = self._children(releases, parents.model, source)
        return Related(
            parents=parents,
            children=children,
            count=self.recipe.count,
            key=self.domain.person or "",
            link=self.link,
            notes=(*(f"Parents: {note}" for note in parents.notes), *(f"Children: {note}" for note in notes)),
            event=self.event,
            unit=self.unit,
            neighbours=self.neighbours,
            provenance=Provenance(recipe=self.recipe.as_dict(), simulated=source.simulated),
        )

    def _children(self, releases: list[Release], parents: Model, source: Source) -> tuple[Mixture, tuple[str, ...]]:
        """The model of children with their parents."""
        domain = self.domain.project(self.domain.countable)
        targets, rows, error = measurements_of(releases)
        if rows < 3 * error:
            singles = singles_of(domain, targets)
            tables = {name: shares[None] for name, shares in singles.items()}
            return Mixture(domain=domain, weights=np.ones(1), tables=tables), (EMPTY, *lost_rows(releases), HIDDEN)
        targets += self._of_parents(parents, targets[0].variance)
        fitted = fit_mixture(
            domain,
            targets,
            generator(source),
            components=self.recipe.components,
            fits=self.recipe.fits,
            steps=self.recipe.steps,
        )
        note = f"{len(releases)} pairs were measured; the fit leaves {fitted.loss:.2f} of the noise's variance."
        return fitted.model, (note, *lost_rows(releases), *((HIDDEN,) if fitted.hidden else ()))

    def _of_parents(self, parents: Model, variance: NDArray[np.float64] | float) -> list[Measurement]:
        """Pairs of a parent's attributes as children see them: weighted by the number of children. Costs nothing."""
        count, found = self.recipe.count, []
        for pair in itertools.combinations(self.above, 2):
            wide = parents.project(tuple(dict.fromkeys((*pair, count))))
            number = np.arange(self.recipe.most + 1, dtype=float)
            shares = (wide.values * number).reshape(wide.shape)
            table = shares if count in pair else shares.sum(axis=-1)
            if table.sum() > 0:
                found.append(Measurement(attributes=pair, values=table / table.sum(), variance=variance))
        return found

    def parts(self) -> dict[str, Any]:
        """Own parts of the plain data."""
        return {
            "parents": self.first.as_dict(),
            "children": self.second.as_dict(),
        }

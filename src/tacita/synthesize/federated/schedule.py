"""Schedule of a run, derived from its terms: the steps, the noise of each, and the total cost to a holder.

    SL1   tables                              all sets of degree + 1 attributes; the whole budget
    SL2   count, vote x (d - 1), tables       the number of rows, the structure, d tables for it
    SL3   model                               PrivBayes, see `tacita.synthesize.privbayes`

Both sides make the same schedule from the same public terms: a holder runs it, an analyst compares answers with it.
Noise is of one holder. Summed over M holders its variance is M times as large, which is what not pooling data costs.

Privacy:  `event` adds up the laws that draw, for the notion of the terms. `event_under` states the same laws for
          another notion: over holders, replace-one needs what adding or removing a unit costs, see
          `privacy.event.Parallel`.
          Claim: docs/claims/federated.md
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.noise import Law
from tacita.plans.additive import CalibratedTables, NoisyTables, table_event
from tacita.plans.recipe import Plan
from tacita.plans.split import BudgetSplit, in_sequence
from tacita.privacy.event import Event, Parallel, Pure, Repeated, Sequence, Zcdp
from tacita.privacy.selection import GRID, ExponentialMechanism
from tacita.privacy.unit import Neighbours
from tacita.synthesize.federated.exchange import Step
from tacita.synthesize.federated.steps import Measuring, Pair, Voting
from tacita.synthesize.federated.terms import Terms
from tacita.synthesize.plan import Key
from tacita.synthesize.privbayes import PrivBayes, PrivBayesPlan, useful_parents
from tacita.synthesize.scores import sensitivity
from tacita.tables.workload import Workload

__all__ = ["MOST_CELLS", "Schedule"]

MOST_CELLS = 1 << 20
"""Most cells of all tables of one message together."""

_MOST_CANDIDATES = 200_000
_COUNTING = Fraction(1, 50)  # of the budget, to learn how many rows there are; the share that PrivBayes spends


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """The steps of a run with their noise fixed. Reads no data."""

    terms: Terms
    domain: Domain = field(repr=False)
    tables: Law
    """Noise on every cell of the final tables, of one holder."""
    count: Law | None = None
    choice: ExponentialMechanism | None = None
    keys: tuple[Key, ...] = ()
    """The tables of SL1."""
    private_network: PrivBayesPlan | None = None
    """The plan of SL3."""

    @classmethod
    def of(cls, terms: Terms, domain: Domain) -> Schedule:
        """The schedule that the terms mean for the schema that they name."""
        terms.check_domain(domain)
        make = {"SL1": _sharing_tables, "SL2": _voting, "SL3": _sharing_models}[terms.method]
        return make(terms, domain)

    # -- steps ----------------------------------------------------------------------------------------------------

    def plan(self, step: Step) -> Plan[Any]:
        """Return the plan that a holder runs in a step; refuse what is no step of this run."""
        parts: dict[str, Any] = {"terms": self.terms, "step": step, "domain": self.domain}
        match self.terms.method, step.kind:
            case "SL1", "tables" if not step.placed:
                return Measuring(tables=self._measured(self.keys, self.tables), **parts)
            case "SL2", "count" if self.count is not None and not step.placed:
                return Measuring(tables=self._measured(((),), self.count), **parts)
            case "SL2", "vote" if self.choice is not None:
                pairs = self.candidates(step)
                return Voting(choice=self.choice, bound=self.bound, candidates=pairs, **parts)
            case "SL2", "tables":
                return Measuring(tables=self._measured(self._families(step), self.tables), **parts)
            case "SL3", "model" if self.private_network is not None and not step.placed:
                return self.private_network
        raise InvalidInput(f"is no step of {self.terms.method}", field="step", value=step.name)

    def candidates(self, step: Step) -> tuple[Pair, ...]:
        """All children that are not placed, with all largest sets of placed parents that are useful; of sizes only."""
        self._check_placed(step)
        placed = tuple(name for name in self.terms.attributes if name in dict(step.placed))
        left = [name for name in self.terms.attributes if name not in placed]
        if not left:
            raise InvalidInput("all attributes are placed", field="step.placed")
        most = min(step.most_cells, MOST_CELLS)
        sets = sum(math.comb(len(placed), size) for size in range(1, self.terms.degree + 1))
        if len(left) * sets > _MOST_CANDIDATES:
            rule = f"may leave at most {_MOST_CANDIDATES} candidates for a vote"
            raise InvalidInput(rule, field="degree", value=self.terms.degree, hint="Take a smaller degree")
        found = [
            (name, above)
            for name in left
            for above in useful_parents(self.domain, name, placed, self.terms.degree, most)
        ]
        return tuple(found)

    def _families(self, step: Step) -> tuple[Key, ...]:
        self._check_placed(step)
        if len(step.placed) != len(self.terms.attributes):
            raise InvalidInput("must place every attribute", field="step.placed", value=len(step.placed))
        keys = tuple((*above, child) for child, above in step.placed)
        _check_cells(self.domain, keys)
        return keys

    def _check_placed(self, step: Step) -> None:
        """Refuse a structure that voting could not have made."""
        before: list[str] = []
        for child, above in step.placed:
            known = child in self.terms.attributes and child not in before
            if not known or not set(above) <= set(before) or len(set(above)) != len(above):
                raise InvalidInput("must place each attribute once, after its parents", field="step.placed")
            if len(above) > self.terms.degree:
                raise InvalidInput(f"may have {self.terms.degree} parents", field="step.placed", value=len(above))
            before.append(child)
        if before[:1] != [self.terms.attributes[0]]:
            raise InvalidInput("must begin with the first attribute", field="step.placed")

    def _measured(self, keys: tuple[Key, ...], law: Law) -> CalibratedTables:
        return CalibratedTables(
            recipe=NoisyTables(Workload.of(*keys)),
            domain=self.domain,
            unit=self.terms.unit,
            neighbours=self.terms.neighbours,
            budget=self.terms.budget,
            laws=(law,) * len(keys),
        )

    # -- cost -----------------------------------------------------------------------------------------------------

    @property
    def event(self) -> Event:
        """Cost of a whole run to the units of one holder."""
        return self.event_under(self.terms.neighbours)

    @property
    def charges(self) -> list[tuple[Event, int]]:
        """The parts of the event as they are charged at most: one by one, each after the answers before it."""
        parts = self.event.events if isinstance(self.event, Sequence) else (self.event,)
        return [(part.event, part.count) if isinstance(part, Repeated) else (part, 1) for part in parts]

    def event_under(self, neighbours: Neighbours) -> Event:
        """The same laws, stated for another notion of neighbours."""
        d = len(self.terms.attributes)

        def table(law: Law) -> Event:
            return table_event(law, self.terms.unit, neighbours)

        events: list[Event] = [] if self.count is None else [table(self.count)]
        if self.choice is not None:
            events.append(Repeated(event=self._choice_event(self.choice, neighbours), count=d - 1))
        events.append(Repeated(event=table(self.tables), count=len(self.keys) or d))
        return in_sequence(*events)

    @property
    def bound(self) -> float:
        """Sensitivity of the scores, by which they are divided before a choice."""
        return sensitivity("R", self.terms.unit, self.terms.neighbours, None)

    def _choice_event(self, choice: ExponentialMechanism, neighbours: Neighbours) -> Event:
        """Cost of a choice when the sensitivity of the scores is below the bound that they were divided by.

        A score that moves by r bounds moves by at most ceil(r G) of the G steps that it is rounded to, and by one more
        for floating-point error; the choice's epsilon is for G + 1.
        """
        moved = Fraction(sensitivity("R", self.terms.unit, neighbours, None)) / Fraction(self.bound)
        if moved >= 1:
            if moved > 1:
                raise InvalidInput("scores move further than they were bounded by", field="neighbours")
            return choice.event
        epsilon = choice.epsilon * (math.ceil(moved * GRID) + 1) / (GRID + 1)
        return Zcdp(rho=epsilon**2 / 8) if choice.concentrated else Pure(epsilon=epsilon)

    def event_of_all(self, holders: int) -> Event:
        """Cost of a run to one unit over all holders together, as an event for the notion of the terms.

        If no one is at two holders, each unit meets one holder: `Parallel`. The event then is the cost of joining or
        leaving a holder, also under replace-one. If one person may be at several holders, all costs add up.
        """
        if self.terms.overlap == "possible":
            return Sequence(events=(self.event,) * holders)
        return Parallel(events=(self.event_under(Neighbours.ADD_REMOVE),) * holders)

    @property
    def std(self) -> float:
        """Standard error of a cell of the final tables, of one holder."""
        return self.tables.std


def _check_cells(domain: Domain, keys: tuple[Key, ...]) -> None:
    names = {name for key in keys for name in key}
    _check_total(domain, names, sum(domain.project(key).size for key in keys))


def _cells_of_sets(sizes: Iterable[int], ways: int) -> int:
    """Cells of the tables over all sets of so many attributes, without listing the sets.

    The sum over sets of the product of their sizes is an elementary symmetric polynomial.
    """
    sums = [1] + [0] * ways  # by the size of the set, over the attributes so far
    for size in sizes:
        for count in range(ways, 0, -1):
            sums[count] += sums[count - 1] * size
    return sums[ways]


def _check_total(domain: Domain, names: Iterable[str], cells: int) -> None:
    if cells > MOST_CELLS:
        widest = sorted(names, key=lambda name: (-domain[name].size, name))[:3]
        raise InvalidInput(
            f"all tables of one answer may have {MOST_CELLS} cells",
            field="degree",
            value=cells,
            hint="Take a smaller degree, or bin the widest: " + ", ".join(f"{n} ({domain[n].size})" for n in widest),
        )


def _sharing_tables(terms: Terms, domain: Domain) -> Schedule:
    """All sets of degree + 1 attributes, and no smaller ones: those are sums of them and cost nothing."""
    ways = min(terms.degree + 1, len(terms.attributes))
    sizes = (domain[name].size for name in terms.attributes)
    _check_total(domain, terms.attributes, _cells_of_sets(sizes, ways))  # there may be too many sets to list
    keys = tuple(itertools.combinations(terms.attributes, ways))
    recipe = NoisyTables(Workload.of(*keys))
    plan = recipe.calibrate(domain, terms.budget, unit=terms.unit, neighbours=terms.neighbours)
    laws = set(plan.laws)
    if len(laws) != 1:
        raise InvalidInput("all tables must have the same noise", field="tables", value=len(laws))
    return Schedule(terms=terms, domain=domain, tables=plan.laws[0], keys=keys)


def _voting(terms: Terms, domain: Domain) -> Schedule:
    split, d = BudgetSplit.of(terms.budget, terms.unit, terms.neighbours), len(terms.attributes)
    counting = _COUNTING if terms.people is None and d > 1 else Fraction(0)
    structure = Fraction(repr(float(terms.split))) if d > 1 else Fraction(0)
    if counting + structure >= 1:
        raise InvalidInput("must leave some budget for the tables", field="split", value=terms.split)
    return Schedule(
        terms=terms,
        domain=domain,
        count=split.law(counting, 1) if counting else None,
        choice=split.choice(structure, d - 1) if d > 1 else None,
        tables=split.law(1 - counting - structure, d),
    )


def _sharing_models(terms: Terms, domain: Domain) -> Schedule:
    recipe = PrivBayes(attributes=terms.attributes, degree=terms.degree, theta=terms.theta, split=terms.split)
    plan = recipe.calibrate(domain, terms.budget, unit=terms.unit, neighbours=terms.neighbours)
    return Schedule(
        terms=terms,
        domain=domain,
        count=plan.count,
        choice=plan.choice,
        tables=plan.tables,
        private_network=plan,
    )

"""PrivBayes: a Bayesian network whose structure is chosen privately and whose tables are noisy.  [Zhang et al. 2017]

The first attribute is the first of the schema. Then, step by step, choose one attribute and its parents among those
placed, by how much information the parents carry, among all parent sets whose table stands out from noise. Then measure
the table of each attribute with its parents, make the tables agree, and read conditionals off them.

Privacy:  d-1 choices, and noise on d tables; they add up.   Claim: docs/claims/privbayes.md
Utility:  a table may have so many cells that a mean cell is `theta` standard errors of the noise ("theta-useful"),
          which sets the degree by the budget. Where not even a pair does, attributes stay without parents, and the
          notes say so.
Cost:     counts come from the engine in one batch for each step; no more than `degree` parents are looked at, and
          fewer where there are so many attributes, or so large ones, that the tables would be too many.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Literal

from tacita import check
from tacita.common.plain import plain_fields
from tacita.common.progress import step
from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.errors import InvalidInput
from tacita.models.network import topological_order
from tacita.noise import Law, Source
from tacita.plans.split import BudgetSplit, in_sequence
from tacita.privacy.budget import Budget
from tacita.privacy.event import Event, Repeated
from tacita.privacy.selection import ExponentialMechanism
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.estimate import lost_rows, measurements_of
from tacita.synthesize.marginals import EMPTY
from tacita.synthesize.noisy_network import network_of
from tacita.synthesize.plan import Key, Outcome, SynthesisPlan, check_attributes
from tacita.synthesize.scores import SCORES, Score, sensitivity
from tacita.tables.table import Table
from tacita.tables.workload import Workload

__all__ = ["PrivBayes", "PrivBayesPlan", "useful_parents"]

_MOST_PARENTS = 8
_COUNTING = Fraction(1, 50)  # of the budget, to learn how many rows there are
_MOST_CELLS = 1 << 22
_MOST_TABLES = 30_000  # of one more attribute than there may be parents, all of which are counted in the end
_MOST_PAIRS = 1 << 19  # tables of pairs: they are small
_MOST_COUNTED = 1 << 26  # cells of all these tables together
_FAR = 1e12

BARE = "The budget is too small for any structure: attributes are independent."


@dataclass(frozen=True, kw_only=True)
class PrivBayes:
    """A Bayesian network from private choices and noisy tables.

    Args:
        attributes: Attributes to synthesise; all that can be counted if None.
        degree: Most parents of an attribute; "auto" leaves it to `theta`, up to eight.
        theta: How far a mean cell must stand above the noise.
        score: Score to maximise: "R", or under replace-one "mi", or for two levels "F".
        split: Share of the budget that goes to the structure.
        structure: Parents of each attribute, if they are publicly known; then nothing is spent on choosing.
        people: The number of rows, where it is public. If not given, a little of the budget is spent on it.
    """

    attributes: Key | None = None
    degree: int | Literal["auto"] = "auto"
    theta: float = 4.0
    score: Score = "R"
    split: float = 0.3
    structure: Mapping[str, tuple[str, ...]] | None = None
    people: int | None = None

    def __post_init__(self) -> None:
        if self.degree != "auto" and (type(self.degree) is not int or not 0 <= self.degree <= 8):
            raise InvalidInput('must be "auto" or a whole number from 0 to 8', field="degree", value=self.degree)
        if not (_is_number(self.theta) and math.isfinite(self.theta) and self.theta > 0):
            raise InvalidInput("must be positive and finite", field="theta", value=self.theta)
        if not (_is_number(self.split) and 0 < self.split < 1):
            raise InvalidInput("must lie between 0 and 1", field="split", value=self.split)
        check.whole(self.people, "people", least=1, optional=True)
        check.one_of(self.score, "score", SCORES)
        if self.structure is not None:
            _check_parents(self.structure)
            frozen = {name: tuple(above) for name, above in self.structure.items()}
            object.__setattr__(self, "structure", MappingProxyType(frozen))

    def calibrate(
        self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours, reason: str = ""
    ) -> PrivBayesPlan:
        """Fix choices and noise so that all together cost at most the budget; reads no data."""
        names = check_attributes(domain, self.attributes, unit)
        split = BudgetSplit.of(budget, unit, neighbours)
        degree = self._degree(len(names))
        choosing = self.structure is None and len(names) > 1 and degree != 0
        if self.structure is not None:
            self._check_structure(domain, names)
        if choosing and self.score == "F" and any(domain[name].size != 2 for name in names[1:]):
            wide = next(name for name in names[1:] if domain[name].size != 2)
            hint = "Take R, or put it first"
            raise InvalidInput("F needs attributes of two levels, but for the first", field=wide, hint=hint)
        bound = sensitivity(self.score, unit, neighbours, self.people) if choosing else 1.0
        counting = _COUNTING if choosing and self.people is None else Fraction(0)
        structure = Fraction(repr(self.split)) if choosing else Fraction(0)
        return PrivBayesPlan(
            recipe=self,
            domain=domain,
            unit=unit,
            neighbours=neighbours,
            budget=budget,
            names=names,
            reason=reason,
            split=split,
            count=split.law(counting, 1) if counting else None,
            choice=split.choice(structure, len(names) - 1) if choosing else None,
            bound=bound,
            degree=degree,
            tables=split.law(1 - counting - structure, len(names)),
        )

    def _degree(self, attributes: int) -> int:
        """Most parents that are looked at; sizes are public, so this is known before anything is paid for."""
        wanted = _MOST_PARENTS if self.degree == "auto" else self.degree
        if self.structure is not None:
            return wanted
        limits = {0: attributes, 1: _MOST_PAIRS}
        bearable = max(k for k in range(wanted + 1) if math.comb(attributes, k + 1) <= limits.get(k, _MOST_TABLES))
        if self.degree != "auto" and bearable < wanted:
            raise InvalidInput(
                f"{attributes} attributes may have {bearable} parents: more are over {_MOST_TABLES} tables to count",
                field="degree",
                value=self.degree,
                hint="Take a smaller degree, or fewer attributes",
            )
        return bearable

    def _check_structure(self, domain: Domain, names: Key) -> None:
        structure = self.structure or {}
        if set(structure) != set(names):
            raise InvalidInput("must name each attribute once", field="structure", value=sorted(structure))
        topological_order(names, structure)
        for name in names:
            family = domain.project((*structure[name], name))
            if family.size > _MOST_CELLS:
                hint = f"Bin or leave out some of: {', '.join(family.names)}"
                raise InvalidInput(f"a table may have {_MOST_CELLS} cells", field=name, value=family.size, hint=hint)

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        return {"method": "privbayes"} | plain_fields(self)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_parents(structure: object) -> None:
    good = isinstance(structure, Mapping) and all(
        isinstance(above, list | tuple) and all(isinstance(name, str) for name in above) for above in structure.values()
    )
    if not good:
        raise InvalidInput("must map each attribute to a list of its parents", field="structure")


def useful_parents(domain: Domain, child: str, placed: Key, degree: int, most_cells: float) -> list[Key]:
    """The largest parent sets whose table with the child has at most so many cells; only () if there is none.

    Larger parent sets carry more information, so sets that fit into a larger one are left out. Depends only on sizes.
    """
    sizes = {name: domain[name].size for name in placed}
    room = most_cells / domain[child].size
    smallest = sorted(placed, key=sizes.__getitem__)[: degree + 1]
    found: list[Key] = []
    for size in range(min(degree, len(placed)), 0, -1):
        largest = size in (degree, len(placed))
        for above in itertools.combinations(placed, size):
            cells = math.prod(sizes[name] for name in above)
            # a set fits into a larger one if and only if it does with the smallest attribute that it has not
            if cells <= room and (
                largest or cells * sizes[next(name for name in smallest if name not in above)] > room
            ):
                found.append(above)
    return found or [()]


@dataclass(frozen=True, kw_only=True)
class PrivBayesPlan(SynthesisPlan):
    """Choices and noise of a private network."""

    split: BudgetSplit
    count: Law | None
    choice: ExponentialMechanism | None
    bound: float
    """Sensitivity of the scores."""
    degree: int
    tables: Law

    @property
    def event(self) -> Event:
        """The count, the choices, the tables."""
        events: list[Event] = []
        if self.count is not None:
            events.append(self.split.table_event(self.count))
        if self.choice is not None:
            events.append(Repeated(event=self.choice.event, count=len(self.names) - 1))
        events.append(Repeated(event=self.split.table_event(self.tables), count=len(self.names)))
        return in_sequence(*events)

    def model(self, engine: Engine, source: Source) -> Outcome:
        """Structure, tables, network."""
        domain = self.domain.project(self.names)
        parents, note = self._structure(engine, source)
        keys = list(dict.fromkeys((*parents[name], name) for name in self.names))
        releases = self.measured(engine, source, _distinct(keys), self.tables)
        _, people, error = measurements_of(releases)
        notes = ((EMPTY,) if people < 3 * error else ()) + lost_rows(releases) + note
        if self.recipe.structure is None and len(self.names) > 1 and not any(parents.values()):
            notes += (BARE,)
        edges = "; ".join(f"{name} from {', '.join(above)}" for name, above in parents.items() if above)
        notes += (f"Structure: {edges}.",) if edges else ()
        return Outcome(network_of(domain, parents, releases), people, error, notes, [releases])

    def _structure(self, engine: Engine, source: Source) -> tuple[dict[str, Key], tuple[str, ...]]:
        """Parents of each attribute, and a note if fewer were looked at than wanted."""
        if self.recipe.structure is not None:
            return dict(self.recipe.structure), ()
        if self.choice is None:
            return dict.fromkeys(self.names, ()), self._fewer(self.degree, math.inf)
        most = self._most_cells(engine, source)
        degree, rows = self._countable(most), self._rows(engine)
        parents: dict[str, Key] = {self.names[0]: ()}
        known: dict[frozenset[str], Table] = {}
        scores: dict[tuple[str, Key], float] = {}
        while len(parents) < len(self.names):
            step("choosing parents", len(parents) / len(self.names))
            placed = tuple(name for name in self.names if name in parents)
            left = [name for name in self.names if name not in parents]
            alike = {self.domain[name].size: name for name in left}  # sets depend on the size of a child alone
            sets = {size: self._sets(name, placed, degree, most) for size, name in alike.items()}
            pairs = [(name, above) for name in left for above in sets[self.domain[name].size]]
            fresh = [pair for pair in pairs if pair not in scores]
            self._count(engine, known, fresh)
            scores.update({pair: self._score(known, *pair, rows) for pair in fresh})
            chosen = self.choice.draw([scores[pair] for pair in pairs], sensitivity=self.bound, source=source)
            name, above = pairs[chosen]
            parents[name] = above
        return {name: parents[name] for name in self.names}, self._fewer(degree, most)

    def _countable(self, most: float) -> int:
        """The degree, or fewer if tables of so many attributes had too many cells together; sizes only, and no data."""
        sizes = [self.domain[name].size for name in self.names]

        def cells(degree: int) -> int:
            products = (math.prod(some) for some in itertools.combinations(sizes, degree + 1))
            return sum(product for product in products if product <= most)

        most_parents = min(self.degree, len(self.names) - 1)
        return next((k for k in range(1, most_parents) if cells(k + 1) > _MOST_COUNTED), most_parents)

    def _fewer(self, degree: int, most: float) -> tuple[str, ...]:
        """A note if more parents were wanted and some table with one more would have stood out from noise."""
        wanted = _MOST_PARENTS if self.recipe.degree == "auto" else self.recipe.degree
        smallest = sorted(self.domain[name].size for name in self.names)[: degree + 2]
        if degree >= min(wanted, len(self.names) - 1) or math.prod(smallest) > most:
            return ()
        return (f"No more than {degree} parents were looked at: with more, the tables to count would be too many.",)

    def _sets(self, child: str, placed: Key, degree: int, most: float) -> list[Key]:
        sets = useful_parents(self.domain, child, placed, degree, most)
        if self.recipe.score != "F":
            return sets
        sizes = [math.prod(self.domain[name].size for name in above) for above in sets]
        return [above for above, size in zip(sets, sizes, strict=True) if size <= 16] or [()]

    def _most_cells(self, engine: Engine, source: Source) -> float:
        """Cells that a table may have: the mean cell must be theta standard errors. Reads rows only through noise."""
        if self.count is None:
            people = float(self.recipe.people or 0)
        else:
            (total,) = self.measured(engine, source, [()], self.count)
            people = float(total.values)
        return min(people / (float(self.recipe.theta) * self.tables.std), float(_MOST_CELLS))

    def _count(self, engine: Engine, known: dict[frozenset[str], Table], pairs: list[tuple[str, Key]]) -> None:
        wanted = _distinct([(*above, name) for name, above in pairs if above])
        fresh = [key for key in wanted if frozenset(key) not in known]
        if fresh:
            tables = engine.tables(Workload.of(*fresh), self.unit)
            known.update({frozenset(key): tables[key] for key in fresh})

    def _rows(self, engine: Engine) -> int:
        """The number of rows, where a score needs it: replacing a row does not move it, so it is no secret.

        Its sensitivity falls as rows grow: it was calibrated for `people`, and holds for more, but not for fewer.
        """
        if self.recipe.score != "mi":
            return 0
        rows = int(engine.tables(Workload.of(()), self.unit)[()].values)
        if rows < (self.recipe.people or 0):
            raise InvalidInput("there are fewer rows than that", field="people", value=self.recipe.people)
        return rows

    def _score(self, known: dict[frozenset[str], Table], name: str, above: Key, rows: int) -> float:
        if not above:  # no information: the least that a score can be, whatever the data
            return 0.0 if self.recipe.score != "F" else -_FAR
        counts = known[frozenset((*above, name))].project((*above, name)).values
        return SCORES[self.recipe.score](counts.reshape(-1, counts.shape[-1]), rows)


def _distinct(keys: list[Key]) -> list[Key]:
    """The keys, each set of attributes once."""
    return list({frozenset(key): key for key in keys}.values())

"""Release tables of counts or sums with suppressed cells: recipe, prepare, run.

    recipe = SuppressCells(tables=(("region", "industry"),), total="turnover", rules=(MinimumFrequency(minimum=3),))
    result = recipe.prepare(domain).run(engine)      # `SuppressedTables`: cells, intervals, what the audit found

Sensitive cells (`rules`) are suppressed, and further ones at least total cost so that no sensitive cell can be computed
from the others to within its protection levels (`exact`, `heuristic`). The result is audited by programs of its own
(`audit`), over all tables together, and refused if the audit finds a sensitive cell that is not protected.

Privacy: guarantee: none. An attacker who knows all published cells, that values are not negative (and, where empty
cells are published, that a suppressed count is not 0) can compute the interval of each suppressed cell, and nothing
narrower by linear reasoning. He may do better with whole-number reasoning in tables of three attributes or more (the
result says whether that was checked), if he is a contributor, with other tables of the same data, or if he assumes that
the pattern was chosen at least cost. docs/claims/cell-suppression.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.anonymize.cells.attacker import Problem
from tacita.anonymize.cells.audit import Intervals, audit, unprotected
from tacita.anonymize.cells.contents import CellContents, read_contents
from tacita.anonymize.cells.exact import NODES, PROGRAMS, Pattern, search
from tacita.anonymize.cells.relations import Relations, relations_of
from tacita.anonymize.cells.result import SuppressedTables
from tacita.anonymize.cells.rules import MinimumFrequency, Protection, Rule, requirement
from tacita.domain import Domain
from tacita.domain.attributes import Numeric
from tacita.engines.base import Engine
from tacita.errors import InvalidInput

__all__ = ["Costs", "SuppressCells", "SuppressionPlan", "Zeros", "protect"]

Zeros = Literal["public", "sensitive"]
Costs = Literal["value", "cells", "log"]
Floats = NDArray[np.float64]

_WHOLE_CELLS = 60  # suppressed cells up to which whole-number reasoning is checked
_AGAIN = 4


@dataclass(frozen=True, kw_only=True)
class SuppressCells:
    """Recipe of tables with suppressed cells.

    Attributes:
        tables: Attributes of each table, 1 to 4. Several tables are protected together: they share their margins.
        rules: What makes a cell sensitive.
        total: Numeric attribute to sum; counts of rows without it.
        weight: Numeric attribute with sample weights.
        zeros: Whether empty cells are published as 0 ("public"), or sensitive like those below the minimum.
        margins: Whether margins may be suppressed; sensitive ones are in any case.
        cost: What a suppressed cell costs: its value, 1, or the logarithm of 1 + its value.
        programs, nodes: Work of the search, in linear programs and nodes of branch and bound.
    """

    tables: tuple[tuple[str, ...], ...]
    rules: tuple[Rule, ...]
    total: str | None = None
    weight: str | None = None
    zeros: Zeros = "public"
    margins: bool = True
    cost: Costs = "value"
    programs: int = PROGRAMS
    nodes: int = NODES

    def __post_init__(self) -> None:
        check.one_of(self.zeros, "zeros", get_args(Zeros))
        check.one_of(self.cost, "cost", get_args(Costs))
        check.whole(self.programs, "programs", least=1)
        check.whole(self.nodes, "nodes", least=0)
        if not self.rules:
            raise InvalidInput("must be at least one", field="rules", hint="For instance a minimum of 3 contributors")
        if self.total is None:
            alone = next((rule for rule in self.rules if rule.sums_only), None)
            if alone is not None:
                hint = "Name the attribute to sum, or leave the rule out"
                raise InvalidInput("is a rule for sums, and this is a table of counts", field=alone.name, hint=hint)
        if self.zeros == "sensitive" and self._minimum is None:
            raise InvalidInput("needs a minimum, which gives the protection of an empty cell", field="zeros")

    @property
    def _minimum(self) -> MinimumFrequency | None:
        return next((rule for rule in self.rules if isinstance(rule, MinimumFrequency)), None)

    def prepare(self, domain: Domain) -> SuppressionPlan:
        """Settle cells and relations; reads no data."""
        names = dict.fromkeys(name for table in self.tables for name in table)
        for name in names:
            if not domain[name].countable or domain[name].role == "identifier":
                raise InvalidInput("is an identifier and has no table", field="by", value=name)
        for place, number in (("sum", self.total), ("weight", self.weight)):
            if number is not None and not isinstance(domain[number], Numeric):
                raise InvalidInput("must be a numeric attribute", field=place, value=number)
            if number in names:
                raise InvalidInput("must not be an attribute of a table too", field=place, value=number)
        relations = relations_of(self.tables, {name: domain[name].size for name in names})
        return SuppressionPlan(recipe=self, domain=domain, relations=relations)

    def protection(self, contents: CellContents) -> Protection:
        """Sensitive cells and the protection that they need."""
        found = [rule.apply(contents) for rule in self.rules]
        if self.zeros == "sensitive" and self._minimum is not None:
            found.append(self._minimum.protect_empty(contents))
        return requirement(found, contents.values, self.floor(contents))

    def floor(self, contents: CellContents) -> Floats:
        """Least value that an attacker holds possible for a suppressed cell."""
        known = 1.0 if contents.counts and not contents.weighted and self.zeros == "public" else 0.0
        return np.full(len(contents.values), known)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        rules: dict[str, Any] = {}
        for rule in self.rules:
            rules |= rule.as_dict()
        return {
            "suppressed": [list(table) for table in self.tables],
            "sum": self.total,
            "weight": self.weight,
            "rules": rules,
            "zeros": self.zeros,
            "margins": self.margins,
            "cost": self.cost,
            "programs": self.programs,
            "nodes": self.nodes,
        }


@dataclass(frozen=True, kw_only=True)
class SuppressionPlan:
    """A recipe for one domain, with the cells and their relations."""

    recipe: SuppressCells
    domain: Domain
    relations: Relations

    @property
    def leaving(self) -> tuple[str, ...]:
        """The columns of the result."""
        return (*self.relations.names, "value", "low", "high", "status")

    def run(self, engine: Engine) -> SuppressedTables:
        """Read the rows, suppress cells, audit."""
        if engine.domain.fingerprint != self.domain.fingerprint:
            raise InvalidInput("the engine's schema is not the one of the plan", field="engine")
        recipe = self.recipe
        contents = read_contents(engine, self.domain, self.relations, total=recipe.total, weight=recipe.weight)
        return protect(
            recipe,
            self.relations,
            contents,
            labels={name: self.domain[name].all_labels for name in self.relations.names},
        )


def protect(
    recipe: SuppressCells, relations: Relations, contents: CellContents, *, labels: Mapping[str, tuple[str, ...]]
) -> SuppressedTables:
    """Suppress cells of known contents, and audit the result.

    Args:
        recipe: Rules and costs.
        relations: Cells and their sums.
        contents: Values and contributors.
        labels: Labels of each attribute.
    """
    values, floor = contents.values, recipe.floor(contents)
    needed = recipe.protection(contents)
    inner = (relations.codes >= 0).sum(axis=1) == np.array([len(relations.names)])
    if len(relations.tables) > 1:
        held = [np.isin(np.arange(len(values)), _own(relations, table)) for table in relations.tables]
        inner = np.any(held, axis=0)
    fixed = (contents.empty & (recipe.zeros == "public")) | (~inner & (not recipe.margins))
    problem = Problem(
        relations=relations,
        values=values,
        floor=floor,
        protection=needed,
        costs=_costs(recipe.cost, values),
        fixed=fixed & ~needed.sensitive,
    )
    whole = contents.counts and not contents.weighted
    pattern, found = _audited(recipe, problem, whole=whole)
    return SuppressedTables(
        relations=relations,
        labels=labels,
        suppressed=pattern.suppressed,
        intervals=found,
        pattern=pattern,
        protection=needed,
        contents=contents,
        recipe=recipe.as_dict(),
        rules=tuple(rule.words for rule in recipe.rules),
        reasoning="exact" if found.whole else "not checked" if whole else "does not apply",
    )


def _audited(recipe: SuppressCells, problem: Problem, *, whole: bool) -> tuple[Pattern, Intervals]:
    """Search and audit; ask the search for more where the audit finds a cell that is not protected."""
    asked = problem
    for _ in range(_AGAIN):
        pattern = search(asked, programs=recipe.programs, nodes=recipe.nodes)
        used = whole and (problem.relations.unimodular or int(pattern.suppressed.sum()) <= _WHOLE_CELLS)
        found = audit(problem.relations, problem.values, pattern.suppressed, problem.floor, integer=used)
        weak = unprotected(problem.values, problem.protection, found)
        if not len(weak):
            return pattern, found
        more = np.ones(len(problem.values))
        more[weak] = 1.5
        old = asked.protection
        harder = replace(
            old,
            lower=np.minimum(old.lower * more, problem.room),
            upper=old.upper * more + (more > 1) * whole,
            width=old.width * more + (more > 1) * whole,
        )
        asked = replace(asked, protection=harder)
    raise InvalidInput(
        "cannot be protected: the audit finds sensitive cells that can be computed",
        field="by",
        hint="Merge levels, or use fewer attributes",
    )


def _own(relations: Relations, table: tuple[str, ...]) -> NDArray[np.int64]:
    size = int(np.prod([relations.sizes[name] for name in table]))
    return relations.starts[table] + np.arange(size)


def _costs(kind: Costs, values: Floats) -> Floats:
    if kind == "cells":
        return np.ones(len(values))
    positive = values[values > 0]
    least = float(positive.min()) if len(positive) else 1.0
    raised = np.maximum(values, least)
    return np.log1p(raised / least) if kind == "log" else raised

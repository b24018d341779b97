"""Release masked rows: recipe, prepare, run.

    recipe = Mask(steps=(Microaggregate(attributes=("income", "age"), k=5), Pram(attributes=("job",), keep=0.8)))
    result = recipe.prepare(domain).run(engine, SecureSource())     # `Masked`: rows, steps, utility, guarantee

Steps run in the given order, each on the rows of the one before. A release has the attributes that a step masks, then
the other requested ones and the weight, unchanged. Nothing else is released: no identifier, no row order, no index.
Local suppression comes after all other steps on its keys, and its k is counted again on the released rows.

Privacy: none, unless all released attributes are post-randomised (PRAM): then local differential privacy for a row.
Claim page: docs/claims/masking.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.anonymize.criteria.conditions import Conditions
from tacita.anonymize.masking.columns import Columns, read_columns
from tacita.anonymize.masking.masked import Masked, StepResult
from tacita.anonymize.masking.method import MaskingMethod
from tacita.anonymize.masking.pram import Pram, PramMatrix
from tacita.anonymize.masking.suppression import SuppressLocally, agreeing
from tacita.anonymize.masking.utility import change_of, correlation_change
from tacita.anonymize.quasi import joined, read_persons
from tacita.anonymize.recount import classes_of, recount
from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.errors import DataError, InternalError, InvalidInput
from tacita.noise.source import Source

__all__ = ["Mask", "MaskPlan"]


@dataclass(frozen=True, kw_only=True)
class Mask:
    """Recipe of masked rows.

    Attributes:
        steps: Masking methods, in order.
        weight: A number that weights rows, such as a sampling weight. It is released unchanged and never masked, and
            utility is shown weighted as well.
        keep: Other attributes to release unchanged; a quasi-identifier among them is released with a warning.
    """

    steps: tuple[MaskingMethod, ...]
    weight: str | None = None
    keep: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.steps:
            hint = "Such as --microaggregate income,age=5, or a plan"
            raise InvalidInput("must have at least one step", field="steps", hint=hint)
        if isinstance(self.keep, str):
            raise InvalidInput("must be a list of names", field="keep", value=self.keep)

    def prepare(self, domain: Domain) -> MaskPlan:
        """Check attributes and the order of steps; reads no data."""
        steps = tuple(step.resolve(domain) for step in self.steps)
        masked = tuple(dict.fromkeys(name for step in steps for name in step.attributes))
        _check_order(steps)
        for name in (*self.keep, *([] if self.weight is None else [self.weight])):
            attribute = domain[name]
            if attribute.kind == "identifier" or attribute.role == "identifier" or name == domain.person:
                raise InvalidInput("an identifier is never released", field=name)
        twice = next((name for name in self.keep if name in masked or self.keep.count(name) > 1), None)
        if twice is not None:
            raise InvalidInput("is masked, or is there twice, and cannot be kept unchanged", field=twice)
        if self.weight is not None:
            if domain[self.weight].kind != "numeric":
                raise InvalidInput("must be a number", field="weight", value=self.weight)
            if self.weight in masked:
                raise InvalidInput("is the weight of rows and cannot be masked", field=self.weight)
        return MaskPlan(recipe=self, domain=domain, steps=steps, masked=masked)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"mask": [step.as_dict() for step in self.steps], "weight": self.weight, "keep": list(self.keep)}


def _check_order(steps: tuple[MaskingMethod, ...]) -> None:
    """Refuse steps that would undo what an earlier one states."""
    for place, step in enumerate(steps):
        for later in steps[place + 1 :]:
            shared = next((name for name in later.attributes if name in step.attributes), None)
            if shared is None:
                continue
            if isinstance(step, SuppressLocally):
                hint = "Put local suppression last"
                raise InvalidInput("must not change a key after local suppression", field=shared, hint=hint)
            if isinstance(later, Pram):
                rule = "must be post-randomised before any other step, and once: its matrix is about the true levels"
                raise InvalidInput(rule, field=shared)


@dataclass(frozen=True, kw_only=True)
class MaskPlan:
    """A recipe for one domain: the columns to read and the columns to release."""

    recipe: Mask
    domain: Domain
    steps: tuple[MaskingMethod, ...]
    masked: tuple[str, ...]

    @property
    def leaving(self) -> tuple[str, ...]:
        """The columns of the result."""
        weight = () if self.recipe.weight is None else (self.recipe.weight,)
        return tuple(dict.fromkeys((*self.masked, *self.recipe.keep, *weight)))

    @property
    def reading(self) -> tuple[str, ...]:
        """The columns that are read."""
        person = () if self.domain.person is None else (self.domain.person,)
        return tuple(dict.fromkeys((*self.leaving, *person)))

    @property
    def local(self) -> tuple[str, ...]:
        """Attributes whose released values are post-randomised by a channel that does not depend on the data."""
        found = [step for step in self.steps if isinstance(step, Pram) and not step.invariant]
        return tuple(name for step in found for name in step.attributes)

    @property
    def is_local(self) -> bool:
        """Whether every released attribute is post-randomised, and nothing else of the data decides what is released.

        Local suppression over persons reads their keys, which are not randomised.
        """
        suppressing = any(isinstance(step, SuppressLocally) for step in self.steps)
        return set(self.leaving) == set(self.local) and not (suppressing and self.domain.person is not None)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on what the steps leave open."""
        return tuple(self._warnings())

    def _warnings(self) -> Iterator[str]:
        quasi = [name for name in self.leaving if self.domain[name].role == "quasi-identifier"]
        bare = [name for name in quasi if name not in self.masked]
        if bare:
            yield f"Quasi-identifiers are released unmasked: {', '.join(bare)}."
        covered = any(isinstance(step, SuppressLocally) and set(quasi) <= set(step.attributes) for step in self.steps)
        if quasi and not covered and not set(quasi) <= set(self.local):
            yield (
                "No step makes all combinations of the released quasi-identifiers k-anonymous: "
                f"{', '.join(quasi)}. Add local suppression, or assess the rows."
            )
        if self.recipe.weight is not None:
            yield f"The weight {self.recipe.weight} is released as it is: a rare weight can single out its rows."
        if self.domain.person is not None and any(step.step == "microaggregate" for step in self.steps):
            yield "Groups of microaggregation count rows, and a person may have several."

    def run(self, engine: Engine, source: Source) -> Masked:
        """Read the rows, and mask them step by step."""
        if engine.domain.fingerprint != self.domain.fingerprint:
            raise InvalidInput("the engine's schema is not the one of the plan", field="engine")
        return self.run_on(joined(engine.rows(self.reading), self.reading), source)

    def run_on(self, table: pa.Table, source: Source) -> Masked:
        """The same over rows that are in memory."""
        first = self._read(table)
        rows, results = first, []
        published: dict[str, PramMatrix] = {}
        for step in self.steps:
            effect = step.apply(rows, source)
            changes = [] if step.randomises else [self._change(rows, effect.columns, name) for name in step.attributes]
            results.append(
                StepResult(step=step.as_dict(), figures=effect.figures, changes=tuple(changes), notes=effect.notes)
            )
            published |= effect.published
            rows = effect.columns
        released, origin = rows.to_arrow()
        self._recount(released, origin, rows)
        numbers = [name for name in self.masked if self.domain[name].kind == "numeric"]
        return Masked(
            rows=released,
            steps=tuple(results),
            changes=tuple(self._change(first, rows, name) for name in self.masked if name not in self.randomised),
            correlation=correlation_change(first, rows, numbers),
            matrices=published,
            epsilon=self._epsilon(published),
            weight=self.recipe.weight,
            recipe=self.recipe.as_dict() | {"mask": [step.as_dict() for step in self.steps]},
            warnings=self.warnings,
            simulated=source.simulated,
            persons=self.domain.person is not None,
        )

    @property
    def randomised(self) -> tuple[str, ...]:
        """Attributes that PRAM changes; how much is not shown, because it would be read from exact rows."""
        return tuple(name for step in self.steps if step.randomises for name in step.attributes)

    def _change(self, before: Columns, after: Columns, name: str) -> Any:
        return change_of(before[name], after[name], before.weights)

    def _read(self, table: pa.Table) -> Columns:
        found = read_columns(self.domain, table, self.leaving)
        persons = None if self.domain.person is None else read_persons(self.domain, table)
        weights = None
        if self.recipe.weight is not None:
            weights = np.asarray(found[self.recipe.weight].values, np.float64)
            if not (np.isfinite(weights).all() and (weights >= 0).all() and (weights.sum() > 0 or not len(weights))):
                hint = "Correct the data, or leave out the weight"
                rule = "weights must be there, not negative, and not all 0"
                raise DataError(rule, field=self.recipe.weight, hint=hint)
        return Columns(columns=found.columns, rows=found.rows, weights=weights, persons=persons)

    def _epsilon(self, published: dict[str, PramMatrix]) -> float | None:
        """The loss of a row, when every released attribute is post-randomised."""
        if not self.is_local:
            return None
        losses = [published[name].epsilon for name in self.local]
        return None if None in losses else float(np.nextafter(sum(losses), np.inf))  # type: ignore[arg-type]

    def _recount(self, released: pa.Table, origin: NDArray[np.int64], rows: Columns) -> None:
        """Count the condition of local suppression on the values that are about to be released."""
        for step in self.steps:
            if not isinstance(step, SuppressLocally):
                continue
            classes = classes_of(released, step.attributes)
            if step.missing == "category":
                persons = None if rows.persons is None else rows.persons[origin]
                least = recount(classes, {}, Conditions(k=1), persons=persons).k
            else:
                least = int(agreeing(*[_coded(released, step.attributes)] * 2).min())
            if least < step.k:
                raise InternalError("the rows do not meet the condition and are not released", field="k")


def _coded(table: pa.Table, names: tuple[str, ...]) -> NDArray[np.int64]:
    columns = []
    for name in names:
        column = table.column(name).combine_chunks()
        codes = classes_of(table, [name])
        columns.append(np.where(column.is_null().to_numpy(zero_copy_only=False), -1, codes))
    return np.stack(columns, axis=1)

"""Attributes drawn one after the other, each given those before it.

    replaced   rows stay, masked cells are drawn anew; models are fitted to original values, or to what was drawn before
    made       rows are synthetic: each attribute in turn given the ones that are there already

Training on values drawn before (`fit_on="synthetic_prefix"`) weakens the dependence between attributes where those
values were drawn without the target, because the feature then carries no information about it; it is there to repeat
published studies. Training on the rows that stay (`unreplaced`) cannot learn the distribution of replaced ones, and is
there for the same reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tacita.errors import InvalidInput
from tacita.synthesize.imputation.backend import Backend, Drawer, Target
from tacita.synthesize.imputation.columns import Column, Columns, design, rows_of
from tacita.synthesize.imputation.masks import Replace
from tacita.synthesize.kinds import FitOn, Given, Missing, TrainOn

__all__ = ["Models", "make_rows", "replace_cells"]


_LEAST = 50
_EACH = 5
"""Rows that training on replaced rows needs: this many, and so many for each feature."""


@dataclass(frozen=True, kw_only=True)
class Models:
    """Models and options that values are drawn with.

    Attributes:
        backend: For every attribute, or its own for some by name, with the common one under "".
        fit_on, train_on, given, missing: See `Impute`.
    """

    backend: Mapping[str, Backend]
    fit_on: FitOn = "original"
    train_on: TrainOn = "auto"
    given: Given = "others"
    missing: Missing = "keep"

    def fit(self, name: str, features: NDArray[np.float64], column: Column, rng: np.random.Generator) -> Drawer:
        """A model of one attribute, which draws missing values only where they are kept as they are."""
        backend = self.backend.get(name, self.backend[""])
        if not column.values.size:
            raise InvalidInput("there are no rows to learn from", field=name, hint="Train on all rows")
        return backend.fit(features, column.values, Target(attribute=column.attribute), rng)


def replace_cells(
    original: Columns, masks: Sequence[Replace], models: Models, rng: np.random.Generator
) -> tuple[dict[str, Column], list[str]]:
    """Draw masked cells anew; return the rows, and the decisions in words."""
    drawn, notes = dict(original), []
    for place, mask in enumerate(masks):
        name, column = mask.attribute, original[mask.attribute]
        cells = mask.cells(original) & ~column.absent
        if models.missing == "impute":
            cells |= column.absent
        if not cells.any():
            notes.append(f"{name}: no cell was replaced.")
            continue
        later = {other.attribute for other in masks[place + 1 :]} if models.given == "before" else set()
        others = [other for other in original if other != name and other not in later]
        given = design(drawn, others)
        rows, note = _training(name, cells, ~column.absent, given.shape[1], models.train_on)
        known = given if models.fit_on == "synthetic_prefix" else design(original, others)
        draw = models.fit(name, known[rows], column.at(rows), rng)
        values = column.values.copy()
        values[cells] = draw(given[cells], rng)
        drawn[name] = replace(column, values=values)
        notes.append(f"{name}: {np.mean(cells):.2%} of the cells were replaced, {note}.")
    return drawn, notes


def _training(
    name: str, cells: NDArray[np.bool_], present: NDArray[np.bool_], features: int, train_on: TrainOn
) -> tuple[NDArray[np.bool_], str]:
    """Select the rows that a model is fitted to."""
    chosen = train_on
    if train_on == "auto":
        chosen = "replaced" if (cells & present).sum() >= max(_LEAST, _EACH * features) else "all"
    rows = present & {"replaced": cells, "unreplaced": ~cells, "all": np.ones(cells.size, bool)}[chosen]
    if not rows.any():
        raise InvalidInput("there are no rows to learn from", field=name, value=train_on, hint="Train on all rows")
    words = {
        "replaced": "learned from such rows",
        "all": "learned from all rows",
        "unreplaced": "learned from the rest",
    }
    return rows, words[chosen]


def make_rows(
    known: Columns,
    frame: Columns,
    order: Sequence[str],
    models: Models,
    rows: int,
    rng: np.random.Generator,
) -> dict[str, Column]:
    """Draw synthetic rows: the frame's attributes, then the others in this order, each given all before it.

    Args:
        known: Rows to learn from.
        frame: Attributes that the synthetic rows already have; none if all are drawn.
        order: The attributes to draw.
        models: Models and options.
        rows: Number of rows, as the frame has.
        rng: For the draws.
    """
    made = dict(frame)
    for name in order:
        column, given = known[name], tuple(made)
        features = design(known, given)
        wanted = design(made, given) if made else np.zeros((rows, 1))
        values = np.full(rows, np.nan)
        there = np.ones(rows, bool)
        learn = np.ones(rows_of(known), bool)
        if models.missing == "impute" or column.number:
            learn = ~column.absent
        if models.missing == "keep" and column.number and column.absent.any():
            # whether there is a number comes first, then the number
            backend = models.backend.get(name, models.backend[""])
            there = backend.fit(features, (~column.absent).astype(float), Target(), rng)(wanted, rng) > 0
        if there.any():
            draw = models.fit(name, features[learn], column.at(learn), rng)
            values[there] = draw(wanted[there], rng)
        made[name] = Column(attribute=column.attribute, values=values)
    return made

"""Membership attacks on released models: a fitted model, the people that it was fitted on, and others.

All people in the data are members. The attacks of `membership_models` score equally many members and others; shadow
models are fitted by the recipe and at the cost that the released model states, on halves of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.assess.attacks.attack import Attack, Outcome, attempt
from tacita.assess.attacks.linkability import both_sides
from tacita.assess.attacks.membership_models import (
    Fit,
    likelihood_ratio,
    loss_threshold,
    residual_threshold,
    shadow_attack,
    train_shadows,
)
from tacita.assess.attacks.roc import Membership
from tacita.assess.case import Case
from tacita.assess.frame import write_frame
from tacita.assess.options import AssessmentOptions
from tacita.errors import InvalidInput, TacitaError

if TYPE_CHECKING:
    from tacita.learn.models import Fitted
    from tacita.privacy.budget import Budget

__all__ = ["MODELS", "attack_model"]

_SHADOWS = 16
_DELTA = 1e-6
Labels = NDArray[np.int64]


def attack_model(
    model: Fitted, case: Case, rng: np.random.Generator, *, attempts: int, shadows: int = _SHADOWS
) -> Iterator[Outcome]:
    """Score members and others by the answers of a model: by its loss, then with shadow models.

    Args:
        model: The released model; its features and target are in the case.
        case: The people in the data, and a control.
        rng: Picks the people, and trains shadow models.
        attempts: Number of people on each side; all of the smaller side if there are fewer.
        shadows: Number of shadow models.
    """
    if case.control is None:
        raise InvalidInput("needs people whose data was not used", field="control", hint="Hold some rows back")
    names = (*model.features, model.target)
    absent = [name for name in names if name not in case.names]
    if absent:
        raise InvalidInput("must have the attributes of the model", field="real", value=", ".join(absent))
    sides = both_sides(case.only(names), attempts, rng)
    tables = [write_frame(side) for side in sides if side is not None]
    rows = pa.concat_tables(tables)
    members = np.arange(len(rows)) < len(tables[0])
    about = f"{model.kind} model of {model.target}"

    def named(found: Membership) -> Membership:
        return replace(found, name=f"{found.name}, {about}")

    if model.classes is None:
        yield attempt(about, lambda: named(_residuals(model, rows, members)))
        return
    labels, usable = _labels(model, rows)
    rows, labels, members = rows.filter(pa.array(usable)), labels[usable], members[usable]
    predict = partial(_shares, model)
    yield attempt(about, lambda: named(loss_threshold(predict, rows, labels, members)))
    try:
        trained = train_shadows(_fit(model), rows, labels, rng, count=shadows)
    except TacitaError as error:
        yield attempt(f"shadow models, {about}", partial(_refuse, error))
        return
    yield attempt(about, lambda: named(likelihood_ratio(predict, rows, labels, members, trained)))
    yield attempt(about, lambda: named(shadow_attack(predict, rows, labels, members, trained)))


def _refuse(error: TacitaError) -> Membership:
    raise error


def _shares(model: Fitted, rows: pa.Table) -> NDArray[np.float64]:
    """Return the probability of each class; equal ones for a row that the model cannot score."""
    found = np.asarray(model.probabilities(rows), np.float64)
    if found.ndim == 1:  # the second of two levels
        found = np.stack([1 - found, found], axis=1)
    return np.where(np.isnan(found), 1 / found.shape[1], found)


def _labels(model: Fitted, rows: pa.Table) -> tuple[Labels, NDArray[np.bool_]]:
    """Return the class of each row, and whether it has one."""
    codes = np.asarray(model.domain.encode(rows, [model.target])[model.target], np.int64)
    usable = codes < len(model.classes or ())
    return codes, usable


def _residuals(model: Fitted, rows: pa.Table, members: NDArray[np.bool_]) -> Membership:
    predicted, truth = (
        np.asarray(column.to_numpy(zero_copy_only=False), np.float64)
        for column in (model.predict(rows), rows[model.target].combine_chunks())
    )
    usable = ~np.isnan(predicted) & ~np.isnan(truth)
    return residual_threshold(predicted[usable], truth[usable], members[usable])


def _fit(model: Fitted) -> Fit:
    """Return the training of the model: its kind and recipe, at its cost, on other rows."""
    from tacita.engines.local import LocalEngine
    from tacita.learn.models import recipe_of
    from tacita.noise import SeededSource

    options = {k: v for k, v in model.provenance.recipe.items() if k not in ("recipe", "target", "features", "task")}
    chosen: dict[str, Any] = {"target": model.target, "features": model.features}
    try:
        recipe = recipe_of(model.kind, **chosen, options=options)
    except TacitaError:
        recipe = recipe_of(model.kind, **chosen)
    plan = recipe.calibrate(model.domain, _budget(model), unit=model.unit, neighbours=model.neighbours)

    def fit(rows: pa.Table, labels: Labels, seed: int) -> Any:
        return partial(_shares, plan.run(LocalEngine(model.domain, rows), SeededSource(seed)))

    return fit


def _budget(model: Fitted) -> Budget:
    from tacita.privacy.accountant import epsilon_at, pure_epsilon
    from tacita.privacy.budget import Budget

    try:
        return Budget.pure(float(pure_epsilon(model.event, model.neighbours)))
    except TacitaError:
        return Budget.approx(epsilon_at(model.event, _DELTA, model.neighbours), _DELTA)


def _run(case: Case, options: AssessmentOptions, rng: np.random.Generator) -> Iterator[Outcome]:
    for model in case.models:
        yield from attack_model(model, case, rng, attempts=options.attempts)


MODELS = Attack(
    name="membership-model",
    title="membership in a model",
    question="Do the answers of a released model reveal whether a person was in its training data?",
    needs="a released model, people held back",
    run=_run,
    applies=lambda case, options: None if case.models else "It needs a released model.",
)

"""Fit models to released data, by the recipes that are used on private rows. Costs nothing.

    Synthesized            synthetic rows are drawn, as many as the data had
    Release                each cell is a row at the middle of its bins, weighing its count; negative cells none
    Releases               for naive Bayes: the class by each feature, from central tables or from collected ones
    rows with a schema     anonymised rows, say; a range such as 17..24 counts as its middle

Privacy:  post-processing: the model has the event and the guarantee of the release. For rows, the caller states the
          cost of making them; without that, the model says `guarantee: none`.
          Claim: docs/claims/private-regression.md
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacita.domain import Binned, Boolean, Domain, decode
from tacita.errors import InvalidInput
from tacita.learn.bayes import Bayes, FittedBayes
from tacita.learn.feature_map import Array, FeatureMap
from tacita.learn.fitted import FittedModel
from tacita.learn.models import Fitted
from tacita.learn.neural.fitted_network import FittedNetwork
from tacita.learn.neural.network import NeuralNetwork
from tacita.learn.neural.network_training import train_plainly
from tacita.learn.regression.logistic import minimum
from tacita.learn.regression.narrowing import NarrowedRegression
from tacita.learn.regression.regression import Regression
from tacita.learn.regression.solve import Penalty, coordinate_descent
from tacita.learn.regression.tuning import TunedRegression
from tacita.learn.trees.fitted_trees import FittedTrees, Tree
from tacita.learn.trees.splitting import grow, shrink_leaves, splits_of
from tacita.learn.trees.trees import Trees
from tacita.privacy.event import Event, NonPrivate
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.result import Synthesized
from tacita.tables.cells import Cells
from tacita.tables.release import Provenance, Release, Releases
from tacita.tables.uncertainty import Unknown

__all__ = ["ReleasedRows", "fit_on_release"]

_RANGE = re.compile(r"^\s*[\[(]?\s*(-?[\d.]+)\s*(?:\.\.|,)\s*(-?[\d.]+)\s*[\])]?\s*$")
_SEVERAL = re.compile(r"^\{.*\}$|^\*$|^(\(missing\) or )?.+\.\..+$")
_RIDGE = 1e-6  # of the rows: enough for columns that always go together
_MOST_DRAWN = 1_000_000
_NO_EVENT = NonPrivate(reason="made from rows without a differential guarantee")
_ROW = Unit.row()


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedRows:
    """Released rows: an anonymised or collected table, with its schema and its cost.

    Args:
        domain: Description of the columns.
        rows: The table.
        event, unit, neighbours: Its cost and the unit that is protected; no event, no guarantee.
    """

    domain: Domain
    rows: pa.Table
    event: Event = _NO_EVENT
    unit: Unit = _ROW
    neighbours: Neighbours = Neighbours.ADD_REMOVE


Released = Synthesized | Release | ReleasedRows


@overload
def fit_on_release(
    recipe: Regression | TunedRegression | NarrowedRegression, release: Released, rng: np.random.Generator
) -> FittedModel: ...


@overload
def fit_on_release(recipe: Trees, release: Released, rng: np.random.Generator) -> FittedTrees: ...


@overload
def fit_on_release(recipe: NeuralNetwork, release: Released, rng: np.random.Generator) -> FittedNetwork: ...


@overload
def fit_on_release(recipe: Bayes, release: Released | Releases, rng: np.random.Generator) -> FittedBayes: ...


def fit_on_release(
    recipe: Regression | TunedRegression | NarrowedRegression | Trees | NeuralNetwork | Bayes,
    release: Released | Releases,
    rng: np.random.Generator,
) -> Fitted:
    """Fit a recipe to released data, without further noise.

    Args:
        recipe: As for private rows; settings that only place noise, a method or narrower bounds, are not used.
        release: Released data. Naive Bayes also takes several tables: the class by each feature.
        rng: For synthetic rows, and for the draws of training and choosing.
    """
    if not isinstance(release, Synthesized | Release | Releases | ReleasedRows):
        raise InvalidInput(
            "must be released rows or tables, or a model that rows can be drawn from",
            field="release",
            value=type(release).__name__,
            hint="A fitted model or a function is what is learned, and holds no rows to learn from",
        )
    if isinstance(recipe, NarrowedRegression):
        recipe = recipe.base
    if isinstance(recipe, Bayes):
        return _bayes(recipe, release, rng)
    if isinstance(release, Releases):
        raise InvalidInput(
            "must be one table with target and features together", field="release", value=[list(key) for key in release]
        )
    base = recipe.base if isinstance(recipe, TunedRegression) else recipe
    rows, weights = _rows(release, (*base.features, base.target), rng)
    provenance = Provenance(
        recipe=recipe.as_dict() | {"on": "release"},
        simulated=not isinstance(release, ReleasedRows) and release.provenance.simulated,
        charge=None if isinstance(release, ReleasedRows) else release.provenance.charge,
        dataset=None if isinstance(release, ReleasedRows) else release.provenance.dataset,
        run=None if isinstance(release, ReleasedRows) else release.provenance.run,
    )
    about: dict[str, Any] = {
        "event": release.event,
        "unit": release.unit,
        "neighbours": release.neighbours,
        "provenance": provenance,
    }
    if isinstance(recipe, Trees):
        return _trees(recipe, release.domain, rows, weights, rng, about)
    if isinstance(recipe, NeuralNetwork):
        return _network(recipe, release.domain, rows, weights, rng, about)
    if isinstance(recipe, TunedRegression):
        return _tuned(recipe, release.domain, rows, weights, rng, about)
    return _line(recipe, release.domain, rows, weights, about)


def _rows(release: Released, names: Iterable[str], rng: np.random.Generator) -> tuple[pa.Table, Array]:
    """Released rows of these columns, and what each weighs."""
    wanted = list(names)
    release.domain.require_public()
    if isinstance(release, Synthesized):
        count = min(max(round(release.people), 1), _MOST_DRAWN)
        return release.sample(count, rng, policy="mid").select(wanted), np.ones(count)
    if isinstance(release, Release):
        if not release.supports(wanted):
            raise InvalidInput(
                "must have target and features together", field="release", value=list(release.attributes)
            )
        cells = _counts(release.project(wanted))
        weights = np.clip(np.asarray(cells.values, float), 0, None).reshape(-1)
        kept = np.flatnonzero(weights)
        codes = np.unravel_index(kept, cells.values.shape)
        columns = {name: decode(release.domain[name], code, "mid") for name, code in zip(wanted, codes, strict=True)}
        return pa.table(columns), weights[kept]
    lacking = [name for name in wanted if name not in release.rows.column_names]
    if lacking:
        raise InvalidInput("must have target and features", field="release", value=lacking)
    columns = {name: _plain(release.domain, name, release.rows.column(name)) for name in wanted}
    return pa.table(columns), np.ones(release.rows.num_rows)


def _plain(domain: Domain, name: str, column: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """A column of labels as values: a range of numbers becomes its middle, and so does the whole range, `*`.

    Levels have no middle: a column with a label of several levels is refused, since its rows would count as missing.
    """
    attribute = domain[name]
    text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if not text:
        return column
    if not isinstance(attribute, Binned) or isinstance(attribute, Boolean):
        known = attribute.labels
        if any(
            label is not None and _SEVERAL.match(label) and label not in known for label in column.unique().to_pylist()
        ):
            raise InvalidInput(
                "has labels that cover several levels, which no model can learn from",
                field=name,
                hint="Leave it out of the features, or anonymize with a hierarchy or a smaller k",
            )
        return column
    low, high = attribute.line_bounds
    middle = repr((low + high) / 2)
    return pa.array(
        [None if label is None else middle if label == "*" else _middle(label) for label in column.to_pylist()],
        pa.string(),
    )


def _middle(label: str) -> str:
    found = _RANGE.match(label.removeprefix("(missing) or "))
    return label if found is None else repr((float(found[1]) + float(found[2])) / 2)


def _line(recipe: Regression, domain: Domain, rows: pa.Table, weights: Array, about: dict[str, Any]) -> FittedModel:
    design = FeatureMap(
        domain=domain, features=recipe.features, target=recipe.target, task=recipe.task, outside=recipe.outside
    )
    x, y, weights = _known(design, rows, weights)
    if recipe.norm is not None:  # as moments of private rows are: longer rows are scaled down
        x = x * np.minimum(1, recipe.norm / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300))
    total = max(float(weights.sum()), 1.0)
    mean = weights @ x / total if recipe.intercept else np.zeros(x.shape[1])
    ridge = _RIDGE * total + recipe.penalty * recipe.alpha
    if recipe.task == "logistic":
        longer = np.column_stack([np.ones(len(y)), x - mean]) if recipe.intercept else x
        # a quarter of the penalty: what it is for the second-order form, see `unit_rows`
        lifted = 2 * _RIDGE * total + recipe.penalty * recipe.alpha / 4
        found = minimum(longer, y, lifted, np.zeros(longer.shape[1]), weights)
        found, level = (found[1:], float(found[0])) if recipe.intercept else (found, 0.0)
    else:
        level = float(weights @ y / total) if recipe.intercept else 0.0
        centred = x - mean
        quadratic, linear = (centred.T * weights) @ centred, (centred.T * weights) @ (y - level)
        penalty = Penalty(size=recipe.penalty, alpha=recipe.alpha)
        found = np.asarray(np.linalg.solve(quadratic + ridge * np.eye(len(quadratic)), linear), float)
        if penalty.size and penalty.alpha < 1:
            found = coordinate_descent(quadratic + _RIDGE * total * np.eye(len(quadratic)), linear, penalty, found)
    return FittedModel(
        design=design,
        coefficients=found,
        intercept=level - float(mean @ found),
        method="on-release",
        why="fitted to what had been released; costs nothing more",
        notes={"rows": total},
        **about,
    )


def _known(design: FeatureMap, rows: pa.Table, weights: Array) -> tuple[Array, Array, Array]:
    """Columns, targets and weights of the rows that lack none; without those beyond the bounds, where they are out."""
    x, beyond = design.matrix(rows)
    y, y_beyond = design.targets(rows)
    known = ~np.isnan(x).any(axis=1) & ~np.isnan(y)
    if design.outside == "leave-out":
        known &= ~(beyond | y_beyond)
    return x[known], y[known], weights[known]


def _tuned(
    recipe: TunedRegression,
    domain: Domain,
    rows: pa.Table,
    weights: Array,
    rng: np.random.Generator,
    about: dict[str, Any],
) -> FittedModel:
    """One part fits every penalty, the other chooses; then the chosen one is fitted to all."""
    choosing = rng.random(len(weights)) < recipe.share
    candidates = [replace(recipe.base, penalty=size, alpha=alpha) for size, alpha in recipe.penalties]

    def error(candidate: Regression) -> float:
        model = _line(candidate, domain, rows.filter(~choosing), weights[~choosing], about)
        x, y, mass = _known(model.design, rows.filter(choosing), weights[choosing])
        return float(mass @ (np.clip(x @ model.coefficients + model.intercept, -1, 1) - y) ** 2)

    best = min(candidates, key=error)
    found = _line(best, domain, rows, weights, about)
    notes = {**found.notes, "penalty": best.penalty, "alpha": best.alpha}
    return replace(found, notes=notes, why=f"{found.why}; the best of {len(candidates)} penalties")


def _network(
    recipe: NeuralNetwork,
    domain: Domain,
    rows: pa.Table,
    weights: Array,
    rng: np.random.Generator,
    about: dict[str, Any],
) -> FittedNetwork:
    design = recipe.design(domain)
    x, y, weights = _known(design, rows, weights)
    layers = train_plainly(recipe.start(design, rng), x, y, weights, rng, classes=recipe.task == "classes")
    return FittedNetwork(design=design, layers=layers, notes={"rows": float(weights.sum())}, **about)


def _bayes(recipe: Bayes, release: Released | Releases, rng: np.random.Generator) -> FittedBayes:
    """The class by each feature: from tables that have them, or counted on released rows."""
    keys = [(recipe.target, feature) for feature in recipe.features]
    if isinstance(release, Release):
        release = Releases([release])
    if isinstance(release, Releases):
        for each in release.values():
            each.domain.require_public()
        found = [release.project(key) for key in keys]
        return FittedBayes(recipe=recipe, releases=Releases(map(_counts, found)))
    rows, weights = _rows(release, (*recipe.features, recipe.target), rng)
    codes = release.domain.encode(rows, [recipe.target, *recipe.features])
    simulated = isinstance(release, Synthesized) and release.provenance.simulated
    made = Provenance(recipe=recipe.as_dict() | {"on": "release"}, simulated=simulated)
    if isinstance(release, Synthesized):
        paid = release.provenance
        made = replace(made, charge=paid.charge, dataset=paid.dataset, run=paid.run or made.run)

    def table(key: tuple[str, str]) -> Release:
        domain = release.domain.project(key)
        placed = (codes[key[0]] < domain.shape[0]) & (codes[key[1]] < domain.shape[1])
        places = np.ravel_multi_index(tuple(codes[name][placed].astype(np.int64) for name in key), domain.shape)
        counts = np.bincount(places, weights=weights[placed], minlength=domain.size).reshape(domain.shape)
        return Release(
            estimate=Cells(domain, counts),
            quantity="count",
            uncertainty=Unknown(),
            event=release.event,
            unit=release.unit,
            neighbours=release.neighbours,
            trust="central",
            provenance=made,
        )

    return FittedBayes(recipe=recipe, releases=Releases(table(key) for key in keys))


def _counts(release: Release) -> Release:
    """Turn collected shares into counts, of as many rows as would give the same precision: p (1 - p) / std^2.

    So a penalty, or a prior, is weighed against the information in the shares, not against the number of respondents.
    """
    if release.quantity == "count":
        return release
    shares = np.clip(np.asarray(release.values, float), 0, 1)
    spread, error = float((shares * (1 - shares)).sum()), float((release.std() ** 2).sum())
    rows = max(spread / error, 1.0) if 0 < error < math.inf else 1.0
    cells = Cells(release.domain, np.asarray(release.values, float) * rows)
    return replace(release, estimate=cells, quantity="count", uncertainty=Unknown())


def _trees(
    recipe: Trees, domain: Domain, rows: pa.Table, weights: Array, rng: np.random.Generator, about: dict[str, Any]
) -> FittedTrees:
    names = (*recipe.features, recipe.target)
    found = domain.encode(rows, list(names))
    codes = np.stack([found[name].astype(np.int64) for name in names], axis=1)
    placed = (codes < np.array([domain[name].size for name in names])).all(axis=1)
    codes, weights = codes[placed], weights[placed]
    share = rng.integers(0, recipe.trees, len(codes))
    sizes = [domain[name].size for name in recipe.features]
    kinds = domain[recipe.target].size
    splits = splits_of(domain, recipe.features)

    def tree(mine: npt.NDArray[np.bool_]) -> Tree:
        chosen, counts = grow(
            codes[mine, :-1],
            codes[mine, -1],
            sizes,
            kinds,
            splits,
            recipe.depth,
            lambda scores: int(np.argmax(scores)),
            weights[mine],
        )
        return Tree(splits=chosen, shares=shrink_leaves(counts, 1 / math.sqrt(2)))

    return FittedTrees(
        domain=domain.project(names),
        features=recipe.features,
        target=recipe.target,
        trees=tuple(tree(share == each) for each in range(recipe.trees)),
        **about,
    )

"""All kinds of fitted models: the recipe that a kind and some options make, and the model that a text holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, get_args

from tacita import check
from tacita.domain import Date, Domain, Numeric
from tacita.errors import InvalidInput, TacitaError
from tacita.learn.bayes import Bayes, FittedBayes
from tacita.learn.fitted import FittedModel
from tacita.learn.kinds import ModelKind
from tacita.learn.neural.fitted_network import FittedNetwork
from tacita.learn.neural.network import NeuralNetwork
from tacita.learn.regression.narrowing import NarrowedRegression
from tacita.learn.regression.regression import Regression
from tacita.learn.regression.tuning import TunedRegression
from tacita.learn.trees.fitted_trees import FittedTrees
from tacita.learn.trees.trees import Trees
from tacita.plans.recipe import Plan
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit

__all__ = ["KINDS", "Fitted", "FittedPlan", "ModelKind", "Recipe", "choose_kind", "read_model", "recipe_of"]

KINDS: tuple[str, ...] = get_args(ModelKind)
Fitted = FittedModel | FittedTrees | FittedBayes | FittedNetwork


FittedPlan = Plan[Fitted]
"""A model with its noise fixed."""


class Recipe(Protocol):
    """Recipe of a model, before domain and budget are known."""

    def calibrate(self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours) -> FittedPlan:
        """Fix the noise; reads no data."""

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""


_CLASSES: dict[str, type[Any]] = {
    "linear": Regression,
    "logistic": Regression,
    "trees": Trees,
    "bayes": Bayes,
    "network": NeuralNetwork,
}
_TUNING = ("penalties", "share")
_COMMON = ("people", "outside")  # options that do not say which kind is meant


def recipe_of(kind: str, *, target: str, features: Sequence[str], options: Mapping[str, Any] | None = None) -> Recipe:
    """The recipe of a kind of model.

    Args:
        kind: linear, logistic, trees, bayes or network.
        target: Attribute to predict.
        features: Attributes to predict from.
        options: Other options of the recipe, by name. `penalties` and `share` make it a `TunedRegression`, and `narrow`
            makes it a `NarrowedRegression`.
    """
    if kind not in _CLASSES:
        raise InvalidInput("must be one of " + ", ".join(KINDS), field="kind", value=kind)
    given, tuned, takes = dict(options or {}), kind in ("linear", "logistic"), _options_of(kind)
    for name in given:
        if name not in takes:
            raise InvalidInput(
                f"is no option of {kind}", field=name, hint="Options are " + ", ".join(sorted(takes) or ["none"])
            )
    for name in ("penalty", "alpha", "narrow"):
        if name in given and "penalties" in given:
            raise InvalidInput("goes without penalties to choose from", field=name, value=given[name])
    tuning = {name: given.pop(name) for name in _TUNING if name in given}
    narrowing = {name: given.pop(name) for name in ("narrow",) if name in given}
    if tuning and "penalties" not in tuning:
        raise InvalidInput("goes with penalties to choose from", field="share", value=tuning["share"])
    fixed: dict[str, Any] = {"task": kind} if tuned else {}
    recipe = _CLASSES[kind](target=target, features=tuple(features), **fixed, **given)
    if narrowing:
        return NarrowedRegression(base=recipe, **narrowing)
    return TunedRegression(base=recipe, **tuning) if tuning else recipe


def _options_of(kind: str) -> set[str]:
    line = kind in ("linear", "logistic")
    own = set(_CLASSES[kind].__dataclass_fields__) - {"target", "features"} - ({"task"} if line else set())
    return own | ({*_TUNING, "narrow"} if line else set())


def choose_kind(domain: Domain, target: str, options: Iterable[str] = ()) -> tuple[ModelKind, str]:
    """The kind of model for a target, and why: by what the schema says about it, and by options that only one takes.

    >>> from tacita.domain import Boolean
    >>> choose_kind(Domain(attributes=[Boolean(name="smokes")]), "smokes")
    ('logistic', 'logistic: smokes has two levels')
    """
    attribute = domain[target]
    kinds: tuple[ModelKind, ...]
    if isinstance(attribute, Numeric | Date):
        kinds, why = ("linear", "network"), f"{target} is a {'number' if isinstance(attribute, Numeric) else 'date'}"
    elif len(attribute.labels) == 2:
        kinds, why = ("logistic", "trees", "bayes", "network"), f"{target} has two levels"
    else:
        kinds, why = ("bayes", "trees", "network"), f"{target} has {len(attribute.labels)} levels"
    wanted = [name for name in options if name not in _COMMON]
    fitting = [kind for kind in kinds if set(wanted) <= _options_of(kind)]
    if wanted and fitting and fitting[0] != kinds[0]:
        why = f"{why}, and {', '.join(wanted)} is for it"
    found = (fitting or kinds)[0]
    return found, f"{found}: {why}"


_READERS: dict[str, Callable[[str], Fitted]] = {
    FittedModel.mark: FittedModel.from_json,
    FittedTrees.mark: FittedTrees.from_json,
    "bayes/1": FittedBayes.from_json,
    FittedNetwork.mark: FittedNetwork.from_json,
}


def read_model(text: str) -> Fitted:
    """The model that some model's `to_json` wrote."""
    try:
        kind = str(json.loads(text).get("tacita"))
    except (ValueError, AttributeError):
        raise InvalidInput("must be a fitted model as JSON", field="model") from None
    check.one_of(kind, "model", _READERS)
    try:
        return _READERS[kind](text)
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
        if isinstance(error, TacitaError):
            raise
        raise InvalidInput("is broken: parts of the model are missing", field="model") from None

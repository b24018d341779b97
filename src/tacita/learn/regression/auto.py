"""Choose a method from public facts, before any data is read, and give a reason.

    odds, a budget in         objective perturbation with the narrowest tilt (`methods.tilted`): the loss itself, not a
    epsilon, a row as unit    quadratic form. Not with LASSO or a norm, which need moments
    budget without a delta    the functional mechanism
    rho                       Gaussian noise on moments
    epsilon at a delta        the functional mechanism, or Gaussian noise on moments, whichever blurs less. Where the
                              number of people is public, all features are numbers and torch is installed, both and
                              DP-SGD are tried on synthetic rows of that size (`tryout`): the best of them, DP-SGD only
                              if it is better by more than 2 %

Numbers among the features are taken by the bins of the schema, which makes the model additive, where all have at least
ten or one for each whole number, the number of people is public, and the tilt for so many columns is short: its width
in rows, times the number of coordinates, at most a tenth of the people. On generated tables odds that bend then gain
.05 of AUC and more; odds that are lines lose up to .02 at the edge of the rule and nothing well inside it.

Privacy:  reads nothing private: the same public facts give the same method.
          Claim: docs/claims/private-regression.md
Utility:  which method is best depends on the data too, so no such rule is always right: `learn.compare` shows by how
          much they differ.
"""

from __future__ import annotations

from dataclasses import replace

from tacita.domain import Attribute, Date, Numeric
from tacita.errors import InvalidInput
from tacita.learn.regression.methods.dpsgd import Sgd
from tacita.learn.regression.methods.functional import FromMoments, functional
from tacita.learn.regression.methods.sufficient import sufficient
from tacita.learn.regression.methods.tilted import Tilted, check_tilted
from tacita.learn.regression.moments import Noise
from tacita.learn.regression.problem import Method, Problem
from tacita.learn.regression.tryout import can_be_tried, tried_errors

__all__ = ["choose", "choose_numbers", "drowned"]

_NEAR = 1.02
_SHORT = 0.1  # tilt in rows, times coordinates, over people
_FINE = 10  # bins of a number
_WORDS: dict[Noise, str] = {"laplace": "Laplace", "cube": "cube", "gaussian": "Gaussian"}


def drowned(setting: Problem, plan: FromMoments) -> float | None:
    """Noise in the moments relative to the number of rows; None where that number is not public."""
    if setting.people is None:
        return None
    return float(plan.noise.std * setting.design.columns**0.5 / setting.people)


def choose(setting: Problem) -> tuple[Method, str]:
    """The method, and why."""
    size = f"{setting.design.blocks} features in {setting.design.columns} columns at {setting.budget}"
    if _can_be_tilted(setting):
        tilted = Tilted.plan(setting)
        law = "on the hull of gradients" if tilted.sigma is None else "Gaussian"
        rows = (tilted.noise / tilted.contrasts.size) ** 0.5
        reason = f"tilted: a tilt of {rows:.4g} rows on a gradient, {law}, and the logistic loss itself"
        return tilted, f"{reason}; {size}"
    if setting.budget.currency == "zcdp":
        return sufficient(setting), f"sufficient: rho is what Gaussian noise costs; {size}"
    best = functional(setting)
    if setting.budget.currency == "pure":
        reason = f"functional: without a delta, {_WORDS[best.noise.noise]} noise on moments is the narrowest"
    else:
        best, other = sorted((best, sufficient(setting)), key=lambda plan: plan.blur)
        kind = _WORDS[best.noise.noise]
        reason = f"{best.name}: {kind} noise of {best.blur:.4g} rows on a moment against {other.blur:.4g}"
        if can_be_tried(setting):
            errors = tried_errors(setting)
            best = min((best, other), key=lambda plan: errors[plan.name])
            figure = errors["dpsgd"] / errors[best.name]
            tried = f"on {setting.people:,} synthetic rows dpsgd has {figure:.2f} times the error of {best.name}"
            if figure * _NEAR < 1:
                return Sgd.plan(setting), f"dpsgd: {tried}; {size}"
            reason = f"{best.name}: {tried}"
    return best, f"{reason}; {size}{_hint(setting, best)}"


def choose_numbers(plan: Tilted) -> tuple[Tilted, str]:
    """The same plan, or that with numbers by their bins where its tilt is short; and why."""
    setting, design = plan.setting, plan.setting.design
    coded = replace(design, coded=True)
    if setting.people is None or coded.widths == design.widths:
        return plan, ""
    coarse = [name for name in design.features if _is_coarse(design.domain[name])]
    if coarse:
        return plan, f"numbers as lines: bins of {coarse[0]} are too coarse"
    wider = Tilted.plan(replace(setting, design=coded))
    columns = f"{coded.columns} columns of bins"
    rows = (wider.noise / wider.contrasts.size) ** 0.5
    figure = rows * wider.contrasts.size / setting.people
    if figure > _SHORT:
        return plan, f"numbers as lines: with {columns} a tilt of {rows:.4g} rows is too long for so many people"
    return wider, f"numbers by their bins: for {columns} a tilt of {rows:.4g} rows is short beside {setting.people:,}"


def _is_coarse(attribute: Attribute) -> bool:
    """Whether a number or a date has few bins, and not one for each of its values."""
    if not isinstance(attribute, Numeric | Date) or attribute.size >= _FINE:
        return False
    values = isinstance(attribute, Numeric) and attribute.integer and attribute.bounds[1] - attribute.bounds[0] + 1
    return not values or attribute.size < values


def _can_be_tilted(setting: Problem) -> bool:
    """Whether objective perturbation protects the unit, and nothing is wanted that only moments have."""
    if setting.norm is not None or (setting.penalty.size and setting.penalty.alpha < 1):
        return False
    try:
        check_tilted(setting)
    except InvalidInput:
        return False
    return True


def _hint(setting: Problem, plan: FromMoments) -> str:
    """Whether anything but the mean can be learnt, where the number of rows is public."""
    part = drowned(setting, plan)
    return "; with so few rows little more than the mean will be learnt" if part and part > 1 / 3 else ""

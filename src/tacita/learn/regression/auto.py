"""Choose a method from public facts, before any data is read, and give a reason.

    odds, a budget in         objective perturbation with the narrowest tilt (`methods.tilted`): the loss itself, not a
    epsilon, a row as unit    quadratic form. Not with LASSO or a norm, which need moments
    budget without a delta    the functional mechanism
    rho                       Gaussian noise on moments
    epsilon at a delta        the functional mechanism, or Gaussian noise on moments, whichever blurs less. Where the
                              number of people is public, all features are numbers and torch is installed, both and
                              DP-SGD are tried on synthetic rows of that size (`tryout`): the best of them, DP-SGD only
                              if it is better by more than 2 %

With a tilt, public figures decide two things more. The length of a tilt is its width in rows, times the number of
coordinates, over the people: at 1 noise is about as large as what there is to learn.

    features    where it is longer than .3, as many as make it .2 or so are chosen privately, for a fifth of epsilon
                (`methods.chosen`); at least three, and all if that would leave out fewer than a quarter. Where this was
                so among generated tables, Adult and child at epsilon 0.1, AUC was .01 and accuracy .02 higher on
                average and up to .1; where all features say a little, AUC was .01 lower
    numbers     by nine nodes where the tilt is then at most .1 long, by five up to .25 and where features are chosen,
                else, and with a penalty or without an intercept, as lines. Between nodes there are lines, so bins that
                are coarse or bounds that are wide do no harm. On generated tables odds that bend gain .05 of AUC and
                more, odds that are lines lose up to .01

Privacy:  reads nothing private: the same public facts give the same method. Choices of features are paid by the plan.
          Claim: docs/claims/private-regression.md
Utility:  which method is best depends on the data too, so no such rule is always right: `learn.compare` shows by how
          much they differ.
"""

from __future__ import annotations

from dataclasses import replace

from tacita.errors import InvalidInput
from tacita.learn.regression.methods.chosen import Chosen
from tacita.learn.regression.methods.dpsgd import Sgd
from tacita.learn.regression.methods.functional import FromMoments, functional
from tacita.learn.regression.methods.sufficient import sufficient
from tacita.learn.regression.methods.tilted import Tilted, check_tilted
from tacita.learn.regression.moments import Noise
from tacita.learn.regression.problem import Method, Problem
from tacita.learn.regression.tryout import can_be_tried, tried_errors

__all__ = ["choose", "choose_features", "choose_numbers", "drowned"]

_NEAR = 1.02
_LONG, _SHORT = 0.3, 0.2  # a tilt for which features are chosen, and about that of the ones that are
_NODES = ((9, 0.1), (5, 0.25))  # nodes of a number, and the longest tilt for them
_FEW_NODES = 5
_LEAST, _MOST = 3, 0.75  # features that are chosen: their number, and their share
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


def choose_features(plan: Tilted, *, nodes: bool) -> tuple[Tilted | Chosen, str]:
    """The same plan, or one that first chooses features, where its tilt is long; and why. `nodes`: for numbers too."""
    setting = plan.setting
    if setting.people is None or _length(plan) <= _LONG:
        return plan, ""
    if nodes:
        setting = _with_nodes(setting, _FEW_NODES)
    whole = Tilted.plan(setting)
    power = 2 if whole.sigma is None else 1.5  # of the length in the number of features
    features = setting.design.blocks
    picks = max(_LEAST, int(features * (_SHORT / _length(whole)) ** (1 / power)))
    if picks > _MOST * features:
        return plan, ""
    found = Chosen(setting=setting, picks=picks)
    why = f"the tilt is long beside {setting.people:,} people, so {picks} of {features} features are chosen privately"
    return found, f"{why}, each at epsilon {found.choice:.3g}{_of_nodes(setting)}"


def choose_numbers(plan: Tilted) -> tuple[Tilted, str]:
    """The same plan, or one with numbers by nodes where its tilt is short; and why."""
    setting = plan.setting
    if setting.people is None or _with_nodes(setting, _FEW_NODES) is setting:
        return plan, ""
    for nodes, longest in _NODES:
        wider = Tilted.plan(_with_nodes(setting, nodes))
        if _length(wider) <= longest:
            return wider, f"short enough beside {setting.people:,} people for {_of_nodes(wider.setting)[2:]}"
    return plan, f"numbers as lines: with {nodes} nodes each a tilt is too long for {setting.people:,} people"


def _with_nodes(setting: Problem, nodes: int) -> Problem:
    """The same where there are no numbers, and where a penalty or a missing intercept is meant for lines."""
    design = replace(setting.design, nodes=nodes)
    lines = setting.penalty.size > 0 or not setting.intercept or design.names == setting.design.names
    return setting if lines else replace(setting, design=design)


def _of_nodes(setting: Problem) -> str:
    nodes = setting.design.nodes
    return f"; numbers by {nodes} nodes each" if nodes else ""


def _length(plan: Tilted) -> float:
    """The tilt in rows, times the number of coordinates, over the people."""
    size = plan.contrasts.size
    return float((plan.noise / size) ** 0.5 * size / (plan.setting.people or 1))


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

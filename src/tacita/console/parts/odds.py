"""Numbers of the calculators in plain words, and their curves.

Privacy: arithmetic; touches no data. Formulas have their homes in `tacita.privacy.risk`.
"""

from __future__ import annotations

import math

import numpy as np

from tacita.figures.charts import Curve
from tacita.privacy.risk.at_risk import Noise, Sides, belief_after, confidence_of
from tacita.privacy.risk.cost import CostModel

__all__ = ["budget_curves", "confidence_curve", "money", "odds_words", "share"]

_POINTS = 120


def odds_words(epsilon: float, before: float = 0.5) -> str:
    """Epsilon as odds, in a sentence."""
    factor = math.exp(epsilon)
    return (
        f"A release changes the odds of any guess about one person by a factor of {factor:,.3g} at most. "
        f"An attacker who was {share(before)} sure can become {share(belief_after(epsilon, before))} sure at most."
    )


def share(value: float) -> str:
    """A probability as people say it: never 100 % of what is not certain."""
    if value >= 1:
        return "100 %"
    return f"{min(100 * value, 99.999):.3g} %" if value < 0.999 else f"{min(100 * value, 99.999):.5g} %"


def money(value: float) -> str:
    """An amount, in whole units where they are many."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.2f}"


def confidence_curve(noise: float, kind: Noise, sides: Sides, releases: int = 1) -> Curve:
    """Probability that the privacy loss stays below epsilon, up to the epsilon where it is 1."""
    far = releases * noise if kind == "laplace" else math.sqrt(releases) * noise * 4 + releases * noise**2 / 2
    places = np.linspace(0, far * 1.2, _POINTS + 1)
    if kind == "laplace":  # it jumps to 1 there
        places = np.sort(np.append(places, [far * (1 - 1e-9), far]))
    heights = [confidence_of(float(each), noise, kind=kind, sides=sides, releases=releases) for each in places]
    return Curve(label="P(loss < epsilon)", x=places.tolist(), y=heights)


def budget_curves(model: CostModel, noise: float, releases: int = 1) -> list[Curve]:
    """The budget over all epsilons at this noise level: with the confidence that each has, and taken for certain."""
    jumps = [noise * step * side for step in range(1, releases) for side in (1 - 1e-6, 1 + 1e-6)]  # worst losses add up
    places = np.sort(np.append(np.linspace(0, releases * noise, _POINTS + 1), jumps)).tolist()
    least = releases * noise * 1e-6  # losses that cancel out are below any epsilon but 0
    at_risk = [model.people * model.each_at_risk(max(each, least), noise, releases=releases) for each in places]
    plain = [model.budget(each) for each in places]
    return [
        Curve(label="privacy at risk", x=places, y=at_risk),
        Curve(label="worst case", x=places, y=plain),
    ]

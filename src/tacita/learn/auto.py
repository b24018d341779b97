"""Which method: by what is public, before any data is read, and with a reason.

    budget without a delta    the functional mechanism; objective perturbation in a band of sizes
    budget with a delta       Laplace or Gaussian noise on the same moments, whichever is narrower

How much is drowned: noise on a moment times the root of the number of columns, over the number of rows, where that is
public. Below the band moments are as good as exact, above it the tilt of objective perturbation drowns sooner. The band
is for features without levels, of which moments make more. It was found on made-up data; `learn.compare` measures anew.
"""

from __future__ import annotations

from tacita.learn.functional import FromMoments
from tacita.learn.objective import Objective
from tacita.learn.setting import Method, Setting

__all__ = ["choose", "drowned"]

_BAND = (0.06, 0.12)


def drowned(setting: Setting, plan: FromMoments) -> float | None:
    """How much noise there is in moments for the rows that there are; None where their number is not public."""
    if setting.people is None:
        return None
    return float(plan.noise.std * setting.design.columns**0.5 / setting.people)


def choose(setting: Setting) -> tuple[Method, str]:
    """The method, and why."""
    size = f"{setting.design.blocks} features in {setting.design.columns} columns at {setting.budget}"
    if setting.budget.currency == "zcdp":
        return FromMoments.plan(setting, "gaussian"), f"sufficient: rho is what Gaussian noise costs; {size}"
    laplace = FromMoments.plan(setting, "laplace")
    if setting.budget.currency == "pure":
        part = drowned(setting, laplace)
        numbers = setting.design.columns == setting.design.blocks and setting.unit.max_rows == 1
        plain = not setting.penalty.size and setting.norm is None
        if part is not None and numbers and plain and _BAND[0] <= part <= _BAND[1]:
            return Objective.plan(
                setting
            ), f"objective: for {setting.people:,} rows, moments have {part:.2g} noise; {size}"
        return laplace, f"functional: without a delta, Laplace noise on moments is the narrowest; {size}" + _hint(
            setting, laplace
        )
    gaussian = FromMoments.plan(setting, "gaussian")
    best, other = sorted((laplace, gaussian), key=lambda plan: plan.noise.std)
    name = best.as_dict()["method"]
    reason = f"{name}: noise of {best.noise.std:.4g} rows on a moment against {other.noise.std:.4g}; {size}"
    return best, reason + _hint(setting, best)


def _hint(setting: Setting, plan: FromMoments) -> str:
    """Whether anything but the mean can be learnt, where the number of rows is public."""
    part = drowned(setting, plan)
    return "; with so few rows little more than the mean will be learnt" if part and part > 1 / 3 else ""

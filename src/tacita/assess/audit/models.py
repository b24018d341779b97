"""The auditor pointed at trained models: a recipe is fitted often on two neighbouring tables.

    tables    a few rows with the same target, and one more row with the largest possible influence
    outputs   the parameters of a line; for other models the predictions at both ends of the features

The claim is the budget that the plan was calibrated to, under add-remove.
"""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.assess.audit import Verdict, audit, judge
from tacita.domain import Boolean, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.learn.fitted import FittedModel
from tacita.learn.kinds import ModelKind
from tacita.learn.models import Fitted, recipe_of
from tacita.noise import SecureSource, Source
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit

__all__ = ["audit_model", "neighbouring_tables"]

_DOMAIN = Domain(
    attributes=[
        Numeric(name="x", bounds=(0, 1), bins=4),
        Numeric(name="y", bounds=(0, 1), bins=4),
        Boolean(name="c"),
    ]
)
_ROWS = 8
_OPTIONS: dict[str, dict[str, Any]] = {
    "network": {"hidden": (), "epochs": 2, "batch": 8, "people": _ROWS},
    "trees": {"depth": 1},
}


def neighbouring_tables() -> tuple[pa.Table, pa.Table]:
    """Return two tables that differ in one row; its target is at the opposite bound from that of all others."""
    one: dict[str, list[float | bool]] = {"x": [0.0, 1.0] * (_ROWS // 2), "y": [0.0] * _ROWS, "c": [False] * _ROWS}
    other = {"x": [*one["x"], 1.0], "y": [*one["y"], 1.0], "c": [*one["c"], True]}
    return pa.table(one), pa.table(other)


def audit_model(
    kind: str,
    budget: Budget,
    *,
    trials: int,
    rng: np.random.Generator,
    confidence: float = 0.95,
    source: Source | None = None,
    claimed: float | None = None,
) -> Verdict:
    """Judge a kind of trained model.

    Args:
        kind: linear, logistic, trees, bayes or network.
        budget: The budget that the model is calibrated to: epsilon, and a delta where the kind needs one.
        trials: Fits on each of the two tables.
        rng: Passed to the auditor; models draw from `source`.
        confidence: Of the bound.
        source: Source of randomness of the models; by default the secure one.
        claimed: The epsilon that is judged; by default that of the budget.
    """
    if kind not in get_args(ModelKind):
        raise InvalidInput("must be one of " + ", ".join(get_args(ModelKind)), field="model", value=kind)
    if budget.epsilon is None:
        raise InvalidInput("needs an epsilon: an attack bounds it", field="budget", value=str(budget))
    words = source or SecureSource()
    target = "y" if kind == "linear" else "c"
    recipe = recipe_of(kind, target=target, features=("x",), options=_OPTIONS.get(kind))
    plan = recipe.calibrate(_DOMAIN, budget, unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
    engines = tuple(LocalEngine(_DOMAIN, table) for table in neighbouring_tables())

    def run(place: int, times: int, _: np.random.Generator) -> NDArray[np.float64]:
        return np.array([_outputs(plan.run(engines[place], words)) for _ in range(times)])

    stated = budget.epsilon if claimed is None else claimed
    found = audit(run, 0, 1, trials=trials, rng=rng, delta=budget.delta, confidence=confidence, claimed=stated)
    return judge(f"{kind} model", stated, delta=budget.delta, audited=found)


def _outputs(fitted: Fitted) -> list[float]:
    """Return the numbers that a reader of the model can see."""
    if isinstance(fitted, FittedModel):
        return [*fitted.coefficients.tolist(), fitted.intercept]
    ends = pa.table({"x": [0.0, 1.0]})
    shares = np.asarray(fitted.probabilities(ends))
    return [float(each) for each in shares.reshape(len(ends), -1)[:, -1]]

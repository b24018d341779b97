"""Flip probability of a decision on synthetic data: a parametric bootstrap of the whole synthesis.

Synthetic tables come from a model that was fitted to noisy marginals; the law of the noise of one of their cells is not
known. So the released model, or an assumed one, is taken for the truth: people are drawn from it, the same plan is run
on them with fresh noise, and the decision on the new synthetic table is compared with that on the people's own table.

What is approximated: the truth is taken to be like the model. Dependence that the model has smoothed away is not there
to be lost again, so a flip from dependent to independent may be likelier than shown for weak effects.

Privacy: reads a released or public model; the simulated runs spend nothing.
Cost: one synthesis a replicate, a fraction of a second to seconds each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from tacita import check
from tacita.assess.decisions.flip import Flip, share_of
from tacita.assess.decisions.rule import Rule
from tacita.collect.analysis.hypothesis import Hypothesis
from tacita.domain import decode
from tacita.engines.local import LocalEngine
from tacita.noise import SeededSource
from tacita.synthesize.plan import SynthesisPlan
from tacita.synthesize.result import Model

__all__ = ["synthetic_flip"]

_APPROXIMATION = "the model is taken for the truth (parametric bootstrap)"


def synthetic_flip(
    model: Model,
    plan: SynthesisPlan,
    hypothesis: Hypothesis,
    *,
    people: int,
    rows: int | None = None,
    rule: Rule | None = None,
    replicates: int = 100,
    rng: np.random.Generator,
) -> Flip:
    """Probability that the decision on a synthetic table differs from that on the table of the people behind it.

    Args:
        model: Released, or assumed: the truth of the replicates.
        plan: The calibrated synthesis, as it was or would be run.
        hypothesis: Independence of what, given what.
        people: Their number; public or as released.
        rows: Synthetic rows whose table is tested; the model's own table, times people, if not given.
        rule: The decision; G2 at 5 % by default.
        replicates: Number of simulated syntheses.
        rng: Of the draws.
    """
    check.whole(people, "people", least=2)
    check.whole(rows, "rows", least=1, optional=True)
    check.whole(replicates, "replicates", least=1)
    rule, shape = rule or Rule(), hypothesis.shape(model.domain)
    names, df = hypothesis.attributes, hypothesis.df(model.domain)
    before, after = np.zeros(replicates, dtype=bool), np.zeros(replicates, dtype=bool)
    for place in range(replicates):
        codes = model.sample(people, rng)
        engine = LocalEngine(plan.domain, _rows(plan, codes, people, rng))
        made = plan.run(engine, SeededSource(int(rng.integers(2**63)))).model
        if rows is None:
            released = people * np.asarray(made.project(names).values, dtype=np.float64)
        else:
            released = _counted(made.sample(rows, rng), model, names)
        before[place] = rule.dependent(_counted(codes, model, names).reshape(1, -1), shape)[0]
        after[place] = rule.dependent(released.reshape(1, -1), shape)[0]
    own = people * np.asarray(model.project(names).values, dtype=np.float64).reshape(1, -1)
    probability, low, high = share_of(before != after)
    return Flip(
        direction="design",
        hypothesis=hypothesis.words,
        rule=rule.as_dict() | {"df": rule.df or df, "critical": rule.critical(shape)},
        statistic=float(rule.statistics(own, shape)[0]),
        dependent=float(before.mean()),
        probability=probability,
        low=low,
        high=high,
        to_dependent=float((after & ~before).mean()),
        to_independent=float((before & ~after).mean()),
        draws=replicates,
        method=f"{plan.recipe.as_dict().get('method', 'synthesis')} of {people:,} people drawn from the model",
        approximation=_APPROXIMATION,
    )


def _rows(plan: SynthesisPlan, codes: Any, people: int, rng: np.random.Generator) -> pa.Table:
    columns = {name: decode(plan.domain[name], codes[name], "uniform", rng.random(people)) for name in plan.names}
    return pa.table(columns)


def _counted(codes: Any, model: Model, names: tuple[str, ...]) -> Any:
    shape = tuple(model.domain[name].size for name in names)
    cells = np.ravel_multi_index([np.asarray(codes[name]).astype(np.int64) for name in names], shape)
    return np.bincount(cells, minlength=int(np.prod(shape))).astype(np.float64)

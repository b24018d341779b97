"""The kinds of release that can be compared, each from a few settings in a plan.

    anonymize    {k: 10, l: 2, t: 0.3, suppress: 0.02}          k-anonymous rows
    synthesize   {epsilon: 1, delta: 1e-9, method: quality}      synthetic rows under a budget
    impute       {replace: [income, age], backend: cart, m: 2}   some values drawn anew
    statistics   {epsilon: 1, delta: 1e-9}                       one-way marginals with noise, as independent rows
    collect      {epsilon: 2}                                    answers randomised on each device

Noise comes from a seed, so that a comparison can be repeated: nothing that is made here may be released.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita import check
from tacita.anonymize import Anonymize, Conditions
from tacita.anonymize.criteria.registry import all_parameters
from tacita.anonymize.methods.registry import DEFAULT_METHOD, all_options, make_method
from tacita.assess.utility.estimates import CombiningKind
from tacita.domain import Domain
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.event import Event
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.auto import Synthesize
from tacita.synthesize.imputation import Impute
from tacita.tables.workload import Workload

__all__ = ["MAKERS", "ReleaseSpec", "SimulatedRelease", "make"]


@dataclass(frozen=True, kw_only=True)
class ReleaseSpec:
    """One release of a plan: its kind (`way`) and its settings."""

    way: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""

    def __post_init__(self) -> None:
        check.one_of(self.way, "releases", MAKERS)
        known = _SETTINGS[self.way]
        strange = [name for name in self.settings if name not in known]
        if strange:
            raise InvalidInput(f"may have {', '.join(known)}", field=f"releases.{self.way}", value=", ".join(strange))
        if not self.name:
            listed = ", ".join(f"{name} {_shown(value)}" for name, value in self.settings.items())
            object.__setattr__(self, "name", f"{self.way} {listed}".strip())


@dataclass(frozen=True, kw_only=True, eq=False)
class SimulatedRelease:
    """A release that was made in simulation.

    Attributes:
        tables: Its rows; several for several imputations.
        promise: Its guarantee, in a few words.
        epsilon: Its cost, where it has a guarantee.
        trust: Who has to be trusted with exact rows.
        belongs: The person that each row was made from, where there is one.
        kind: How estimates from several tables are combined.
    """

    tables: tuple[pa.Table, ...]
    promise: str
    epsilon: float | None
    delta: float = 0.0
    trust: str = "the owner"
    belongs: tuple[NDArray[np.int64], ...] | None = None
    kind: CombiningKind = "plain"
    event: Event | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Material:
    """Input of all releases: the schema, the rows, and the roles of attributes."""

    domain: Domain
    rows: pa.Table
    names: tuple[str, ...]
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    seed: int

    @property
    def engine(self) -> LocalEngine:
        """An engine over the rows."""
        return LocalEngine(self.domain, self.rows)

    @property
    def rng(self) -> np.random.Generator:
        """A generator for draws that need no secrecy."""
        return np.random.default_rng(self.seed)


def make(wanted: ReleaseSpec, material: Material) -> SimulatedRelease:
    """Make a release; settings that do not fit are refused with the name of the release."""
    return MAKERS[wanted.way](dict(wanted.settings), material)


def _anonymize(settings: dict[str, Any], material: Material) -> SimulatedRelease:
    suppress, method = settings.pop("suppress", 0.0), settings.pop("method", DEFAULT_METHOD)
    options = {each.name: settings.pop(each.name, None) for each in all_options()}
    conditions = Conditions.of(settings)
    recipe = Anonymize(
        conditions=conditions,
        quasi=material.quasi,
        sensitive=material.sensitive,
        suppress=suppress,
        method=make_method(method, options),
    )
    made = recipe.prepare(material.domain).run(material.engine)
    words = ", ".join(f"{name} = {value}" for name, value in conditions.as_dict().items())
    return SimulatedRelease(
        tables=(made.rows,), promise=f"anonymised rows: {words}; no differential privacy", epsilon=None
    )


def _budget(settings: dict[str, Any]) -> Budget:
    if "epsilon" not in settings:
        raise InvalidInput("needs an epsilon", field="releases")
    return Budget(
        epsilon=_number("epsilon", settings.pop("epsilon")), delta=_number("delta", settings.pop("delta", 0.0))
    )


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput("must be a number (YAML reads 1e-9 as a text: write 1.0e-9)", field=name, value=value)
    return float(value)


def _synthesize(settings: dict[str, Any], material: Material) -> SimulatedRelease:
    budget = _budget(settings)
    recipe = Synthesize(attributes=material.names, people=len(material.rows), **settings)
    plan = recipe.calibrate(material.domain, budget, unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
    made = plan.run(material.engine, SeededSource(material.seed))
    rows = made.sample(len(material.rows), material.rng, policy="uniform")
    return SimulatedRelease(
        tables=(rows,),
        promise=f"differential privacy, {_words(budget)}",
        epsilon=budget.epsilon,
        delta=budget.delta,
        event=made.event,
    )


def _statistics(settings: dict[str, Any], material: Material) -> SimulatedRelease:
    return _synthesize(settings | {"method": "independent"}, material)


def _impute(settings: dict[str, Any], material: Material) -> SimulatedRelease:
    replace = settings.pop("replace", None) or material.sensitive
    if isinstance(replace, str):
        replace = [part.strip() for part in replace.split(",")]
    recipe = Impute(replace=tuple(replace), attributes=material.names, **({"m": 2} | settings))
    plan = recipe.calibrate(material.domain, None, unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
    made = plan.run(material.engine, SeededSource(material.seed))
    kind: CombiningKind = "partial" if recipe.kind == "partial" else "full"
    return SimulatedRelease(
        tables=tuple(made.releases),
        promise="none: values were drawn from a model of the real ones",
        epsilon=None,
        belongs=tuple(np.asarray(each, np.int64) for each in made.origins) if made.origins else None,
        kind=kind,
    )


def _collect(settings: dict[str, Any], material: Material) -> SimulatedRelease:
    from tacita.collect.estimating.publish import model
    from tacita.collect.estimating.tally import simulate
    from tacita.collect.planning.plan import plan_collection
    from tacita.models import synthetic_rows

    if set(settings) != {"epsilon"}:
        raise InvalidInput("needs an epsilon, and nothing else", field="releases.collect", value=", ".join(settings))
    epsilon = _number("epsilon", settings["epsilon"])
    tables: list[tuple[str, ...]] = [*combinations(material.names, 2)] or [material.names]
    design = plan_collection(material.domain, Workload.of(*tables), respondents=len(material.rows), epsilon=epsilon)
    tally = simulate(design, material.engine, SeededSource(material.seed))
    published = model(tally)
    cost = next(iter(published.releases().values())).event
    rows = synthetic_rows(
        material.domain,
        published.latent,
        len(material.rows),
        material.rng,
        event=cost,
        policy="uniform",
        simulated=True,
    )
    return SimulatedRelease(
        tables=(rows,),
        promise=f"local differential privacy, epsilon {epsilon:g}: no one holds exact answers",
        epsilon=epsilon,
        trust="no one",
        event=cost,
    )


def _words(budget: Budget) -> str:
    return f"epsilon {budget.epsilon:g}" + (f", delta {budget.delta:g}" if budget.delta else "")


def _shown(value: Any) -> str:
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:g}"
    return "+".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


MAKERS: dict[str, Callable[[dict[str, Any], Material], SimulatedRelease]] = {
    "anonymize": _anonymize,
    "synthesize": _synthesize,
    "impute": _impute,
    "statistics": _statistics,
    "collect": _collect,
}
_SETTINGS: dict[str, tuple[str, ...]] = {
    "anonymize": (
        *(each.name for each in all_parameters() if each.name != "presence"),  # which needs a population
        "suppress",
        "method",
        *(each.name for each in all_options()),
    ),
    "synthesize": ("epsilon", "delta", "method", "seconds"),
    "impute": ("replace", "backend", "m", "kind", "train_on", "fit_on"),
    "statistics": ("epsilon", "delta"),
    "collect": ("epsilon",),
}

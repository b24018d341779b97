"""Linear and logistic regression under a budget: one recipe, nine methods.

    functional   Laplace or cube noise on moments; pure          objective   a random tilt of the objective; pure
    sufficient   Gaussian noise on moments                       tilted      the same for odds, with a narrower tilt
    adassp       Gaussian noise, a ridge that adapts             output      noise on coefficients
    dpsgd        noisy gradients; needs the extra `nets`         dpme        a noisy histogram
    auto         picks, and says why

Privacy:  that of the method; what is charged is read off the noise that is drawn.
          Claim: docs/claims/private-regression.md, docs/claims/functional-mechanism.md
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from tacita import check
from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.errors import InvalidInput
from tacita.learn.feature_map import FeatureMap, Outside, Task
from tacita.learn.fitted import FittedModel
from tacita.learn.regression.auto import choose, choose_features, choose_numbers
from tacita.learn.regression.methods.adassp import AdaSSP
from tacita.learn.regression.methods.chosen import Chosen
from tacita.learn.regression.methods.dpme import Histogram
from tacita.learn.regression.methods.dpsgd import Sgd
from tacita.learn.regression.methods.functional import functional
from tacita.learn.regression.methods.objective import Objective
from tacita.learn.regression.methods.output import Output
from tacita.learn.regression.methods.sufficient import sufficient
from tacita.learn.regression.methods.tilted import Tilted
from tacita.learn.regression.problem import Coefficients, Method, Problem, check_people
from tacita.learn.regression.solve import Convexify, Penalty
from tacita.noise import Source
from tacita.plans.recipe import CalibratedPlan, check_engine
from tacita.privacy.budget import Budget
from tacita.privacy.event import Event
from tacita.privacy.unit import Neighbours, Unit
from tacita.tables.release import Provenance

__all__ = ["METHODS", "CalibratedRegression", "Inference", "MethodName", "Numbers", "Regression"]

Inference = Literal["sample", "population"]
Numbers = Literal["auto", "line", "bins"]

MethodName = Literal["auto", "functional", "sufficient", "adassp", "objective", "tilted", "output", "dpme", "dpsgd"]
METHODS: tuple[str, ...] = get_args(MethodName)

_PLANS: dict[str, Callable[[Problem], Method]] = {
    "functional": functional,
    "sufficient": sufficient,
    "adassp": AdaSSP.plan,
    "objective": Objective.plan,
    "tilted": Tilted.plan,
    "output": Output.plan,
    "dpme": Histogram.plan,
    "dpsgd": Sgd.plan,
}
_NO_LASSO = ("objective", "tilted", "output", "adassp", "dpme", "dpsgd")


@dataclass(frozen=True, kw_only=True)
class Regression:
    """A line for a number, or for the odds of one of two levels.

    Args:
        target: Attribute to predict.
        features: Attributes to predict from.
        task: "linear" for a number with bounds, "logistic" for two levels.
        method: Method; "auto" chooses from public facts. Where it takes "tilted" and noise is long for the people, it
            also chooses features, privately and for a part of the budget; "tilted" by its name takes all.
        penalty, alpha: lambda (alpha |b|^2 + (1 - alpha) |b|_1) beside the sum of (x'b - y)^2, for features and target
            from -1 to 1; for odds, beside that of their second-order form, where b is half. alpha 1 is ridge, 0 LASSO.
            A method that needs a ridge has at least that, and on the intercept too; `output` shrinks it as the rest.
        convexify: How a noisy quadratic gets a minimum: "floor", "trim" or "ridge".
        norm: The longest that a row of features from -1 to 1 may be; longer ones are scaled down.
        intercept: Whether there is one.
        outside: Rows beyond the bounds: "clip" or "leave-out". Their number is released with noise, where moments are.
        people: About how many rows there are, where that is public; some methods take steps by it.
        inference: "sample": standard errors are those of the noise alone, for the coefficients of these rows.
            "population": of a line, they include sampling; the sum of squared targets is released too, which takes
            little with a delta, and rules out noise on cubes. Only moments have errors (functional, sufficient, auto).
        numbers: Numbers among the features: "line", one coefficient each; "bins", one for each bin of the schema, so
            that the model is additive; "auto" takes a line from node to node where odds are fitted with a tilt that is
            short enough.
    """

    target: str
    features: tuple[str, ...]
    task: Task = "linear"
    method: MethodName = "auto"
    penalty: float = 0.0
    alpha: float = 1.0
    convexify: Convexify = "floor"
    norm: float | None = None
    intercept: bool = True
    outside: Outside = "clip"
    people: int | None = None
    inference: Inference = "sample"
    numbers: Numbers = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))
        if self.task not in ("linear", "logistic"):
            raise InvalidInput("must be linear or logistic", field="task", value=self.task)
        check.one_of(self.method, "method", METHODS)
        penalty = Penalty(size=self.penalty, alpha=self.alpha)
        if self.convexify not in get_args(Convexify):
            raise InvalidInput("must be floor, trim or ridge", field="convexify", value=self.convexify)
        if penalty.size and penalty.alpha < 1 and self.method in _NO_LASSO:
            raise InvalidInput("LASSO and elastic net go with moments", field="alpha", value=self.alpha)
        if penalty.size and self.method == "dpsgd":
            raise InvalidInput("DP-SGD has no penalty here", field="penalty", value=self.penalty, hint="Use sufficient")
        if self.norm is not None and self.method in _NO_LASSO:
            raise InvalidInput("a norm goes with moments", field="norm", value=self.norm)
        if self.norm is not None and not 1e-6 <= self.norm <= 1e6:
            raise InvalidInput("must lie between 1e-06 and 1e+06", field="norm", value=self.norm)
        check_people(self.people)
        check.one_of(self.inference, "inference", get_args(Inference))
        check.one_of(self.numbers, "numbers", get_args(Numbers))
        if self.inference == "population" and (self.task != "linear" or self.method in _NO_LASSO):
            hint = "Leave it out, or use a line with method auto, functional or sufficient"
            raise InvalidInput("needs moments of a line", field="inference", value=self.inference, hint=hint)

    def calibrate(self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours) -> CalibratedRegression:
        """Fix the noise so that running costs at most the budget; reads no data."""
        domain.require_public()
        unit.check(domain)
        design = FeatureMap(
            domain=domain,
            features=self.features,
            target=self.target,
            task=self.task,
            outside=self.outside,
            coded=self.numbers == "bins",
        )
        setting = Problem(
            design=design,
            budget=budget,
            unit=unit,
            neighbours=neighbours,
            penalty=Penalty(size=self.penalty, alpha=self.alpha),
            convexify=self.convexify,
            norm=self.norm,
            intercept=self.intercept,
            people=self.people,
            squares=self.inference == "population",
        )
        method: Method
        if self.method == "auto":
            method, why = choose(setting)
        else:
            method, why = _PLANS[self.method](setting), "as asked"
        reasons = [why]
        if self.method == "auto" and isinstance(method, Tilted):
            method, more = choose_features(method, nodes=self.numbers == "auto")
            reasons.append(more)
        if self.numbers == "auto" and isinstance(method, Tilted):
            method, more = choose_numbers(method)
            reasons.append(more)
        if isinstance(method, Tilted | Chosen):
            setting = method.setting
        why = "; ".join(filter(None, reasons))
        return CalibratedRegression(recipe=self, domain=domain, setting=setting, method=method, why=why)

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name, usual in (("inference", "sample"), ("numbers", "auto")):
            if plain[name] == usual:  # the question is the same as before there was a choice
                del plain[name]
        return {"recipe": "regression"} | plain | {"features": list(self.features)}


@dataclass(frozen=True, kw_only=True)
class CalibratedRegression(CalibratedPlan[FittedModel]):
    """A regression with its noise fixed."""

    answer = FittedModel

    recipe: Regression
    domain: Domain = field(repr=False)
    setting: Problem = field(repr=False)
    method: Method
    why: str

    @property
    def event(self) -> Event:
        """Cost of a run to each unit."""
        return self.method.event

    @property
    def unit(self) -> Unit:
        """Unit that is protected."""
        return self.setting.unit

    @property
    def neighbours(self) -> Neighbours:
        """Against what change."""
        return self.setting.neighbours

    @property
    def budget(self) -> Budget:
        """Most that a run may cost."""
        return self.setting.budget

    def run(self, engine: Engine, source: Source) -> FittedModel:
        """Read once, fit, add noise."""
        check_engine(self, engine)
        found = self.method.fit(self.setting.design.read(engine, self.unit), source)
        return self.released(found, source, recipe=self.recipe.as_dict())

    def released(self, found: Coefficients, source: Source, *, recipe: dict[str, Any], **more: Any) -> FittedModel:
        """The model that was found; plans around this one say what is theirs."""
        about: dict[str, Any] = {"why": self.why, "event": self.event, "neighbours": self.neighbours}
        return FittedModel(
            design=self.setting.design,
            coefficients=np.asarray(found.coefficients, float),
            intercept=float(found.intercept),
            method=str(self.method.as_dict()["method"]),
            uncertainty=found.errors,
            unit=self.unit,
            provenance=Provenance(recipe=recipe, simulated=source.simulated),
            **about | {"notes": found.notes} | more,
        )

    def parts(self) -> dict[str, Any]:
        """Own parts of the plain data."""
        return {
            "method": self.method.as_dict(),
            "why": self.why,
        }

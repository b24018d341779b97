"""Release a function of private rows once, to be queried without limit.

    recipe = ReleaseFunction(kind="density", features=("age", "bmi"), kernel=Kernel(bandwidth=0.05))
    plan   = recipe.calibrate(domain, budget, unit=..., neighbours=...)
    model  = plan.fit(engine, source)

Privacy:  the whole function is one Gaussian mechanism in the space of its kernel, whatever is asked later.
          Claim: docs/claims/functional-perturbation.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacita import check
from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.errors import InvalidInput, NotPublic
from tacita.learn.functions.calibration import Calibration, gaussian_event, noise_multiplier, sigma_of
from tacita.learn.functions.density import density_scale, fit_density
from tacita.learn.functions.expansion import Fitted, Space
from tacita.learn.functions.features import Features
from tacita.learn.functions.gaussian_process import fit_mean, response_sensitivity
from tacita.learn.functions.histogram import plan_histogram
from tacita.learn.functions.inputs import Inputs
from tacita.learn.functions.kernel import Kernel
from tacita.learn.functions.kinds import Form, FunctionKind
from tacita.learn.functions.model import FunctionModel, on_grid, step_of
from tacita.learn.functions.path import OWN, WIDER, normals
from tacita.learn.functions.predicted_error import PredictedError
from tacita.learn.functions.sensitivity import sum_sensitivity, worst_mean_sensitivity
from tacita.learn.functions.svm import fit_machine
from tacita.learn.regression.problem import check_people
from tacita.models.neural.grid_noise import rounded_normal
from tacita.noise import Source
from tacita.plans.additive import CalibratedTables
from tacita.plans.recipe import CalibratedPlan
from tacita.privacy.budget import Budget
from tacita.privacy.event import Event
from tacita.privacy.unit import Neighbours, Unit
from tacita.query.numbers import bounds_of, measurable, numbers

__all__ = ["Form", "FunctionKind", "FunctionPlan", "ReleaseFunction"]


_KINDS = ("histogram", "density", "gaussian-process", "svm")
_COUNT_SHARE = 0.1
"""Share of rho for the number of rows, where that is not public."""
_MOST_ROWS = 6000  # of a square matrix of kernel values
_MOST_VALUES = 1 << 28  # of a matrix of features
_FILL = 0.9  # of the most rows, when more are thinned to them


@dataclass(frozen=True, kw_only=True)
class ReleaseFunction:
    """Function to release.

    Args:
        kind: Kind of function.
        features: Attributes that it is a function of.
        target: The response, or the class.
        kernel: Public; for a kernel machine a bias is added to it.
        form: `path` answers with a noise path that it remembers; `features` has constant memory and may be shown.
        random: Frequencies of the features; seed: their public seed.
        calibration: How noise is calibrated.
        noise: Variance of a response's noise over that of the signal, for a Gaussian process.
        c: Weight of all rows of a kernel machine together against its norm.
        people: Approximate number of rows, where a kernel machine needs it and it is not public already. The data never
            decide whether there is an answer: more rows than that only take longer.
        public_inputs: That the inputs of the responses are public: a Gaussian process protects no inputs.
        accept_noise: That it is released even if its noise is larger than its reference.
    """

    kind: FunctionKind
    features: tuple[str, ...]
    target: str | None = None
    kernel: Kernel = field(default_factory=Kernel)
    form: Form = "path"
    random: int = 256
    seed: int = 0
    calibration: Calibration = "analytic"
    noise: float = 0.1
    c: float = 10.0
    people: int | None = None
    public_inputs: bool = False
    accept_noise: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))
        check.one_of(self.kind, "kind", _KINDS)
        if self.form not in ("path", "features"):
            raise InvalidInput("must be path or features", field="form", value=self.form)
        if self.calibration not in ("analytic", "classical"):
            raise InvalidInput("must be analytic or classical", field="calibration", value=self.calibration)
        if self.kernel.bias:
            raise InvalidInput("is added where a function needs it", field="kernel.bias")
        wants = self.kind in ("gaussian-process", "svm")
        if wants != (self.target is not None) or self.target in self.features:
            rule = "must be given, and be no feature" if wants else "goes with gaussian-process or svm"
            raise InvalidInput(rule, field="target", value=self.target)
        for name, least, most in (("noise", 1e-3, 1e3), ("c", 1e-3, 1e6)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
                raise InvalidInput(f"must lie between {least:g} and {most:g}", field=name, value=value)
        check_people(self.people)

    def calibrate(self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours) -> FunctionPlan:
        """Fix the noise so that the function costs at most the budget; reads no data."""
        domain.require_public()
        unit.check(domain)
        if self.kind == "histogram":
            table = plan_histogram(domain, self.features, budget, self.calibration, unit=unit, neighbours=neighbours)
            return FunctionPlan(
                recipe=self, domain=domain, unit=unit, neighbours=neighbours, budget=budget, multiplier=0.0, table=table
            )
        Inputs(domain=domain, features=self.features)
        self._check_target(domain, unit, neighbours)
        Features(kernel=self.kernel, dimensions=len(self.features), count=self.random, seed=self.seed)
        multiplier = noise_multiplier(budget, neighbours, self.calibration)
        return FunctionPlan(
            recipe=self, domain=domain, unit=unit, neighbours=neighbours, budget=budget, multiplier=multiplier
        )

    def _check_target(self, domain: Domain, unit: Unit, neighbours: Neighbours) -> None:
        if self.kind == "gaussian-process":
            measurable(domain, str(self.target))
            if not self.public_inputs:
                raise NotPublic(
                    "a Gaussian process protects responses only; its inputs would be treated as public",
                    field="public_inputs",
                    value=", ".join(self.features),
                    hint="Say that the inputs are public, or release a density or a kernel machine",
                )
            if neighbours is not Neighbours.REPLACE_ONE:
                raise InvalidInput(
                    "a response changes; no row is added or removed",
                    field="neighbours",
                    value=str(neighbours),
                    hint="Use an account under replace-one",
                )
            if unit.person is not None:  # which rows of a person count is chosen by all its values, responses too
                raise InvalidInput(
                    "a Gaussian process protects one response; which rows of a person count would show responses",
                    field="unit",
                    value=str(unit),
                    hint="Use an account whose unit is a row",
                )
        if self.kind == "svm":
            domain.check_countable([str(self.target)])
            if len(domain[str(self.target)].labels) < 2:
                raise InvalidInput("must have at least two levels", field="target", value=self.target)
            if self.people is None and not _rows_are_public(unit, neighbours):
                raise InvalidInput(
                    "must be given, since the number of rows is not public here",
                    field="people",
                    hint="Say about how many rows there are; it need not be exact",
                )
            if self.people is not None and self.people > self._most_rows:  # now: nothing is read or paid for yet
                raise InvalidInput(
                    f"must be at most {self._most_rows:,} for this form",
                    field="people",
                    value=self.people,
                    hint="Use features" if self.form == "path" else "Use fewer features",
                )

    @property
    def _most_rows(self) -> int:
        """Rows that a kernel machine or a Gaussian process holds at once."""
        return _MOST_ROWS if self.form == "path" else _MOST_VALUES // (2 * self.random + 1)

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        names = ("kind", "target", "form", "random", "seed", "calibration", "noise", "c", "people", "public_inputs")
        plain = {name: getattr(self, name) for name in names}
        accepted = {"accept_noise": True} if self.accept_noise else {}  # recipes from before have no such member
        listed = {"features": list(self.features), "kernel": self.kernel.as_dict()}
        return {"method": "function"} | plain | listed | accepted


@dataclass(frozen=True, kw_only=True)
class FunctionPlan(CalibratedPlan[Any]):
    """A function with its noise fixed, in units of how far a unit moves it."""

    recipe: ReleaseFunction
    domain: Domain = field(repr=False)
    unit: Unit
    neighbours: Neighbours
    budget: Budget
    multiplier: float
    table: CalibratedTables | None = field(default=None, repr=False)

    @property
    def event(self) -> Event:
        """Cost of the function to each unit, however often it is asked."""
        return self.table.event if self.table is not None else gaussian_event(self.multiplier)

    @property
    def _counts_rows(self) -> bool:
        return self.recipe.kind == "density" and not _rows_are_public(self.unit, self.neighbours)

    @property
    def shares(self) -> tuple[float, float]:
        """Noise multipliers of the function and of the number of rows: 1/u^2 = 1/u_1^2 + 1/u_2^2."""
        if not self._counts_rows:
            return self.multiplier, math.inf
        return self.multiplier / math.sqrt(1 - _COUNT_SHARE), self.multiplier / math.sqrt(_COUNT_SHARE)

    def parts(self) -> dict[str, Any]:
        """Own parts of the plain data."""
        return {
            "error": None if (found := self.predict_error()) is None else found.as_dict(),
        }

    # -- what it will be worth -----------------------------------------------------------------------------------------

    @property
    def reference(self) -> tuple[float, str] | None:
        """Reference value for the noise of an answer, and its description."""
        recipe = self.recipe
        if recipe.kind == "density":
            volume = Inputs(domain=self.domain, features=recipe.features).volume
            return 1 / volume, "the density of rows that are spread evenly"
        if recipe.kind == "gaussian-process":
            low, high = bounds_of(measurable(self.domain, str(recipe.target)))
            return high - low, f"the range of {recipe.target}"
        return None

    def predict_error(self, engine: Engine | None = None) -> PredictedError | None:
        """The noise of an answer beside what it is measured against; None for kinds that have no such measure.

        Args:
            engine: Read for what is public only: inputs of a Gaussian process, and the number of rows under
                replace-one. Without, the worst case over all inputs, and `people` rows.
        """
        if self.reference is None:
            return None
        reference, what = self.reference
        noise_std, basis = self._density_noise(engine) if self.recipe.kind == "density" else self._mean_noise(engine)
        return PredictedError(noise_std=noise_std, reference=reference, what=what, basis=basis)

    def check_error(self, engine: Engine) -> None:
        """Refuse noise that makes answers meaningless, unless it is accepted; before anything is charged."""
        found = None if self.recipe.accept_noise else self.predict_error(engine)
        if found is not None:
            found.check()

    def _density_noise(self, engine: Engine | None) -> tuple[float | None, str]:
        rows, basis = self.recipe.people, "for as many rows as `people` says"
        if engine is not None and _rows_are_public(self.unit, self.neighbours):
            name = self.recipe.features[0]
            rows, basis = sum(batch.num_rows for batch in engine.rows([name])), "from the public number of rows"
        if not rows:
            return None, "say about how many rows there are (`people`)"
        space, inputs = self._space(), Inputs(domain=self.domain, features=self.recipe.features)
        moved = sum_sensitivity(space.height, self.unit, self.neighbours, negative=space.negative)
        scale = density_scale(rows, space.kernel, inputs.dimensions, inputs.volume)
        return self._noise_std(moved, scale, space)[1], basis

    def _mean_noise(self, engine: Engine | None) -> tuple[float, str]:
        recipe, space = self.recipe, self._space()
        low, high = bounds_of(measurable(self.domain, str(recipe.target)))
        if engine is None:
            worst = worst_mean_sensitivity(recipe.noise, self.unit)
            return self._noise_std(worst, high - low, space)[1], "at most, whatever the inputs are"
        inputs = Inputs(domain=self.domain, features=recipe.features)
        parts = [part for part, _ in inputs.read(engine, self.unit)]
        points = np.concatenate(parts or [np.empty((0, inputs.dimensions))])
        points = points[~np.isnan(points).any(axis=1)]
        self._check_size(len(points))
        moved = response_sensitivity(points, space=space, noise=recipe.noise, unit=self.unit)
        return self._noise_std(moved, high - low, space)[1], "from the public inputs"

    def _noise_std(self, sensitivity: float, scale: float, space: Space) -> tuple[float, float]:
        """Standard deviations of the noise: in units of the kernel, and of an answer."""
        is_path = space.features is None
        sigma = sigma_of(sensitivity * (WIDER if is_path else 1.0), self.shares[0])
        return sigma, sigma * scale * math.sqrt(space.height + (OWN if is_path else 0))

    # -- with data ----------------------------------------------------------------------------------------------------

    def fit(self, engine: Engine, source: Source) -> FunctionModel:
        """The function, ready to answer. Charge the event first."""
        if engine.domain.fingerprint != self.domain.fingerprint:
            raise InvalidInput("the plan was made for another schema", field="engine", value=engine.domain.title)
        if self.table is not None:
            release = self.table.run(engine, source)
            counts = next(iter(release.values())).values.astype(np.int64)
            scale = 1.0 / max(1.0, float(counts.sum()))
            about = self._about(source, form="table", functions=1, scale=scale, sigma=self.table.laws[0].std)
            return FunctionModel(about=about | {"noise_std": self.table.laws[0].std * scale}, arrays={"counts": counts})
        space = self._space()
        fitted = self._fitted(engine, space, source)
        if not fitted.sensitivity:  # a function of nothing: no unit moves it
            raise InvalidInput("there is nothing to learn from", field="features", value=list(self.recipe.features))
        sigma, noise_std = self._noise_std(fitted.sensitivity, fitted.scale, space)
        functions = fitted.weights.shape[1]
        about = self._about(
            source, form=self.recipe.form, functions=functions, scale=fitted.scale, sigma=sigma, offset=fitted.offset
        )
        about["noise_std"] = noise_std
        if self.reference is not None:
            about["reference"] = {"value": self.reference[0], "what": self.reference[1]}
        about["rows"] = fitted.rows
        if fitted.centres is not None:
            return FunctionModel(about=about, arrays={"centres": fitted.centres, "weights": fitted.weights})
        noise = normals(fitted.weights.size, source).reshape(fitted.weights.shape)
        return FunctionModel(about=about, arrays={"weights": on_grid(fitted.weights, noise * sigma, step_of(sigma))})

    def _space(self) -> Space:
        recipe = self.recipe
        kernel = Kernel(name=recipe.kernel.name, bandwidth=recipe.kernel.bandwidth, bias=recipe.kind == "svm")
        if recipe.form == "path":
            return Space(kernel=kernel)
        dimensions = len(recipe.features)
        return Space(
            kernel=kernel,
            features=Features(kernel=kernel, dimensions=dimensions, count=recipe.random, seed=recipe.seed),
        )

    def _fitted(self, engine: Engine, space: Space, source: Source) -> Fitted:
        recipe = self.recipe
        inputs = Inputs(domain=self.domain, features=recipe.features)
        beside = () if recipe.target is None else (recipe.target,)
        read = list(inputs.read(engine, self.unit, beside))
        points = np.concatenate([part for part, _ in read] or [np.empty((0, inputs.dimensions))])
        rows, there = len(points), ~np.isnan(points).any(axis=1)
        notion: dict[str, Any] = {"unit": self.unit, "neighbours": self.neighbours}
        public = rows if _rows_are_public(self.unit, self.neighbours) else None
        if recipe.kind == "density":
            if self._counts_rows:
                # one unit moves the number of rows by at most so many: whole numbers plus rounded noise
                std = self.unit.max_rows * self.shares[1]
                divisor = rows + float(rounded_normal(1, std, source)[0])
            else:
                divisor = float(rows)
            fitted = fit_density(points[there], space=space, divisor=divisor, volume=inputs.volume, **notion)
        else:
            target = _column([batch for _, batch in read], str(recipe.target))
            if recipe.kind == "gaussian-process":
                self._check_size(int(there.sum()))  # inputs are public
                kind = measurable(self.domain, str(recipe.target))
                y = numbers(kind, target, self.domain.nulls)
                fitted = fit_mean(
                    points[there], y[there], space=space, noise=recipe.noise, ends=bounds_of(kind), unit=self.unit
                )
            else:
                codes = self.domain.encode(pa.table({str(recipe.target): target}), [str(recipe.target)])
                code = codes[str(recipe.target)].astype(np.int64)
                classes = len(self.domain[str(recipe.target)].labels)
                about = public or recipe.people or 1
                rate = self._rate(about)
                there &= (code < classes) & _chosen(rows, rate, source)
                fitted = fit_machine(
                    points[there],
                    code[there],
                    classes=classes,
                    space=space,
                    c=recipe.c / (rate * about),
                    most=recipe._most_rows,
                    **notion,
                )
        return Fitted(**{name: getattr(fitted, name) for name in Fitted.__dataclass_fields__} | {"rows": public})

    def _rate(self, about: int) -> float:
        """The share of rows that a kernel machine takes: public, as `about` how many rows there are is."""
        most = self.recipe._most_rows
        return 1.0 if about <= most else _FILL * most / about

    def _check_size(self, rows: int) -> None:
        if rows > self.recipe._most_rows:
            raise InvalidInput(
                "there are too many rows for this form",
                field="form",
                value=self.recipe.form,
                hint="Use features" if self.recipe.form == "path" else "Use fewer features",
            )

    def _about(
        self, source: Source, *, form: str, functions: int, scale: float, sigma: float, offset: float = 0.0
    ) -> dict[str, Any]:
        recipe = self.recipe
        is_table, is_machine = self.table is not None, recipe.kind == "svm"
        random = {"count": recipe.random, "seed": recipe.seed} if form == "features" else None
        kernel = None if is_table else self._space().kernel.as_dict()
        return {
            "tacita": "function/1",
            "kind": recipe.kind,
            "form": form,
            "features": list(recipe.features),
            "target": recipe.target,
            "classes": list(self.domain[str(recipe.target)].labels) if is_machine else None,
            "functions": functions,
            "kernel": kernel,
            "random": random,
            "scale": scale,
            "offset": offset,
            "sigma": sigma,
            "rows": None,
            "domain": self.domain.project(recipe.features).as_dict(),
            "protects": "responses" if recipe.kind == "gaussian-process" else "rows",
            "unit": str(self.unit),
            "neighbours": str(self.neighbours),
            "budget": self.budget.as_dict(),
            "event": self.event.as_dict(),
            "recipe": recipe.as_dict(),
            "simulated": source.simulated,
        }


def _rows_are_public(unit: Unit, neighbours: Neighbours) -> bool:
    """Whether neighbours have equally many rows: only where rows themselves are replaced."""
    return unit.person is None and neighbours is Neighbours.REPLACE_ONE


def _chosen(rows: int, rate: float, source: Source) -> npt.NDArray[np.bool_]:
    """Draw each row independently of its values: neighbours still differ in one unit for every draw."""
    if rate >= 1:
        return np.ones(rows, bool)
    return np.asarray(source.words(rows) < np.uint64(int(rate * 2**64)))


def _column(batches: list[pa.RecordBatch], name: str) -> Any:
    return pa.Table.from_batches(batches).column(name).combine_chunks() if batches else pa.array([], pa.string())

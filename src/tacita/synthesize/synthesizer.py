"""A synthesizer with the names of scikit-learn: `fit`, `sample`, `get_params`, `set_params`.

    made = Synthesizer(epsilon=1.0, delta=1e-9, unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE).fit(table, domain)
    made.sample(1000)

Privacy:  that of the recipe of the same name; what fitting costs is `synthesized_.event`. Data itself, or an engine, is
          read without a ledger, and a `PrivacyWarning` says so. A session is charged. With a seed the noise can be
          repeated: what comes out is marked as simulated and has no guarantee.
          Claim: docs/claims/marginal-synthesis.md
"""

from __future__ import annotations

import math
import warnings
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import pyarrow as pa

from tacita import check
from tacita.domain import Decode, Domain
from tacita.engines.base import Engine
from tacita.engines.local import LocalEngine
from tacita.errors import Conflict, InvalidInput, PrivacyWarning
from tacita.noise import SecureSource, SeededSource
from tacita.plans.recipe import Plan
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.auto import Synthesize
from tacita.synthesize.kinds import Method, Numbers
from tacita.synthesize.plan import Key
from tacita.synthesize.result import Synthesized

__all__ = ["Synthesizer"]


@runtime_checkable
class _Asks(Protocol):
    """Reserves, runs and settles a plan: a `tacita.plans.session.Session`."""

    engine: Engine

    def ask(self, plan: Plan[Any], *, purpose: str = ...) -> Any:
        """The answer, paid for."""


class Synthesizer:
    """Fit a private model, draw rows from it.

    Args:
        epsilon, delta: The budget of one fit.
        unit, neighbours: Unit that is protected, and notion of neighbours.
        method: As `Synthesize` has it.
        attributes: Attributes to synthesise; all that can be counted if None.
        people: About how many rows there are, where that is public.
        target: An attribute that will be predicted from the others.
        seconds: About how long fitting may take; decides how many steps are planned.
        numbers: "fine" to find bins of numbers privately and to keep numbers as numbers.
        seed: For studies only: the same seed gives the same noise, and no guarantee.

    Attributes:
        synthesized_: Result of `fit`.
    """

    synthesized_: Synthesized

    def __init__(
        self,
        *,
        epsilon: float,
        unit: Unit,
        neighbours: Neighbours,
        delta: float = 0.0,
        method: Method = "quality",
        attributes: Key | None = None,
        people: int | None = None,
        target: str | None = None,
        seconds: float = math.inf,
        numbers: Numbers = "binned",
        seed: int | None = None,
    ) -> None:
        self.epsilon, self.delta, self.unit, self.neighbours = epsilon, delta, unit, neighbours
        self.method, self.attributes, self.people, self.target = method, attributes, people, target
        self.seconds, self.numbers, self.seed = seconds, numbers, seed

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All arguments by name."""
        return {name: getattr(self, name) for name in _PARAMS}

    def set_params(self, **params: Any) -> Self:
        """Change arguments; what was fitted stays until the next `fit`."""
        for name, value in params.items():
            check.one_of(name, "params", _PARAMS)
            setattr(self, name, value)
        return self

    def fit(self, data: pa.Table | Engine | _Asks, domain: Domain | None = None) -> Self:
        """Make a model of the data.

        Args:
            data: Rows, with their `domain`; an engine; or a session, which is charged and brings its own noise.
            domain: Public description of the rows.
        """
        if isinstance(data, pa.Table) != (domain is not None):
            raise InvalidInput("goes with a table, and with nothing else", field="domain")
        recipe = Synthesize(
            method=self.method,
            attributes=self.attributes,
            people=self.people,
            target=self.target,
            seconds=self.seconds,
            numbers=self.numbers,
        )
        budget = Budget(epsilon=self.epsilon, delta=self.delta)
        asks = data if isinstance(data, _Asks) else None
        if asks is not None and self.seed is not None:
            raise InvalidInput("a session brings its own noise", field="seed", value=self.seed)
        engine: Any = asks.engine if asks is not None else LocalEngine(domain, data) if domain is not None else data
        plan = recipe.calibrate(engine.domain, budget, unit=self.unit, neighbours=self.neighbours)
        if asks is not None:
            self.synthesized_ = asks.ask(plan, purpose="synthesize")
        else:
            spent = f"this fit spends {budget} of the data's privacy and no ledger keeps account of it"
            warnings.warn(PrivacyWarning(f"{spent}. Fit a Session to be charged and stopped"), stacklevel=2)
            source = SecureSource() if self.seed is None else SeededSource(self.seed)
            self.synthesized_ = plan.run(engine, source)
        return self

    def sample(self, rows: int, rng: np.random.Generator | None = None, *, policy: Decode = "auto") -> pa.Table:
        """Draw synthetic rows; costs nothing more, however many. Repeatable with a seed and no generator."""
        if not hasattr(self, "synthesized_"):
            raise Conflict("has not been fitted", field="synthesizer", hint="Call fit first")
        return self.synthesized_.sample(rows, rng or np.random.default_rng(self.seed), policy=policy)

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"Synthesizer({given})"


_COST = ("epsilon", "delta", "unit", "neighbours")
_PARAMS = (*_COST, "method", "attributes", "people", "target", "seconds", "numbers", "seed")

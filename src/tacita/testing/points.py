"""Contract of a mechanism over points: recipes that release figures of columns between public bounds.

`MechanismContract` is for recipes that release tables. Subclass `PointsContract` in a test file and list in `recipes`
the recipes to test; all are tried on the columns `a` and `b` from 0 to 10. `figures` returns the released numbers of an
answer that the attack looks at.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput, NotPublic
from tacita.noise import SecureSource, SeededSource
from tacita.privacy.accountant import cost, epsilon_at
from tacita.privacy.budget import Budget, exact
from tacita.privacy.unit import Neighbours, Unit
from tacita.testing.mechanism import audited_epsilon

__all__ = ["PointsContract"]

ROW, ADD, REPLACE = Unit.row(), Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
SQUARE = Domain(attributes=[Numeric(name=name, bounds=(0, 10), bins=2) for name in ("a", "b")])
BUDGETS = (Budget.pure(1.0), Budget.approx(1.0, 1e-6), Budget.zcdp(0.1))
_DELTA = 1e-6


class PointsContract:
    """Tests that every mechanism over points must pass."""

    def recipes(self) -> Iterable[Any]:
        raise NotImplementedError("list the recipes to try")

    def figures(self, answer: Any) -> Any:
        raise NotImplementedError("return released numbers of an answer")

    def plans(self, neighbours: Neighbours = ADD) -> Iterable[Any]:
        for recipe in self.recipes():
            for budget in BUDGETS:
                yield recipe.calibrate(SQUARE, budget, unit=ROW, neighbours=neighbours)

    def engine(self, *extra: tuple[float, float], domain: Domain = SQUARE, rows: int = 30) -> LocalEngine:
        drawn = np.random.default_rng(0).uniform(3, 6, (rows, 2))
        values = np.concatenate([drawn, np.array(extra, float).reshape(-1, 2)])
        return LocalEngine(domain, pa.table({"a": values[:, 0], "b": values[:, 1]}))

    def test_the_event_costs_at_most_the_budget(self) -> None:
        for neighbours in (ADD, REPLACE):
            for plan in self.plans(neighbours):
                spent = cost([(plan.event, 1)], plan.budget, neighbours)
                assert spent <= exact(plan.budget.amount)
                assert spent > 0.97 * exact(plan.budget.amount), "a part of the budget is not used"

    def test_answers_say_what_they_are(self) -> None:
        for plan in self.plans():
            for source in (SecureSource(), SeededSource(3)):
                answer = plan.run(self.engine(), source)
                assert answer.provenance.simulated == source.simulated
                assert answer.guarantee == ("none" if source.simulated else "central")
                assert (answer.unit, answer.neighbours, answer.event) == (plan.unit, plan.neighbours, plan.event)
                assert plan.read(answer.to_json()).as_dict() == answer.as_dict()

    def test_every_figure_has_noise_even_without_rows(self) -> None:
        for plan in self.plans():
            engine = self.engine(rows=0)
            seen = np.stack([np.asarray(self.figures(plan.run(engine, SeededSource(seed)))) for seed in range(20)])
            assert np.isfinite(seen).all()
            assert (seen.std(axis=0) > 0).all()

    def test_nothing_derived_from_data_passes_as_public(self) -> None:
        drafted = SQUARE["a"].model_copy(update={"derived": ("bounds",)})
        domain = Domain.from_dict(SQUARE.model_copy(update={"attributes": (drafted, SQUARE["b"])}).as_dict())
        for recipe in self.recipes():
            with pytest.raises(NotPublic):
                recipe.calibrate(domain, Budget.pure(1.0), unit=ROW, neighbours=ADD)

    def test_an_engine_with_another_schema_is_refused(self) -> None:
        other = self.engine(domain=Domain(title="other", attributes=SQUARE.attributes))
        for plan in self.plans():
            with pytest.raises(InvalidInput, match="schema"):
                plan.run(other, SeededSource(1))

    @pytest.mark.slow
    def test_an_attacker_finds_no_more_than_was_claimed(self) -> None:
        """Attack whether the row at a corner is in the data, by every useful threshold of each figure."""
        for plan in self.plans():
            self.attack(plan)

    def attack(self, plan: Any, trials: int = 1500) -> None:
        """Fail if the mechanism reveals more than its event claims."""
        seen = []
        for seed, extra in ((5, []), (6, [(10.0, 10.0)])):
            engine, source = self.engine(*extra), SeededSource(seed)
            seen.append(np.array([np.ravel(self.figures(plan.run(engine, source))) for _ in range(trials)]))
        claimed = epsilon_at(plan.event, _DELTA, plan.neighbours)
        for one, other in zip(seen[0].T, seen[1].T, strict=True):
            for threshold in np.quantile(np.concatenate([one, other]), [0.1, 0.25, 0.5, 0.75, 0.9]):
                above, others = one > threshold, other > threshold
                for first, second in ((above, others), (others, above), (~above, ~others), (~others, ~above)):
                    found = audited_epsilon(
                        int(first.sum()), int(second.sum()), trials, delta=_DELTA, confidence=0.99999
                    )
                    assert found <= claimed, f"claimed {claimed:.3f}, an attack shows at least {found:.3f}"

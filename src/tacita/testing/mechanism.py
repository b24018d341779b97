"""Contract of a mechanism, for any recipe that releases tables.

Subclass `MechanismContract` in a test file and list in `recipes` the recipes to test. All are tried on a small
table of smokers, so they must ask for tables over `smokes` and `age` only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tacita.domain import Categorical, Domain, Numeric
from tacita.errors import InvalidInput, NotPublic
from tacita.noise import SecureSource, SeededSource
from tacita.plans.recipe import Calibrated, Recipe
from tacita.privacy.accountant import cost, epsilon_at
from tacita.privacy.budget import Budget, exact
from tacita.privacy.unit import Neighbours, Unit
from tacita.tables.release import Releases
from tacita.tables.table import Table
from tacita.tables.workload import Tables, Workload

__all__ = ["FixedEngine", "MechanismContract", "audited_epsilon"]

ROW, ADD, REPLACE = Unit.row(), Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
SMOKERS = Domain(
    attributes=[
        Categorical(name="smokes", levels=("never", "sometimes", "daily"), missing=True),
        Numeric(name="age", bounds=(0, 99), edges=(0, 18, 65, 99), integer=True),
    ]
)
BUDGETS = (Budget.pure(1.0), Budget.approx(1.0, 1e-6), Budget.zcdp(0.1))


class FixedEngine:
    """An engine over rows of codes in memory, which records the tables that it was asked for."""

    def __init__(self, domain: Domain, codes: Any) -> None:
        self.domain = domain
        self.asked: list[Workload] = []
        self._table = Table.count(domain, codes)
        self._known: dict[tuple[str, ...], Table] = {}

    def tables(self, workload: Workload, unit: Unit) -> Tables:
        self.asked.append(workload)
        return Tables(self.domain, {key: self.project(key) for key in workload})

    def project(self, attributes: Iterable[str]) -> Table:
        key = tuple(attributes)
        if key not in self._known:
            self._known[key] = self._table.project(key)
        return self._known[key]

    def supports(self, attributes: Iterable[str]) -> bool:
        return set(attributes) <= set(self.domain.countable)

    def rows(self, columns: Iterable[str], batch_rows: int = 0) -> Any:
        raise InvalidInput("this engine has codes, not rows", field="engine")

    def check(self) -> Any:
        raise InvalidInput("this engine has codes, not rows", field="engine")


def audited_epsilon(hits: int, others: int, trials: int, *, delta: float = 0.0, confidence: float = 0.999) -> float:
    """Bound epsilon from below by an attack: an event seen `hits` times on one side, `others` on its neighbour.

    Uses Clopper-Pearson bounds on both probabilities, each at half of the error probability.
    """
    alpha = (1 - confidence) / 2
    low = stats.beta.ppf(alpha, hits, trials - hits + 1) if hits else 0.0
    high = stats.beta.ppf(1 - alpha, others + 1, trials - others) if others < trials else 1.0
    return math.log((low - delta) / high) if low > delta else 0.0


class MechanismContract:
    """Tests that every mechanism must pass."""

    def recipes(self) -> Iterable[Recipe]:
        raise NotImplementedError("list the recipes to try")

    def plans(self, neighbours: Neighbours = ADD) -> Iterable[Calibrated]:
        for recipe in self.recipes():
            for budget in BUDGETS:
                try:
                    yield recipe.calibrate(SMOKERS, budget, unit=ROW, neighbours=neighbours)
                except InvalidInput:  # not every recipe supports every currency
                    continue

    def engine(self, extra: Iterable[tuple[int, int]] = ()) -> FixedEngine:
        rows = np.random.default_rng(0).integers((0, 0), (3, 2), (40, 2)).tolist()
        return FixedEngine(SMOKERS, rows + list(extra))

    def test_the_event_costs_at_most_the_budget(self) -> None:
        tried = 0
        for neighbours in (ADD, REPLACE):
            for recipe in self.recipes():
                for budget in BUDGETS:
                    try:
                        plan = recipe.calibrate(SMOKERS, budget, unit=ROW, neighbours=neighbours)
                    except InvalidInput:
                        continue
                    spent = cost([(plan.event, 1)], budget, neighbours)
                    assert spent <= exact(budget.amount)
                    assert spent > 0.97 * exact(budget.amount), "a part of the budget is not used"
                    tried += 1
        assert tried, "no recipe could be calibrated"

    def test_asks_only_for_the_tables_it_declared(self) -> None:
        for plan in self.plans():
            engine = self.engine()
            plan.run(engine, SeededSource(1))
            declared = {frozenset(key) for key in plan.workload}
            assert {frozenset(key) for asked in engine.asked for key in asked} <= declared

    def test_predicted_error_is_measured_error(self) -> None:
        for plan in self.plans():
            engine, source, runs = self.engine(), SeededSource(2), 150
            released = [plan.run(engine, source) for _ in range(runs)]
            for prediction in plan.predict():
                key = prediction.attributes
                exact_counts = engine.project(key).values
                errors = np.stack([releases[key].values - exact_counts for releases in released]).reshape(-1)
                measured = math.sqrt(float(np.mean(errors**2)))
                # the standard error of a standard deviation, with room for heavy tails
                assert measured == pytest.approx(prediction.std, rel=6 / math.sqrt(2 * errors.size) * 1.6)
                inside = float(np.mean(np.abs(errors) <= prediction.half_width))
                assert inside >= prediction.level - 5 * math.sqrt(0.05 * 0.95 / errors.size)

    def test_empty_cells_get_noise_too(self) -> None:
        for plan in self.plans():
            engine = FixedEngine(SMOKERS, np.zeros((0, 2), int))
            runs = [plan.run(engine, SeededSource(seed)) for seed in range(60)]
            for key in plan.workload:
                seen = np.stack([np.asarray(releases[key].values).reshape(-1) for releases in runs])
                assert (seen.std(axis=0) > 0).all()

    def test_releases_say_what_they_are(self) -> None:
        for plan in self.plans():
            for source in (SecureSource(), SeededSource(3)):
                for release in plan.run(self.engine(), source).values():
                    assert release.provenance.simulated == source.simulated
                    assert (release.unit, release.neighbours) == (plan.unit, plan.neighbours)
                    assert release.event == plan.event
                    assert release.trust == "central"
                    assert np.all(release.std() > 0)
                    again = Releases.from_json(Releases([release]).to_json())[release.attributes]
                    assert np.array_equal(again.values, release.values)

    def test_nothing_derived_from_data_passes_as_public(self) -> None:
        drafted = SMOKERS.model_copy(
            update={"attributes": (SMOKERS["smokes"].model_copy(update={"derived": ("levels",)}), SMOKERS["age"])}
        )
        for recipe in self.recipes():
            with pytest.raises(NotPublic):
                recipe.calibrate(Domain.from_dict(drafted.as_dict()), Budget.pure(1.0), unit=ROW, neighbours=ADD)

    def test_an_engine_with_another_schema_is_refused(self) -> None:
        other = FixedEngine(Domain(title="other", attributes=SMOKERS.attributes), np.zeros((0, 2), int))
        for plan in self.plans():
            with pytest.raises(InvalidInput, match="schema"):
                plan.run(other, SeededSource(1))

    @pytest.mark.slow
    def test_an_attacker_finds_no_more_than_was_claimed(self) -> None:
        """Attack whether the person (daily, adult) is in the data, by every useful threshold of the noisy cell."""
        for plan in self.plans():
            self.attack(plan)

    def attack(self, plan: Calibrated, trials: int = 4000) -> None:
        """Fail if the mechanism reveals more than its event claims."""
        key = plan.workload.keys[0]
        seen = []
        for seed, extra in ((5, []), (6, [(2, 1)])):
            engine, source = self.engine(extra), SeededSource(seed)
            at = np.argmax(self.engine([(2, 1)]).project(key).values - self.engine().project(key).values)
            draws = [np.asarray(plan.run(engine, source)[key].values).reshape(-1)[at] for _ in range(trials)]
            seen.append(np.array(draws, float))
        delta = 1e-6
        claimed = epsilon_at(plan.event, delta, plan.neighbours)
        for threshold in np.quantile(np.concatenate(seen), [0.1, 0.25, 0.5, 0.75, 0.9]):
            above, others = (draws > threshold for draws in seen)
            for one, two in ((above, others), (others, above), (~above, ~others), (~others, ~above)):
                found = audited_epsilon(int(one.sum()), int(two.sum()), trials, delta=delta)
                assert found <= claimed, f"claimed {claimed:.3f}, an attack shows at least {found:.3f}"

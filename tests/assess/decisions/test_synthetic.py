import numpy as np
import pytest

from tacita.assess.decisions.synthetic import synthetic_flip
from tacita.collect.analysis.hypothesis import Hypothesis
from tacita.domain import Categorical, Domain
from tacita.errors import InvalidInput
from tacita.models import BayesianNetwork
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.marginals import Independent, Pairs
from tacita.tables.cells import Cells

DOMAIN = Domain(attributes=[Categorical(name=name, levels=["0", "1"]) for name in "abc"])
ASKED = Hypothesis.of("a", "b")


def network(strength):
    """b follows a by this much, c is apart."""
    even, tilted = [0.5, 0.5], [[0.5 + strength, 0.5 - strength], [0.5 - strength, 0.5 + strength]]
    tables = {
        "a": Cells(DOMAIN.project(("a",)), np.array(even)),
        "b": Cells(DOMAIN.project(("a", "b")), np.array(tilted)),
        "c": Cells(DOMAIN.project(("c",)), np.array(even)),
    }
    return BayesianNetwork(domain=DOMAIN, parents={"a": (), "b": ("a",), "c": ()}, conditionals=tables)


def planned(recipe, epsilon):
    return recipe.calibrate(DOMAIN, Budget.pure(epsilon), unit=Unit.row(), neighbours=Neighbours.REPLACE_ONE)


def test_a_synthesis_that_cannot_hold_a_dependence_flips_it_always():
    rng = np.random.default_rng(1)
    found = synthetic_flip(network(0.2), planned(Independent(), 1.0), ASKED, people=400, replicates=12, rng=rng)
    assert found.probability == 1.0
    assert found.to_independent == 1.0
    assert "bootstrap" in found.approximation
    assert found.dependent == 1.0


def test_more_budget_flips_less():
    model = network(0.06)
    flips = [
        synthetic_flip(
            model, planned(Pairs(), epsilon), ASKED, people=1500, replicates=25, rng=np.random.default_rng(2)
        ).probability
        for epsilon in (0.03, 30.0)
    ]
    assert flips[1] <= 0.08 < flips[0]


def test_rows_may_be_drawn_before_the_decision():
    rng, plan = np.random.default_rng(3), planned(Pairs(), 5.0)
    found = synthetic_flip(network(0.3), plan, ASKED, people=500, rows=500, replicates=4, rng=rng)
    assert found.probability == 0.0
    with pytest.raises(InvalidInput, match="replicates"):
        synthetic_flip(network(0.3), plan, ASKED, people=500, replicates=0, rng=rng)

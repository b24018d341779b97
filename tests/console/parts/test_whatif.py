from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tacita.console.parts.whatif import associations, picture_of, read_campaign, read_release, what_if, what_is_sure
from tacita.domain import Categorical, Domain
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.models import BayesianNetwork
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize import Synthesize
from tacita.tables.cells import Cells

DOMAIN = Domain(
    attributes=[
        Categorical(name="a", levels=["x", "y"]),
        Categorical(name="b", levels=["u", "v", "w"]),
        Categorical(name="c", levels=["p", "q"]),
    ]
)


def network() -> BayesianNetwork:
    rng = np.random.default_rng(4)
    tables = {
        "a": Cells(DOMAIN.project(("a",)), np.array([0.25, 0.75])),
        "b": Cells(DOMAIN.project(("a", "b")), rng.dirichlet([1, 1, 1], 2)),
        "c": Cells(DOMAIN.project(("b", "c")), rng.dirichlet([1, 1], 3)),
    }
    return BayesianNetwork(domain=DOMAIN, parents={"a": (), "b": ("a",), "c": ("b",)}, conditionals=tables)


def synthesized(method: str) -> str:
    rng = np.random.default_rng(1)
    first = rng.integers(0, 2, 2000)
    rows = pa.table(
        {
            "a": np.array(["x", "y"])[first],
            "b": rng.choice(["u", "v", "w"], 2000),
            "c": np.array(["p", "q"])[np.where(rng.random(2000) < 0.9, first, 1 - first)],
        }
    )
    plan = Synthesize(method=method).calibrate(
        DOMAIN, Budget(epsilon=5.0), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE
    )
    return plan.run(LocalEngine(DOMAIN, rows), SeededSource(0)).to_json()


@pytest.mark.parametrize("given", [{}, {"a": "y"}, {"c": "q"}, {"a": "x", "c": "p"}])
def test_answers_are_those_of_the_whole_joint_table(given):
    model = network()
    joint = model.project(("a", "b", "c")).values
    kept = joint.copy()
    for axis, name in enumerate(("a", "b", "c")):
        if name in given:
            mask = np.zeros(joint.shape[axis])
            mask[DOMAIN[name].all_labels.index(given[name])] = 1
            kept *= mask.reshape([-1 if other == axis else 1 for other in range(3)])
    found = what_if(model, "b", given)
    assert found.levels == ("u", "v", "w")
    np.testing.assert_allclose(found.before, joint.sum((0, 2)))
    np.testing.assert_allclose(found.after, kept.sum((0, 2)) / kept.sum())
    assert found.share_given == pytest.approx(kept.sum())


def test_what_is_known_of_the_target_is_not_asked():
    assert what_if(network(), "b", {"b": "u"}).after == what_if(network(), "b", {}).after


def test_what_nobody_has_is_refused():
    model = network()
    sure = Cells(DOMAIN.project(("a",)), np.array([1.0, 0.0]))
    never = BayesianNetwork(domain=DOMAIN, parents=model.parents, conditionals=dict(model.conditionals) | {"a": sure})
    with pytest.raises(InvalidInput, match="no probability"):
        what_if(never, "c", {"a": "y"})


@pytest.mark.parametrize(("method", "drawn"), [("pairs", False), ("privbayes", True)])
def test_models_of_releases_answer(method, drawn):
    known = read_release(synthesized(method))
    assert (known.network is not None) == drawn
    assert known.rests_on
    assert "NOT private" in known.promise  # its noise was seeded
    found = what_if(known.model, "c", {"a": "x"})
    assert found.after[0] > 0.7 > found.before[0]
    names, bits = associations(known.model)
    assert names == ("a", "b", "c")
    assert bits[0][2] == bits[2][0] > 5 * bits[0][1]
    before, after = what_is_sure(known, "c", {"a": "x", "c": "u"})
    assert before.estimate.values == pytest.approx(found.before)
    assert after.estimate.values == pytest.approx(found.after)
    assert before.low[0] < found.before[0] < before.high[0]
    assert before.high[0] - before.low[0] < after.high[0] - after.low[0] < 0.5
    assert len(what_is_sure(known, "c", {})) == 1
    assert what_is_sure(replace(known, measured=None), "c", {}) == []


def test_a_campaigns_network_is_drawn_with_its_weights():
    links = [
        {"child": "b", "parents": ["a"], "bits": 0.5, "p_value": 0.0123},
        {"child": "a", "parents": [], "bits": 0.0, "p_value": 1.0},
    ]
    known = read_campaign({"network": network().as_dict(), "links": links})
    assert known.rests_on == ("b from a: 0.500 bits, p-value 0.012",)
    assert known.weights == {("a", "b"): 0.5}
    assert picture_of(known).rows
    none = read_campaign({"network": network().as_dict(), "links": links[1:]})
    assert "More reports" in none.rests_on[0]

"""Shares and rows of a model given conditions, against the model's own joint table."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Categorical, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput, UnknownName
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize import Synthesize
from tacita.synthesize.questions import check_drawable, restrict, shares
from tacita.synthesize.rules import Rules

DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(0, 90), edges=(0, 30, 60, 90), integer=True),
        Categorical(name="sex", levels=["f", "m"]),
        Categorical(name="smokes", levels=["no", "yes"]),
    ]
)


@pytest.fixture(scope="module", params=["pairs", "privbayes"])
def made(request):
    rng = np.random.default_rng(1)
    age = rng.integers(0, 90, 3000)
    frame = pa.table(
        {"age": age, "sex": rng.choice(["f", "m"], 3000), "smokes": np.where(rng.random(3000) < age / 120, "yes", "no")}
    )
    plan = Synthesize(method=request.param).calibrate(
        DOMAIN, Budget.pure(5.0), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE
    )
    return plan.run(LocalEngine(DOMAIN, frame), SeededSource(1))


def test_shares_are_those_of_the_joint_table(made):
    joint = np.asarray(made.project(("age", "sex", "smokes")).values).reshape(3, 2, 2)
    table = shares(made, ["smokes"], ["age >= 30", "sex = f"])
    wanted = joint[1:, 0].sum(axis=0)
    assert table.column("smokes").to_pylist() == ["no", "yes"]
    assert np.allclose(table.column("share"), wanted / wanted.sum())
    both = shares(made, ["sex", "age"])
    labels = itertools.product(["f", "m"], DOMAIN["age"].labels)
    assert [(row["sex"], row["age"]) for row in both.to_pylist()] == list(labels)
    assert np.allclose(np.reshape(both.column("share"), (2, 3)), joint.sum(axis=2).T)


def test_drawn_rows_meet_the_conditions_in_the_right_shares(made):
    rows = restrict(made, ["age >= 30", "sex = f"]).sample(20_000, np.random.default_rng(1), policy="low")
    assert rows.num_rows == 20_000
    assert set(rows.column("sex").to_pylist()) == {"f"}
    assert min(rows.column("age").to_pylist()) >= 30
    yes = np.mean(np.array(rows.column("smokes")) == "yes")
    assert yes == pytest.approx(shares(made, ["smokes"], ["age >= 30", "sex = f"]).column("share")[1].as_py(), abs=0.02)


def test_without_conditions_nothing_changes(made):
    assert restrict(made) is made


@pytest.mark.parametrize(
    ("attributes", "where", "error"),
    [
        ([], [], InvalidInput),
        (["height"], [], UnknownName),
        (["sex"], ["age > 40"], InvalidInput),  # cuts a bin
        (["sex"], ["height = 3"], UnknownName),
        (["sex"], ["sex"], InvalidInput),
        (["sex"], ["sex = f", "sex = m"], InvalidInput),
    ],
)
def test_wrong_questions_are_refused(made, attributes, where, error):
    with pytest.raises(error):
        shares(made, attributes, where)


def test_rare_conditions_are_refused_before_a_row_is_drawn(made):
    share = shares(made, ["sex"], []).column("share")[0].as_py()
    assert 0.3 < share < 0.7
    check_drawable(made)
    check_drawable(restrict(made, ["sex = f"]))
    with pytest.raises(InvalidInput, match="fewer than one synthetic row"):
        check_drawable(restrict(made, ["age < 30", "sex = f"]).with_rules(Rules.from_text(NEVER_YOUNG)))


NEVER_YOUNG = "rules: [{never: [age < 30, smokes = yes]}, {never: [age < 30, smokes = no]}]"


def test_rules_that_contradict_each_other_are_refused_by_the_schema():
    for text in ("[{never: sex = f}, {never: sex = m}]", "[{always: [sex = f, sex = m]}]"):
        with pytest.raises(InvalidInput, match="contradict"):
            Rules.from_text(f"rules: {text}").check(DOMAIN)
    Rules.from_text(NEVER_YOUNG).check(DOMAIN)

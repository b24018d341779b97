"""Inference of a secret: found in copies, and no leak where it is merely predictable."""

import numpy as np
import pytest

from tacita.assess.attacks.inference import inference
from tacita.assess.attacks.linkability import linkability
from tacita.assess.case import Case
from tacita.errors import TacitaError


def rng():
    return np.random.default_rng(5)


def test_both_sides_have_as_many_trials(cases):
    case = Case(
        real=cases["fresh"].real, released=cases["fresh"].released, control=cases["fresh"].control.take(slice(200))
    )
    for leak in (inference(case, "job", rng()), linkability(case, (("age",), ("job",)), rng())):
        assert leak.attack.trials == leak.control.trials == 200


def test_inference(cases):
    found = {name: inference(case, "town", rng(), attempts=800) for name, case in cases.items()}
    assert found["copied"].risk[0] > 0.4
    for name in ("marginal", "fresh"):
        assert found[name].risk[1] < 0.03
    # what is merely predictable is no leak: jobs follow schools in the whole population
    predictable = inference(cases["fresh"], "job", rng(), attempts=800)
    assert predictable.attack.share > 1.5 * predictable.baseline.share
    assert predictable.risk[1] < 0.05
    # a number counts when it is near
    income = inference(cases["copied"], "income", rng(), attempts=800)
    assert income.risk[0] > 0.4


@pytest.mark.parametrize(
    "bad",
    [
        lambda case: inference(case, "nobody", rng()),
        lambda case: inference(case, "age", rng(), known=["age"]),
        lambda case: inference(case, "age", rng(), tolerance=2),
        lambda case: inference(case, "age", rng(), attempts=0),
    ],
)
def test_bad_input(cases, bad):
    with pytest.raises(TacitaError):
        bad(cases["fresh"])

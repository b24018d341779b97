"""Exact copies and nearest rows, with and without a control group."""

import numpy as np
import pytest

from tacita.assess.attacks.copies import exact_copies, nearness
from tacita.assess.attacks.inference import inference
from tacita.assess.case import Case
from tacita.errors import TacitaError


def rng():
    return np.random.default_rng(5)


def test_copies(cases):
    assert exact_copies(cases["copied"], rng()).risk[0] > 0.95
    for name in ("marginal", "fresh"):
        assert exact_copies(cases[name], rng()).risk[1] < 0.01
    fewer = Case(
        real=cases["copied"].real, released=cases["copied"].released, control=cases["copied"].control.take(slice(300))
    )
    assert exact_copies(fewer, rng()).risk[0] > 0.95  # a small control makes no leak small
    # few attributes make copies that are no leak
    coarse = cases["fresh"].only(["school", "ill"])
    leak = exact_copies(coarse, rng())
    assert leak.attack.share == 1
    assert leak.risk[1] < 0.01
    little = Case(real=coarse.real, released=coarse.released, control=coarse.control.take(slice(200)))
    assert exact_copies(little, rng()).risk[1] < 0.05


def test_nearness(cases):
    copied, fresh = (nearness(cases[name], rng()) for name in ("copied", "fresh"))
    assert copied.nearer.share > 0.98
    assert copied.to_real == (0, 0)
    low, high = fresh.nearer.exact(0.999)
    assert low < 0.5 < high
    assert fresh.excess < 0.08


def test_a_small_control_makes_no_nearness_small(cases):
    """All rows are copies, of which a control of 300 can show a fifth: the excess is of all."""
    case = cases["copied"]
    small = nearness(Case(real=case.real, released=case.released, control=case.control.take(slice(300))), rng())
    assert small.looked_at == 0.2
    assert small.nearer.share < 0.7
    assert small.excess > 0.8
    assert small.as_dict()["looked_at"] == 0.2


def test_without_a_control(cases):
    alone = Case(real=cases["fresh"].real, released=cases["fresh"].released)
    assert inference(alone, "job", rng()).control is None
    with pytest.raises(TacitaError, match="Hold some rows back"):
        nearness(alone, rng())

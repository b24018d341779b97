"""Linking two parts of a row: found in copies, and not in fresh rows."""

import numpy as np
import pytest

from tacita.assess.attacks.linkability import linkability
from tacita.errors import TacitaError


def rng():
    return np.random.default_rng(5)


def test_linkability(cases):
    parts = (("age", "income"), ("town", "job", "ill"))
    found = {name: linkability(case, parts, rng(), attempts=600) for name, case in cases.items()}
    assert found["copied"].attack.share > 5 * found["copied"].control.share
    assert found["copied"].risk[1] > found["fresh"].risk[0]
    assert found["fresh"].risk[1] < 0.03
    more = linkability(cases["copied"], parts, rng(), attempts=600, neighbours=10)
    assert more.attack.share > found["copied"].attack.share


@pytest.mark.parametrize(
    "bad",
    [
        lambda case: linkability(case, (("age",), ("age",)), rng()),
        lambda case: linkability(case, (("age",), ()), rng()),
        lambda case: linkability(case, (("age",), ("nobody",)), rng()),
        lambda case: linkability(case, (("age",), ("town",)), rng(), neighbours=0),
    ],
)
def test_bad_input(cases, bad):
    with pytest.raises(TacitaError):
        bad(cases["fresh"])

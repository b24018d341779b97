"""Membership in released rows: found in copies, and not in fresh rows."""

import numpy as np
import pytest

from tacita.assess.attacks.membership_tables import density_ratio, distance_attack
from tacita.assess.case import Case
from tacita.errors import InvalidInput


@pytest.mark.parametrize("attack", [distance_attack, density_ratio])
def test_rows(cases, attack):
    found = {name: attack(case, np.random.default_rng(4)) for name, case in cases.items()}
    assert found["copied"].auc > 0.75
    assert found["copied"].tpr(0.01).share > 0.2
    for name in ("marginal", "fresh"):
        low, high = found[name].auc_interval()
        assert low < 0.52
        assert high > 0.47


def test_a_density_ratio_needs_a_control(cases):
    case = cases["fresh"]
    with pytest.raises(InvalidInput, match="control"):
        density_ratio(Case(real=case.real, released=case.released), np.random.default_rng())

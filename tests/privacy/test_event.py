from fractions import Fraction

import pytest

from tacita.errors import InvalidInput
from tacita.privacy.event import Approximate, GaussianNoise, SampledGaussian, event_from_dict


@pytest.mark.parametrize(
    "data",
    [
        {"kind": "pure", "epsilon": "1e400"},
        {"kind": "zcdp", "rho": "1e30000000"},
        {"kind": "pure", "epsilon": 10**400},
        {"kind": "approximate", "epsilon": 10**5000, "delta": 0.1},
        {"kind": "discrete-laplace", "scale": "1e400"},
        {"kind": "discrete-laplace", "scale": float("inf")},
        {"kind": "discrete-gaussian", "sigma2": "1/0"},
        {"kind": "discrete-gaussian", "sigma2": 10**400},
        {"kind": "repeated", "event": {"kind": "nothing"}, "count": 10**5000},
        {"kind": "gaussian", "noise_multiplier": 0},
        {"kind": "gaussian", "noise_multiplier": 10**400},
        {"kind": "repeated", "event": 3, "count": 1},
        {"kind": "sequence", "events": 3},
        {"kind": ["pure"]},
        [],
    ],
)
def test_numbers_that_nothing_can_hold_are_refused(data):
    with pytest.raises(InvalidInput):
        event_from_dict(data)


@pytest.mark.parametrize(
    "event",
    [
        Approximate(epsilon=Fraction(1, 10), delta=Fraction(1, 10**9)),
        SampledGaussian(noise_multiplier=Fraction(3, 2), rate=Fraction(1, 3)),
        GaussianNoise(noise_multiplier=Fraction(3, 2)),
    ],
    ids=lambda event: event.kind,
)
def test_whatever_can_be_charged_can_be_read_again(event):
    assert event_from_dict(event.as_dict()) == event

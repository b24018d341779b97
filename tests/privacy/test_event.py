from fractions import Fraction

import pytest

from tacita.errors import InvalidInput
from tacita.privacy.event import (
    Approximate,
    GaussianNoise,
    Parallel,
    Repeated,
    SampledGaussian,
    Sequence,
    event_from_dict,
    same_events,
)


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


def test_events_in_sequence_are_the_same_however_they_are_written():
    one, other = Approximate(epsilon=0.5, delta=1e-6), GaussianNoise(noise_multiplier=2.0)
    apart = Sequence(events=(one, other, one, Repeated(event=one, count=2)))
    together = Sequence(events=(Repeated(event=one, count=4), other))
    assert same_events(apart, together)
    assert not same_events(apart, Sequence(events=(Repeated(event=one, count=3), other)))
    assert not same_events(one, Repeated(event=one, count=2))
    assert not same_events(Parallel(events=(one, one)), Sequence(events=(one, one)))

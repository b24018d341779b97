"""Privacy at risk and its price on the command line."""

import json

from ..conftest import run


def risk(*arguments):
    return run("risk", *arguments)


def test_two_give_the_third():
    found = json.loads(risk("at-risk", "--epsilon", "0.6", "--noise", "1", "--json").out)
    assert round(found["confidence"], 4) == 0.1847
    shown = risk("at-risk", "--epsilon", "0.4", "--confidence", "0.6", "--calculus", "bessel")
    assert "0.797323" in shown.out
    assert "not a privacy guarantee" in shown.out
    assert risk("at-risk", "--epsilon", "0.4").code == 2


def test_the_health_centre():
    shown = risk("price", "--compensation", "5500", "--people", "100", "--error", "2", "--money", "70000")
    assert shown.code == 0, shown.err
    for text in ("74,434", "37,806", "67,979", "43,479", "0.2741"):
        assert text in shown.out
    twice = json.loads(
        risk("price", "--compensation", "5500", "--people", "100", "--noise", "0.5", "--releases", "2", "--json").out
    )
    assert twice["composed"] == 1.0
    for bad in (("--noise", "0.5", "--error", "2"), (), ("--error", "-2"), ("--noise", "-1")):
        assert risk("price", "--compensation", "5500", "--people", "100", *bad).code == 2

"""Gains of values by their definition, and what every method releases."""

from __future__ import annotations

import pytest
from hypothesis import given
from tests.anonymize.criteria.shares import RESTS, TABLES, assert_figures_are_the_definition, assert_releases_keep

from tacita.anonymize.criteria.likeness import BetaLikeness
from tacita.anonymize.methods.registry import METHODS
from tacita.errors import InvalidInput


def gain(shares, whole):
    """The largest relative gain of a value in a class."""
    return max(shares.get(value, 0.0) / share - 1 for value, share in whole.items())


@given(table=TABLES, rest=RESTS)
def test_the_figure_is_the_definition(table, rest):
    assert_figures_are_the_definition(BetaLikeness(beta=1.0), table, rest, gain)


@pytest.mark.parametrize("beta", [0.3, 1.0])
@pytest.mark.parametrize("method", METHODS)
def test_what_leaves_has_no_larger_gain(method, beta):
    assert_releases_keep("beta", beta, method, gain)


@pytest.mark.parametrize("beta", [0.0, -1.0, float("nan"), float("inf")])
def test_bounds_that_make_no_sense_are_refused(beta):
    with pytest.raises(InvalidInput):
        BetaLikeness(beta=beta)

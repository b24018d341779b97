"""Log ratios of values by their definition, and what every method releases."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from tests.anonymize.criteria.shares import RESTS, TABLES, assert_figures_are_the_definition, assert_releases_keep

from tacita.anonymize.criteria.disclosure import DeltaDisclosure
from tacita.anonymize.methods.registry import METHODS
from tacita.errors import InvalidInput


def ratio(shares, whole):
    """The largest log ratio of a value in a class; a value that is missing from it has no finite one."""
    return max(abs(math.log(shares[each] / share)) if shares.get(each) else math.inf for each, share in whole.items())


@given(table=TABLES, rest=RESTS)
def test_the_figure_is_the_definition(table, rest):
    assert_figures_are_the_definition(DeltaDisclosure(disclosure=1.0), table, rest, ratio)


@pytest.mark.parametrize("delta", [0.6, 1.5])
@pytest.mark.parametrize("method", METHODS)
def test_what_leaves_has_no_larger_ratio(method, delta):
    assert_releases_keep("disclosure", delta, method, ratio)


@pytest.mark.parametrize("delta", [0.0, -1.0, float("nan"), float("inf")])
def test_bounds_that_make_no_sense_are_refused(delta):
    with pytest.raises(InvalidInput):
        DeltaDisclosure(disclosure=delta)

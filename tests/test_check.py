from fractions import Fraction

import numpy as np
import pytest

from tacita import check
from tacita.errors import InvalidInput


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "1", None, np.int64(3)])
def test_what_is_no_whole_number_is_refused(value):
    with pytest.raises(InvalidInput, match="k: must be a whole number of at least 1"):
        check.whole(value, "k", least=1)


def test_whole_numbers_within_their_ends():
    check.whole(1, "k", least=1)
    check.whole(9, "k", least=1, most=9)
    check.whole(None, "k", least=1, optional=True)
    with pytest.raises(InvalidInput, match="from 1 to 9") as refused:
        check.whole(10, "k", least=1, most=9, hint="Ask for less")
    assert refused.value.hint == "Ask for less"
    with pytest.raises(InvalidInput):
        check.whole(0, "k", least=1, optional=True)


@pytest.mark.parametrize("value", [0, -1.0, float("inf"), float("nan"), "2", None, True, [1]])
def test_what_is_not_positive_and_finite_is_refused(value):
    with pytest.raises(InvalidInput, match="scale: must be positive and finite"):
        check.positive(value, "scale")


@pytest.mark.parametrize("value", [1, 0.5, Fraction(1, 3), np.float64(2)])
def test_positive_numbers_of_any_kind(value):
    check.positive(value, "scale")


@pytest.mark.parametrize("value", [0, 1, 2, float("nan"), "0.5", None])
def test_what_lies_not_strictly_inside_is_refused(value):
    with pytest.raises(InvalidInput, match="share: must lie strictly between 0 and 1"):
        check.inside(value, "share", 0, 1)
    check.inside(0.5, "share", 0, 1)


def test_one_of_some_names():
    check.one_of("a", "kind", ["a", "b"])
    check.one_of("a", "kind", {"a": 1})
    with pytest.raises(InvalidInput, match="kind: must be one of a, b, got 'c'"):
        check.one_of("c", "kind", ["a", "b"])

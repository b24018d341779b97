import math

import pytest

from tacita.common.number_text import number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.5, "0.5"),
        (12.345, "12.35"),
        (-3.10, "-3.1"),
        (99.999, "100"),
        (100, "100"),
        (-1234567.8, "-1,234,568"),
    ],
)
def test_numbers(value, text):
    assert number(value) == text


@pytest.mark.parametrize(("value", "digits", "text"), [(0.1234, 1, "12.3 %"), (1, 0, "100 %"), (0.00049, 2, "0.05 %")])
def test_shares(value, digits, text):
    assert number(value, share=True, digits=digits) == text


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("share", [True, False])
def test_what_is_no_number_is_unknown(value, share):
    assert number(value, share=share) == "unknown"

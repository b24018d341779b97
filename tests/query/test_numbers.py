import numpy as np
import pyarrow as pa

from tacita.domain import Boolean, Categorical
from tacita.query.numbers import numbers, presence


def test_truths_are_one_and_zero():
    assert np.array_equal(numbers(Boolean(name="b"), pa.array(["yes", "0", "x", None])), [1, 0, np.nan, np.nan], True)


def test_levels_are_there_or_not():
    attribute = Categorical(name="c", levels=("a", "b"), missing=True)
    assert np.isnan(presence(attribute, pa.array(["a", "z", None, "b", ""]))).tolist() == [
        False,
        True,
        True,
        False,
        True,
    ]

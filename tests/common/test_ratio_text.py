from fractions import Fraction

import pytest

from tacita.common.ratio_text import ratio_from_text
from tacita.errors import InvalidInput
from tacita.noise import law_from_dict


@pytest.mark.parametrize(("text", "value"), [("3/7", Fraction(3, 7)), ("12", Fraction(12)), ("-0.5", Fraction(-1, 2))])
def test_ratios(text, value):
    assert ratio_from_text(text) == value
    assert ratio_from_text(str(value)) == value


@pytest.mark.parametrize(
    "text", ["1e400", "1e30000000", "9" * 301, "1/" + "9" * 301, "", "inf", "nan", "1_0", " 1", "1/2/3"]
)
def test_texts_that_mean_no_number_or_a_huge_one(text):
    with pytest.raises(InvalidInput, match="ratio"):
        ratio_from_text(text)
    with pytest.raises(InvalidInput, match="ratio"):
        law_from_dict({"law": "discrete-laplace", "parameter": text})

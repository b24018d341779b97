import numpy as np
import pytest

from tacita.domain import Boolean, Domain
from tacita.errors import InvalidInput
from tacita.models.measurement import Measurement, singles_of

DOMAIN = Domain(attributes=[Boolean(name="x"), Boolean(name="y")])


def test_singles_are_averaged_by_precision():
    well = Measurement(attributes=("x",), values=np.array([0.4, 0.6]), variance=0.01**2)
    badly = Measurement(attributes=("x", "y"), values=np.array([[0.4, 0.4], [0.1, 0.1]]), variance=0.1**2 / 2)
    found = singles_of(DOMAIN, [well, badly])
    assert found["x"][0] == pytest.approx((0.4 * 100 + 0.8) / 101)
    assert found["y"] == pytest.approx([0.5, 0.5])


def test_one_variance_for_all_cells_is_that_variance_in_each():
    values = np.array([[0.4, 0.3], [0.2, 0.1]])
    one = Measurement(attributes=("x", "y"), values=values, variance=0.01)
    each = Measurement(attributes=("x", "y"), values=values, variance=np.full((2, 2), 0.01))
    for name in DOMAIN.names:
        np.testing.assert_allclose(singles_of(DOMAIN, [one])[name], singles_of(DOMAIN, [each])[name])


def test_attributes_that_no_table_holds_are_uniform():
    only = Measurement(attributes=("x",), values=np.array([1.0, 0.0]), variance=1.0)
    found = singles_of(DOMAIN, [only])
    assert found["y"] == pytest.approx([0.5, 0.5])
    assert 0 < found["x"][1] < 1e-4


def test_the_variance_is_taken_at_the_table_that_is_given():
    fixed = Measurement(attributes=("x",), values=np.array([0.4, 0.6]), variance=1.0)
    assert fixed.reweighted(np.array([0.5, 0.5])) is fixed
    moving = Measurement(attributes=("x",), values=fixed.values, variance=1.0, variance_at=lambda table: table / 100)
    np.testing.assert_allclose(moving.reweighted(np.array([0.3, 0.7])).variance, [0.003, 0.007])


def test_refusals():
    with pytest.raises(InvalidInput, match="axis"):
        Measurement(attributes=("x", "y"), values=np.ones(2), variance=1.0)
    with pytest.raises(InvalidInput, match="variance"):
        Measurement(attributes=("x",), values=np.ones(2), variance=np.zeros(2))
    with pytest.raises(InvalidInput, match="variance"):
        Measurement(attributes=("x",), values=np.ones(2), variance=np.ones(3))

import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.learn.coefficient_errors import CoefficientErrors


def test_round_trip_and_scale():
    errors = CoefficientErrors(centre=np.array([1.0, 2.0]), covariance=np.array([[4.0, 1.0], [1.0, 9.0]]))
    errors.check(2)
    again = CoefficientErrors.from_dict(errors.as_dict())
    assert (again.covariance == errors.covariance).all()
    assert np.sqrt(np.diag(errors.scaled(2.0).covariance)) == pytest.approx([4.0, 6.0])
    assert errors.scaled(2.0).centre.tolist() == [2.0, 4.0]


@pytest.mark.parametrize(
    ("centre", "matrix"),
    [
        ([1.0], [[1.0]]),
        ([1.0, 2.0], [[1.0, 2.0], [3.0, 1.0]]),
        ([1.0, 2.0], [[-1.0, 0.0], [0.0, 1.0]]),
        ([1.0, float("nan")], [[1.0, 0.0], [0.0, 1.0]]),
        ([1.0, 2.0], [[float("inf"), 0.0], [0.0, 1.0]]),
    ],
)
def test_what_is_no_covariance_is_refused(centre, matrix):
    with pytest.raises(InvalidInput, match="symmetric"):
        CoefficientErrors(centre=np.array(centre), covariance=np.array(matrix)).check(2)

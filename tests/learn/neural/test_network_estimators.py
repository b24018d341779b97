"""Networks follow all conventions of scikit-learn, with the least noise that they take."""

import pytest

pytest.importorskip("torch")

from sklearn.utils.estimator_checks import check_estimator

from tacita.learn.neural.network_estimators import PrivateNetworkClassifier, PrivateNetworkRegressor

EXEMPT = {"check_array_api_input"}  # needs a setting of the environment
LOUD = {"epsilon": 20.0, "delta": 1e-3, "bounds": (-5.0, 5.0), "random_state": 0}
SMALL = {"hidden": (4,), "batch": 100, "people": 100}
ESTIMATORS = [
    PrivateNetworkClassifier(epochs=40, learning_rate=4.0, **SMALL, **LOUD),
    PrivateNetworkRegressor(epochs=20, learning_rate=0.5, target_bounds=(-5.0, 5.0), **SMALL, **LOUD),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_conventions_of_scikit_learn(estimator):
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []
    assert {r["check_name"] for r in results if r["status"] == "skipped"} <= EXEMPT
    assert sum(r["status"] == "passed" for r in results) > 40

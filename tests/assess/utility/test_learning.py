"""Models trained on the release and tested on people who were not used."""

import numpy as np
import pytest

from tacita.assess.case import Case
from tacita.assess.utility.learning import PANEL, train_on_release
from tacita.errors import TacitaError


def rng():
    return np.random.default_rng(7)


def test_training_on_the_release(cases):
    fresh, marginal = (train_on_release(cases[name], "job", rng(), group="school") for name in ("fresh", "marginal"))
    assert abs(fresh.lost) < 0.05
    assert marginal.lost > 0.1
    assert all(scores.accuracy > fresh.majority for scores in fresh.real.values())
    assert set(fresh.groups) <= {"none", "basic", "high", "college"}
    assert sum(size for _, _, size in fresh.groups.values()) <= 1500
    weighted = sum(size * real for real, _, size in fresh.groups.values()) / sum(s for *_, s in fresh.groups.values())
    assert weighted == pytest.approx(fresh.real["logistic"].accuracy, abs=0.03)
    binary = train_on_release(cases["fresh"].only(["age", "income", "school", "ill"]), "ill", rng(), models=("tree",))
    assert binary.real["tree"].auc is None  # four classes
    assert binary.real["tree"].micro_f1 == pytest.approx(binary.real["tree"].accuracy)


def test_a_release_of_one_class(cases):
    case = cases["fresh"]
    one = case.first.take(case.first.column("ill") == 0)
    found = train_on_release(
        Case(real=case.real, released=(one,), control=case.control), "ill", rng(), models=("tree",)
    )
    assert found.released["tree"].accuracy <= found.majority + 1e-9
    assert "one class" in found.notes[0]


@pytest.mark.parametrize("bad", [{"target": "nobody"}, {"models": ("oracle",)}, {"models": ()}])
def test_bad_learning(cases, bad):
    with pytest.raises(TacitaError):
        train_on_release(cases["fresh"], **({"target": "job", "rng": rng()} | bad))


def test_learning_needs_people_who_were_not_used(cases):
    case = cases["fresh"]
    with pytest.raises(TacitaError, match="Hold some rows back"):
        train_on_release(Case(real=case.real, released=case.released), "job", rng())
    with pytest.raises(TacitaError, match="nothing is left"):
        train_on_release(case.only(["job"]), "job", rng())


def test_a_class_of_one_among_many_rows_can_be_learned():
    rng = np.random.default_rng(1)
    features, labels = rng.normal(size=(10_500, 2)), rng.integers(0, 2, 10_500)
    labels[0] = 2
    model = PANEL["boosting"](1).set_params(max_iter=2).fit(features, labels)
    assert set(model.classes_) == {0, 1, 2}

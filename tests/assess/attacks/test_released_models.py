"""Released models: members are found in one that learnt by heart, and not in a private one."""

import numpy as np
import pytest

from tacita.assess.assessment import AssessmentOptions, assess
from tacita.assess.attacks.attack import Skipped
from tacita.assess.attacks.released_models import attack_model
from tacita.assess.case import Case, read_case
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.learn.models import recipe_of
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit

FEATURES = ("age", "income", "town", "job")


@pytest.fixture(scope="module")
def people(tables):
    return {name: tables[name].slice(0, 400) for name in ("real", "control")}


@pytest.fixture(scope="module")
def fitted(people, domain):
    def fit(kind, epsilon, target="ill", features=FEATURES, **options):
        recipe = recipe_of(kind, target=target, features=features, options=options)
        terms = {"unit": Unit.row(), "neighbours": Neighbours.ADD_REMOVE}
        plan = recipe.calibrate(domain, Budget.pure(epsilon), **terms)
        return plan.run(LocalEngine(domain, people["real"]), SeededSource(3))

    return fit


def case_of(domain, people, *models):
    return read_case(domain, real=people["real"], released=[], control=people["control"], models=models)


def attacked(model, case, shadows=4):
    return list(attack_model(model, case, np.random.default_rng(1), attempts=400, shadows=shadows))


def test_a_tree_that_learnt_by_heart_gives_its_members_away(domain, people, fitted):
    leaky = fitted("trees", 1000.0, depth=8)
    found = attacked(leaky, case_of(domain, people, leaky))
    assert [each.name.partition(",")[0] for each in found] == ["loss threshold", "likelihood ratio", "shadow models"]
    assert all(each.name.endswith("trees model of ill") for each in found)
    assert all(each.risks_at(0.95)[0].low > 0.1 for each in found)
    assert all(each.guesses == 400 for each in found)


def test_a_private_one_does_not(domain, people, fitted):
    private = fitted("trees", 0.5, depth=3)
    for each in attacked(private, case_of(domain, people, private)):
        assert each.risks_at(0.999)[0].low == 0


def test_shadow_models_follow_the_recipe_of_the_model(domain, people, fitted, monkeypatch):
    from tacita.learn import models

    asked = []
    kept = models.recipe_of
    monkeypatch.setattr(models, "recipe_of", lambda kind, **more: asked.append(more["options"]) or kept(kind, **more))
    attacked(fitted("trees", 1.0, depth=2), case_of(domain, people, fitted("trees", 1.0, depth=2)))
    assert asked[-1] == {"depth": 2, "trees": 1}


def test_numbers_are_scored_by_their_residual(domain, people, fitted):
    model = fitted("linear", 1.0, target="income", features=("age",))
    (found,) = attacked(model, case_of(domain, people, model))
    rows = {side: people[side] for side in ("real", "control")}
    for side, scores in (("real", found.inside), ("control", found.outside)):
        residual = model.predict(rows[side]).to_numpy() - rows[side]["income"].to_numpy()
        assert np.sort(scores) == pytest.approx(np.sort(-(residual**2)))


def test_an_assessment_of_a_model_alone(domain, people, fitted):
    model = fitted("bayes", 1.0, features=("age", "town"))
    found = assess(case_of(domain, people, model), np.random.default_rng(1), options=AssessmentOptions(attempts=100))
    told = found.as_dict()
    assert (told["rows"], told["kept"], told["margins"], told["learned"]) == (0, None, None, None)
    assert len(told["membership"]) == 3
    assert [each["name"] for each in told["attacks"] if each["ran"]] == ["membership-model"]
    assert {each["reason"] for each in told["attacks"] if each["name"] == "copies"} == {"It needs released rows."}
    assert not told["skipped"]


def test_needs(domain, people, fitted):
    model = fitted("bayes", 1.0, features=("age", "town"))
    whole = case_of(domain, people, model)
    with pytest.raises(InvalidInput, match="not used"):
        attacked(model, Case(real=whole.real, released=(), models=(model,)))
    with pytest.raises(InvalidInput, match="town"):
        attacked(model, whole.only(["age", "ill"]))
    with pytest.raises(InvalidInput, match="at least one release"):
        Case(real=whole.real, released=())
    found = attacked(model, whole, shadows=5)  # an odd number is refused: the loss threshold is not lost
    assert [type(each) is Skipped for each in found] == [False, True]

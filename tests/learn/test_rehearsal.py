import pytest

from tacita.domain import Boolean, Categorical, Domain, Numeric
from tacita.errors import InvalidInput
from tacita.learn import Bayes, NeuralNetwork, Regression, Trees
from tacita.learn.rehearsal import rehearse_fit
from tacita.privacy.budget import Budget

DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(0, 100), bins=6),
        Categorical(name="place", levels=("a", "b", "c")),
        Categorical(name="work", levels=("x", "y")),
        Numeric(name="income", bounds=(0, 1000), bins=5),
        Boolean(name="smokes"),
    ]
)
FEATURES = ("age", "place", "work")
RECIPES = {
    "linear": (Regression(target="income", features=FEATURES, task="linear"), "income"),
    "logistic": (Regression(target="smokes", features=FEATURES, task="logistic"), "smokes"),
    "trees": (Trees(target="smokes", features=FEATURES), "smokes"),
    "bayes": (Bayes(target="place", features=("age", "work")), "place"),
}


@pytest.mark.parametrize("kind", RECIPES)
def test_little_budget_is_worse_than_plenty(kind):
    recipe, target = RECIPES[kind]
    poor = rehearse_fit(recipe, DOMAIN, target, Budget.pure(0.003), people=3000)
    rich = rehearse_fit(recipe, DOMAIN, target, Budget.pure(20.0), people=3000)
    assert poor.measure == ("error" if kind == "linear" else "wrong")
    assert rich.private < poor.private
    assert rich.private <= 1.15 * rich.plenty
    assert rich.plenty <= 1.02 * rich.blind
    assert rich.as_dict()["people"] == 3000


def test_nobody_is_refused():
    recipe, target = RECIPES["trees"]
    with pytest.raises(InvalidInput, match="people"):
        rehearse_fit(recipe, DOMAIN, target, Budget.pure(1.0), people=1)
    for many in (10**7, 10**400):
        with pytest.raises(InvalidInput, match="people"):
            rehearse_fit(recipe, DOMAIN, target, Budget.pure(1.0), people=many)


@pytest.mark.parametrize(
    ("recipe", "target"),
    [
        (Regression(target="income", features=FEATURES, method="adassp"), "income"),
        (Regression(target="smokes", features=FEATURES, task="logistic", method="sufficient"), "smokes"),
        (NeuralNetwork(target="smokes", features=FEATURES, hidden=(4,), epochs=2, people=2000, batch=500), "smokes"),
    ],
    ids=["adassp", "sufficient", "network"],
)
def test_methods_that_need_a_delta_are_rehearsed_with_it(recipe, target):
    if isinstance(recipe, NeuralNetwork):
        pytest.importorskip("torch")
    found = rehearse_fit(recipe, DOMAIN, target, Budget.approx(1.0, 1e-6), people=2000, draws=1)
    assert 0 < found.plenty <= 1.1 * found.blind


def test_chance_of_the_rehearsal_is_shown_and_a_useless_model_is_called_so():
    recipe, target = RECIPES["trees"]
    rich = rehearse_fit(recipe, DOMAIN, target, Budget.pure(20.0), people=3000)
    assert rich.beats_guessing
    assert rich.could_beat_guessing
    assert rich.gains[0] == pytest.approx(rich.blind - rich.private)
    assert all(0 < margin < 1 for margin in (*rich.margins, *rich.gain_margins))
    poor = rehearse_fit(recipe, DOMAIN, target, Budget.pure(0.003), people=3000)
    assert not poor.beats_guessing
    assert poor.could_beat_guessing
    alone = Domain(attributes=[Categorical(name="x", levels=("a", "b")), Categorical(name="y", levels=("a", "b"))])
    blind = rehearse_fit(Trees(target="y", features=("x",)), alone, "y", Budget.pure(0.01), people=50)
    assert not blind.beats_guessing
    once = rehearse_fit(recipe, DOMAIN, target, Budget.pure(20.0), people=3000, draws=1)
    assert not once.beats_guessing  # one draw says nothing about chance

"""One way to name a recipe, one way to read a model back."""

import datetime as dt
import json

import pytest

from tacita.domain import Boolean, Categorical, Date, Domain, Numeric
from tacita.errors import InvalidInput
from tacita.learn import Bayes, NeuralNetwork, Regression, Trees, TunedRegression, choose_kind, read_model, recipe_of


def test_a_kind_and_options_make_a_recipe():
    def of(kind, **options):
        return recipe_of(kind, target="y", features=["a", "b"], options=options)

    line = {"target": "y", "features": ("a", "b")}
    assert of("linear", penalty=2.0) == Regression(**line, penalty=2.0)
    assert of("logistic", method="output") == Regression(**line, task="logistic", method="output")
    assert of("trees", depth=3) == Trees(**line, depth=3)
    assert of("bayes") == Bayes(**line)
    assert of("network", hidden=[3], task="linear") == NeuralNetwork(**line, hidden=(3,), task="linear")
    tuned = of("logistic", penalties=((1, 1),), share=0.5, norm=1.0)
    assert tuned == TunedRegression(
        base=Regression(**line, task="logistic", norm=1.0), penalties=((1.0, 1.0),), share=0.5
    )


@pytest.mark.parametrize(
    ("kind", "options", "field"),
    [
        ("forest", {}, "kind"),
        ("bayes", {"depth": 1}, "depth"),
        ("linear", {"task": "logistic"}, "task"),
        ("linear", {"target": "z"}, "target"),
        ("trees", {"penalties": ((1, 1),)}, "penalties"),
        ("linear", {"share": 0.2}, "share"),
        ("linear", {"penalty": 1.0, "penalties": ((1, 1),)}, "penalty"),
        ("linear", {"alpha": 0.5, "penalties": ((1, 1),)}, "alpha"),
        ("linear", {"penalties": ((1, 1, 1),)}, "penalties"),
        ("linear", {"penalties": ((1e308, 1),)}, "penalty"),
        ("linear", {"penalty": 1e308}, "penalty"),
        ("linear", {"people": 10**400}, "people"),
        ("logistic", {"people": True}, "people"),
        ("linear", {"norm": 1e-320}, "norm"),
        ("network", {"people": 10**400}, "people"),
        ("network", {"clip": 1e-320}, "clip"),
        ("network", {"clip": 1e308}, "clip"),
        ("network", {"learning_rate": 1e308}, "learning_rate"),
        ("network", {"learning_rate": True}, "learning_rate"),
    ],
)
def test_what_is_no_option_is_refused(kind, options, field):
    with pytest.raises(InvalidInput) as caught:
        recipe_of(kind, target="y", features=["a"], options=options)
    assert caught.value.field == field


@pytest.mark.parametrize("mark", ["fitted/1", "trees/1", "bayes/1", "network/1"])
def test_broken_models_are_refused(mark):
    with pytest.raises(InvalidInput, match="broken"):
        read_model(json.dumps({"tacita": mark}))


@pytest.mark.parametrize("text", ["", "[]", "3", "{}", '{"tacita": "release/1"}', '{"tacita": ["fitted/1"]}'])
def test_other_texts_are_refused(text):
    with pytest.raises(InvalidInput) as caught:
        read_model(text)
    assert caught.value.field == "model"


def test_the_kind_follows_target_and_options():
    domain = Domain(
        attributes=[
            Numeric(name="cost", bounds=(0, 1), bins=2),
            Date(name="born", bounds=(dt.date(2000, 1, 1), dt.date(2001, 1, 1))),
            Boolean(name="ill", missing=True),
            Categorical(name="town", levels=["a", "b", "c"], other=True),
        ]
    )
    for target, options, kind in (
        ("cost", (), "linear"),
        ("born", (), "linear"),
        ("ill", (), "logistic"),
        ("town", (), "bayes"),
        ("town", ("people",), "bayes"),
        ("town", ("depth",), "trees"),
        ("ill", ("trees",), "trees"),
        ("ill", ("penalty",), "logistic"),
        ("cost", ("hidden",), "network"),
        ("cost", ("depth",), "linear"),  # which then refuses the option
    ):
        found, why = choose_kind(domain, target, options)
        assert found == kind
        assert why.startswith(f"{kind}: {target} ")

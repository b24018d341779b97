from pathlib import PurePath

import pytest

from tacita import errors


def test_one_shape():
    shape = errors.InvalidInput("must be positive", field="epsilon", value=-1, hint="Try 0.5").as_dict()
    assert shape == {
        "code": "invalid-input",
        "title": "A value breaks a rule",
        "detail": "epsilon: must be positive, got '-1'. Try 0.5",
        "field": "epsilon",
        "rule": "must be positive",
        "value": "-1",
        "hint": "Try 0.5",
    }


def test_the_private_part_stays_behind():
    error = errors.DataError("has a broken line", field="source", private="line 7: Ada,secret")
    assert "Ada" not in str(error)
    assert "Ada" not in str(error.as_dict())


def test_a_path_is_shown_as_one():
    assert errors.InvalidInput("no such file", field="schema", value=PurePath("x.yaml")).value == "x.yaml"


def test_long_values_are_cut():
    assert len(errors.InvalidInput("x", field="f", value="y" * 10_000).as_dict()["value"]) <= 120


def test_names_near_and_far():
    near = errors.UnknownName("agee", field="attribute", available=["age", "sex"])
    assert "Did you mean 'age'" in str(near)
    assert "Known: age, sex" in str(errors.UnknownName("qqq", field="attribute", available=["sex", "age"]))
    assert str(errors.UnknownName("x", field="campaign", available=[])) == "campaign: no such name, got 'x'"


def every(cls):
    return [cls, *(sub for child in cls.__subclasses__() for sub in every(child))]


def test_the_tree_in_the_docstring_is_the_tree():
    for cls in every(errors.TacitaError):
        if cls.__module__ == "tacita.errors":
            assert cls.__name__ in errors.__doc__
            assert cls.__name__ in errors.__all__


def test_codes_are_distinct():
    ours = [cls for cls in every(errors.TacitaError) if cls.__module__ == "tacita.errors"]
    assert len({cls.code for cls in ours}) == len(ours)


def test_our_own_mistakes_say_so():
    with pytest.raises(AssertionError, match="report it"):
        raise errors.InternalError("cannot happen")


def test_a_value_is_shortened_without_writing_all_of_it():
    """Nested aliases of YAML give a value of a few objects whose representation has 10^12 characters."""
    bomb = ["x"]
    for _ in range(12):
        bomb = [bomb] * 10
    assert errors.InvalidInput("x", value=bomb).value.endswith("…")
    assert errors.InvalidInput("x", value={"a": {"b": bomb}}).value.startswith("{'a': {'b': [[[")
    loop = []
    loop.append(loop)
    assert errors.InvalidInput("x", value=loop).value == "[" * 119 + "…"


@pytest.mark.parametrize(
    "value", [[], (), (1,), {}, set(), {1}, frozenset({1}), [1, "a", None], {"a": (1, 2.5)}, b"x", 7, True, 1.5]
)
def test_short_values_read_as_python_writes_them(value):
    assert errors.InvalidInput("x", value=value).value == repr(value)


def test_integers_that_python_refuses_to_write_are_described():
    assert errors.InvalidInput("x", value=[10**5000]).value == "[an integer of 16610 bits]"

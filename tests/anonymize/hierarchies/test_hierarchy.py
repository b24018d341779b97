import numpy as np
import pytest

from tacita.anonymize.hierarchies.hierarchy import Hierarchy
from tacita.anonymize.hierarchies.reading import read_hierarchy
from tacita.anonymize.hierarchies.rules import Intervals, Periods, Prefixes
from tacita.errors import InvalidInput
from tacita.tables.recoding import Axis

PETS = [["cat", "mammal", "*"], ["eel", "fish", "*"], ["dog", "mammal", "*"]]


def bound(maker, axis):
    """The tree over an axis that was sorted by it."""
    hierarchy = maker.hierarchy(axis)
    ordered = Axis(name=axis.name, kind=axis.kind, keys=tuple(hierarchy.order_of(axis)))
    return ordered, hierarchy.over(ordered)


def test_neighbours_lie_side_by_side_and_ancestors_are_right():
    axis, tree = bound(Hierarchy.from_rows("pet", PETS), Axis(name="pet", kind="set", keys=("cat", "dog", "eel")))
    assert axis.keys == ("cat", "dog", "eel")
    assert [tree.labels[node] for node in tree.ancestors[:, 1]] == ["mammal", "mammal", "fish"]
    common = tree.common(np.array([0, 0, 2]), np.array([1, 2, 2]))
    assert [tree.labels[node] for node in common] == ["mammal", "*", "eel"]
    assert tree.loss(common).tolist() == [0.5, 1.0, 0.0]


def test_all_forms_say_the_same(tmp_path):
    (tmp_path / "pet.csv").write_text("cat;mammal;*\neel;fish;*\ndog;mammal;*\n")
    (tmp_path / "rows.yaml").write_text("[[cat, mammal, '*'], [eel, fish, '*'], [dog, mammal, '*']]")
    (tmp_path / "tree.yaml").write_text("tree: {'*': {mammal: [cat, dog], fish: [eel]}}")
    (tmp_path / "parents.yaml").write_text("parents: {cat: mammal, dog: mammal, eel: fish, mammal: '*', fish: '*'}")
    found = [set(read_hierarchy(path).paths) for path in sorted(tmp_path.iterdir())]
    assert found == [{("*", "mammal", "cat"), ("*", "mammal", "dog"), ("*", "fish", "eel")}] * 4


def test_a_branch_that_ends_early_repeats_its_leaf():
    tree = Hierarchy.from_tree("x", {"*": {"a": ["b", "c"], "d": None}})
    assert tree.paths == (("*", "a", "b"), ("*", "a", "c"), ("*", "d", "d"))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Hierarchy.from_rows("x", [["a", "*"], ["b", "c", "*"]]), "must have all levels"),
        (lambda: Hierarchy.from_rows("x", [["a", "*"], ["b", "+"]]), "one root"),
        (lambda: Hierarchy.from_rows("x", [["a", "p", "*"], ["a", "q", "*"]]), "stands below both 'p' and 'q'"),
        (lambda: Hierarchy.from_rows("x", [["a", "*"], ["a", "*"]]), "there twice"),
        (lambda: Hierarchy.from_rows("x", []), "no leaves"),
        (lambda: Hierarchy.from_parents("x", {"a": "b", "b": "c", "c": "a"}), "round in a circle"),
        (lambda: Hierarchy.from_parents("x", {"l": "r", "a": "b", "b": "a"}), "round in a circle"),
        (lambda: Hierarchy.from_dict("x", {"shrub": 1}), "rows, tree or parents"),
        (lambda: Intervals(widths=(5, 12)), "whole intervals"),
        (lambda: Intervals(widths=()), "at least one"),
        (lambda: Prefixes(keep=(1, 3)), "must fall"),
        (lambda: Intervals(widths=(5,)).hierarchy(Axis(name="x", kind="set", keys=("a",))), "for numbers"),
        (lambda: Periods().hierarchy(Axis(name="x", kind="set", keys=("a",))), "for dates"),
    ],
)
def test_what_is_no_tree_is_refused(make, words):
    with pytest.raises(InvalidInput, match=words):
        make()


def test_a_value_without_a_leaf_is_refused_and_not_shown():
    axis = Axis(name="pet", kind="set", keys=("cat", "unicorn"))
    with pytest.raises(InvalidInput, match="does not cover 1 of its values") as refused:
        Hierarchy.from_rows("pet", PETS).over(axis)
    assert "unicorn" not in str(refused.value)


def test_missing_hangs_from_the_root():
    axis, tree = bound(Hierarchy.from_rows("pet", PETS), Axis(name="pet", kind="set", keys=(None, "cat", "dog")))
    assert axis.keys[0] is None
    assert tree.labels[tree.common(np.array([0]), np.array([1]))[0]] == "*"
    assert tree.leaves.max() == 4


def test_intervals_of_numbers():
    _, tree = bound(Intervals(widths=(5, 10)), Axis(name="age", kind="number", keys=(1, 4, 7, 12)))
    assert [tree.labels[node] for node in tree.ancestors[:, 2]] == ["0..4", "0..4", "5..9", "10..14"]
    _, tree = bound(Intervals(widths=(0.5,)), Axis(name="x", kind="number", keys=(0.25, 0.5)))
    assert [tree.labels[node] for node in tree.ancestors[:, 1]] == ["[0, 0.5)", "[0.5, 1)"]
    _, tree = bound(Intervals(widths=(5,), origin=1, bounds=(1, 100)), Axis(name="x", kind="number", keys=(1, 5)))
    assert (tree.leaves.max(), tree.labels[tree.ancestors[0, 1]]) == (100, "1..5")
    _, tree = bound(Intervals(widths=(10,)), Axis(name="x", kind="number", keys=(12_345_678, 12_345_691)))
    assert [tree.labels[node] for node in tree.ancestors[:, 1]] == ["12345670..12345679", "12345690..12345699"]


def test_periods_of_dates_and_prefixes_of_texts():
    axis = Axis(name="day", kind="date", keys=(19_723, 19_754))  # 2024-01-01 and 2024-02-01
    _, tree = bound(Periods(by=("month", "quarter", "year")), axis)
    assert [tree.labels[node] for node in tree.ancestors[1]] == ["*", "2024", "2024-Q1", "2024-02", "2024-02-01"]
    axis, tree = bound(Prefixes(keep=(2,)), Axis(name="zip", kind="set", keys=("10", "101", "1021", "103")))
    assert [tree.labels[node] for node in tree.ancestors[:, 1]] == ["10", "10*", "10*", "10**"]

"""k^m-anonymity: every combination that occurs in what leaves is counted again here, slowly; and an attack is tried."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacita.anonymize import Hierarchy
from tacita.anonymize.methods.transactions import KmAnonymity, least_support
from tacita.errors import InvalidInput

ITEMS = ["beer", "wine", "milk", "cola", "bread", "roll", "cake"]
TREE = Hierarchy.from_tree(
    "items",
    {"*": {"drinks": {"alcohol": ["beer", "wine"], "soft": ["milk", "cola"]}, "food": ["bread", "roll", "cake"]}},
)
ABOVE = {item: set(path) for path in TREE.paths for item in [path[-1]]}
baskets = st.lists(st.lists(st.sampled_from(ITEMS), max_size=5), min_size=0, max_size=25)


def slow_support(sets, m, people):
    """By definition: for each combination of all items there are, whose sets hold it."""
    items = sorted({item for one in sets for item in one})
    least = None
    for size in range(1, m + 1):
        for combination in itertools.combinations(items, size):
            who = {person for person, one in zip(people, sets, strict=True) if set(combination) <= set(one)}
            if who and (least is None or len(who) < least):
                least = len(who)
    return least


@settings(max_examples=150, deadline=None)
@given(
    sets=baskets,
    k=st.integers(1, 5),
    m=st.integers(1, 3),
    tree=st.booleans(),
    suppress=st.sampled_from([None, 0.2, 1.0]),
    persons=st.one_of(st.none(), st.integers(1, 9)),
)
def test_every_combination_that_leaves_is_shared_by_k(sets, k, m, tree, suppress, persons):
    people = list(range(len(sets))) if persons is None else [place % persons for place in range(len(sets))]
    recipe = KmAnonymity(k=k, m=m, hierarchy=TREE if tree else None, suppress=suppress)
    whose = None if persons is None else people
    try:
        found = recipe.run(sets, whose)
    except InvalidInput:
        assert recipe.as_dict()["suppress"] < 1  # with everything left out nothing can be wrong
        with pytest.raises(InvalidInput, match="k: cannot be reached"):
            recipe.run(sets, whose)
        return
    # the attack: who knows up to m items of a set looks for it among what left
    left = {item: found.written[item] for one in sets for item in one}
    images = [{left[item] for item in one} - {None} for one in sets]
    assert sorted(tuple(sorted(image)) for image in images) == list(found.sets)
    assert found.support == slow_support(images, m, people)
    assert found.support is None or found.support >= k
    for one in sets:
        for known in itertools.combinations(sorted(set(one)), min(m, len(set(one)))):
            shadow = {left[item] for item in known} - {None}
            fit = {person for person, image in zip(people, images, strict=True) if shadow <= image}
            assert not shadow or len(fit) >= k
    # labels are true, and the loss is that of the labels
    times = {item: sum(item in one for one in map(set, sets)) for item in left}
    lost = 0.0
    for item, label in left.items():
        if label is None:
            lost += times[item]
        else:
            assert label in ABOVE[item] if tree else label == item
            below = sum(label in path for path in ABOVE.values())
            lost += times[item] * (below - 1) / (len(ITEMS) - 1)
    assert found.loss == pytest.approx(lost / max(sum(times.values()), 1))
    gone = sum(times[item] for item, label in left.items() if label is None)
    assert found.suppressed == pytest.approx(gone / max(sum(times.values()), 1))
    assert gone <= recipe.as_dict()["suppress"] * sum(times.values()) + 1e-9


@settings(max_examples=100, deadline=None)
@given(sets=baskets, m=st.integers(1, 4))
def test_the_least_support_is_that_of_the_definition(sets, m):
    assert least_support(sets, m) == slow_support(sets, m, list(range(len(sets))))


def test_what_holds_already_is_not_changed():
    sets = [["beer", "milk"], ["milk", "beer", "beer"], ["cake"], ["cake"]]
    found = KmAnonymity(k=2, m=2, hierarchy=TREE).run(sets)
    assert found.sets == (("beer", "milk"), ("beer", "milk"), ("cake",), ("cake",))
    assert found.loss == 0
    assert found.guarantee == "none"


def test_the_cheaper_of_two_steps_is_taken():
    # beer and wine are rare alone and enough together: one step up mends them, and nothing else moves
    sets = [["beer"], ["wine"], ["cola"], ["cola"]]
    found = KmAnonymity(k=2, m=1, hierarchy=TREE).run(sets)
    assert found.sets == (("alcohol",), ("alcohol",), ("cola",), ("cola",))
    assert found.loss == pytest.approx(2 * (1 / 6) / 4)
    # one cake among many others is better left out than to write all food as food
    sets = [["cake"], *[["bread"]] * 10, *[["roll"]] * 10]
    found = KmAnonymity(k=2, m=1, hierarchy=TREE, suppress=0.05).run(sets)
    assert found.written["cake"] is None
    assert found.written["bread"] == "bread"
    assert KmAnonymity(k=2, m=1, hierarchy=TREE).run(sets).written["bread"] == "food"


def test_the_result_does_not_depend_on_the_order():
    rng = np.random.default_rng(1)
    sets = [list(rng.choice(ITEMS, rng.integers(1, 5))) for _ in range(40)]
    recipe = KmAnonymity(k=3, m=2, hierarchy=TREE, suppress=0.1)
    turned = [sets[place][::-1] for place in rng.permutation(40)]
    assert recipe.run(sets).sets == recipe.run(turned).sets


def test_larger_m_loses_no_less_and_one_person_is_not_many():
    rng = np.random.default_rng(2)
    sets = [
        [ITEMS[i] for i in rng.choice(7, rng.integers(1, 5), p=np.array([6, 5, 4, 3, 2, 1, 1]) / 22)] for _ in range(80)
    ]
    losses = [KmAnonymity(k=5, m=m, hierarchy=TREE).run(sets).loss for m in (1, 2, 3)]
    assert losses == sorted(losses)
    assert math.isclose(KmAnonymity(k=2, m=1).run([["beer"]] * 3).loss, 0)
    assert KmAnonymity(k=2, m=1).run([["beer"]] * 3, ["ann"] * 3).sets == ((), (), ())


def test_bad_input_is_refused(monkeypatch):
    with pytest.raises(InvalidInput, match="k: must be a whole number"):
        KmAnonymity(k=0, m=1)
    with pytest.raises(InvalidInput, match="m: must be a whole number"):
        KmAnonymity(k=2, m=1.5)
    with pytest.raises(InvalidInput, match="suppress: must lie between"):
        KmAnonymity(k=2, m=1, suppress=2)
    with pytest.raises(InvalidInput, match="not a text"):
        KmAnonymity(k=2, m=1).run(["beer"])
    with pytest.raises(InvalidInput, match="items must be texts"):
        KmAnonymity(k=2, m=1).run([[1]])
    with pytest.raises(InvalidInput, match="whose each transaction is"):
        KmAnonymity(k=2, m=1).run([["beer"]], ["ann", "bob"])
    with pytest.raises(InvalidInput, match="people: must not be missing"):
        KmAnonymity(k=2, m=1).run([["beer"]], [None])
    with pytest.raises(InvalidInput, match="does not cover 1 of the items") as refused:
        KmAnonymity(k=2, m=1, hierarchy=TREE).run([["tea"]])
    assert "tea" not in str(refused.value)
    with pytest.raises(InvalidInput, match="cannot be reached"):
        KmAnonymity(k=3, m=1, hierarchy=TREE).run([["beer"], ["milk"]])
    monkeypatch.setattr("tacita.anonymize.methods.transactions._MOST_WORK", 5)
    with pytest.raises(InvalidInput, match="combinations to count"):
        KmAnonymity(k=2, m=2, hierarchy=TREE).run([ITEMS, ITEMS])

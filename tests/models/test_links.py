"""Links of networks: statuses, distances, and classes against an enumeration of all equivalent structures."""

import pytest
from tests.models.structures import every_structure

from tacita.errors import InvalidInput
from tacita.models.links import compare_links, cpdag, links_of, shd, v_structures

EVERY = list(every_structure(3))


def skeleton_of(parents):
    return frozenset(frozenset(link) for link in links_of(parents))


CLASSES = {}
for each in EVERY:
    CLASSES.setdefault((skeleton_of(each), v_structures(each)), []).append(each)


def test_the_class_directs_the_links_that_all_members_direct_alike():
    """Networks are equivalent if and only if they have the same pairs and v-structures.  [Verma, Pearl 1990]"""
    for members in CLASSES.values():
        shared = frozenset.intersection(*(links_of(each) for each in members))
        for each in members[:3]:
            directed, free = cpdag(each)
            assert directed == shared
            assert free == skeleton_of(each) - {frozenset(link) for link in shared}
    assert len(CLASSES) == 185  # of four attributes


def test_the_distance_is_the_number_of_changes():
    for at in range(0, len(EVERY), 37):
        one = EVERY[at]
        for other in EVERY[::41]:
            mine, theirs = links_of(one), links_of(other)
            turned = {link for link in mine if link[::-1] in theirs}
            assert shd(one, other) == len(mine ^ theirs) - len(turned)
            assert (shd(one, other, classes=True) == 0) == (cpdag(one) == cpdag(other))


def test_members_of_a_class_are_apart_and_their_classes_are_not():
    chain = {"a": (), "b": ("a",), "c": ("b",), "d": ()}
    fork = {"a": ("b",), "b": (), "c": ("b",), "d": ()}
    collider = {"a": (), "b": ("a", "c"), "c": (), "d": ()}
    assert (shd(chain, fork), shd(chain, fork, classes=True)) == (1, 0)
    assert (shd(chain, collider), shd(chain, collider, classes=True)) == (1, 2)
    assert v_structures(collider) == {("a", "b", "c")}
    assert v_structures({"a": (), "b": ("a", "c"), "c": ("a",)}) == frozenset()  # shielded


def test_every_pair_has_one_status():
    networks = {
        "one": {"a": (), "b": ("a",), "c": ("b",), "d": ("a",)},
        "two": {"a": (), "b": ("a", "c"), "c": (), "d": ()},
        "three": {"a": (), "b": ("a",), "c": ("b",), "d": ("c",)},
    }
    found = compare_links(networks)
    assert found.links("common") == [("a", "b")]
    assert found.links("discordant") == [("b", "c"), ("c", "b")]
    assert set(found.links("uncommon")) == {("a", "d"), ("c", "d")}
    (row,) = [row for row in found.rows if row.status == "discordant"]
    assert row.directions == {("b", "c"): ("one", "three"), ("c", "b"): ("two",)}
    assert found.sizes == {"one": 3, "two": 2, "three": 3}
    assert found.shd["one", "three"] == 2
    assert found.kinds["a", "d"] == "uncommon"
    plain = found.as_dict()
    assert plain["links"][1]["directions"] == {"b:c": ["one", "three"], "c:b": ["two"]}
    assert {"networks": ["one", "three"], "shd": 2, "class_shd": 2} in plain["distances"]


def test_a_pair_that_two_of_three_turn_is_uncommon():
    turned = {"one": {"a": (), "b": ("a",)}, "two": {"a": ("b",), "b": ()}, "three": {"a": (), "b": ()}}
    assert [row.status for row in compare_links(turned).rows] == ["uncommon"]


def test_bad_input():
    with pytest.raises(InvalidInput, match="two or more"):
        compare_links({"one": EVERY[0]})
    with pytest.raises(InvalidInput, match="attributes"):
        compare_links({"one": EVERY[0], "two": {"a": ()}})
    with pytest.raises(InvalidInput, match="same attributes"):
        shd(EVERY[0], {"a": ()})
    with pytest.raises(InvalidInput, match="cycle"):
        cpdag({"a": ("b",), "b": ("a",)})

"""Brute force over all structures, against an enumeration of another kind."""

import pytest
from tests.models.structures import NAMES, every_structure, scores, total

from tacita.errors import InvalidInput
from tacita.models.all_structures import MOST, all_structures, best_of_all


def test_the_number_of_structures_is_robinsons():
    """a(n) = sum over k of (-1)^(k+1) C(n, k) 2^(k (n-k)) a(n-k)  [Robinson 1977]"""
    assert [len(set(all_structures(count))) for count in range(MOST + 1)] == [1, 1, 3, 25, 543, 29281]


def test_structures_are_those_without_a_cycle():
    theirs = {
        tuple(sum(1 << NAMES.index(above) for above in parents[name]) for name in NAMES)
        for parents in every_structure(3)
    }
    assert set(all_structures(4)) == theirs


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("degree", [0, 1, 3])
def test_the_best_of_all_is_found(seed, degree):
    score = scores(seed)
    found = best_of_all(NAMES, score, degree=degree)
    assert total(score, found) == pytest.approx(max(total(score, each) for each in every_structure(degree)))


def test_a_single_link_is_not_skipped_and_orientations_do_not_accumulate():
    """The two faults of the published algorithm."""
    for wanted in [{"b": ("a",)}, {"a": ("b",)}, {"c": ("a", "b")}, {}]:
        want = {name: wanted.get(name, ()) for name in NAMES}
        found = best_of_all(NAMES, lambda name, above, want=want: float(above == want[name]), degree=3)
        assert found == want


def test_bad_input():
    with pytest.raises(InvalidInput, match="names"):
        best_of_all([str(i) for i in range(MOST + 1)], lambda *_: 0.0, degree=1)
    with pytest.raises(InvalidInput, match="names"):
        best_of_all([], lambda *_: 0.0, degree=1)
    with pytest.raises(InvalidInput, match="degree"):
        best_of_all(NAMES, scores(0), degree=-1)

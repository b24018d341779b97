"""Hill climbing and the exact search against all structures of few attributes."""

import itertools
import math

import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.models.exact_search import MOST, best_parents
from tacita.models.hill_climb import hill_climb
from tacita.models.network import topological_order

NAMES = ("a", "b", "c", "d")


def scores(seed):
    """Any score will do: a number for each child and set of parents."""
    rng = np.random.default_rng(seed)
    table = {
        (name, above): float(rng.normal() - 0.3 * size)
        for name in NAMES
        for size in range(4)
        for above in itertools.combinations([other for other in NAMES if other != name], size)
    }
    return lambda name, above: table[name, above]


def every_structure(degree):
    sets = [
        [above for size in range(degree + 1) for above in itertools.combinations([o for o in NAMES if o != name], size)]
        for name in NAMES
    ]
    for chosen in itertools.product(*sets):
        parents = dict(zip(NAMES, chosen, strict=True))
        try:
            topological_order(NAMES, parents)
        except InvalidInput:
            continue
        yield parents


def total(score, parents):
    return math.fsum(score(name, above) for name, above in parents.items())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("degree", [1, 2])
def test_the_exact_search_finds_the_best_of_all(seed, degree):
    score = scores(seed)
    found = best_parents(NAMES, score, degree=degree)
    topological_order(NAMES, found)
    assert total(score, found) == pytest.approx(max(total(score, each) for each in every_structure(degree)))


@pytest.mark.parametrize("seed", range(6))
def test_no_single_change_improves_what_hill_climbing_found(seed):
    score, degree = scores(seed), 2
    found = hill_climb(NAMES, score, degree=degree)
    topological_order(NAMES, found)
    mine = {(above, name) for name in NAMES for above in found[name]}
    for other in every_structure(degree):
        theirs = {(above, name) for name in NAMES for above in other[name]}
        turned = len(mine ^ theirs) == 2 and {frozenset(e) for e in mine - theirs} == {
            frozenset(e) for e in theirs - mine
        }
        if len(mine ^ theirs) == 1 or turned:
            assert total(score, other) <= total(score, found) + 1e-9


def test_a_start_is_kept_where_nothing_is_better():
    start = {"a": (), "b": ("a",), "c": (), "d": ()}
    assert hill_climb(NAMES, lambda name, above: float((name, above) == ("b", ("a",))), degree=2, start=start) == start


def test_bad_input():
    with pytest.raises(InvalidInput, match="names"):
        best_parents([str(i) for i in range(MOST + 1)], scores(0), degree=1)
    for search in (best_parents, hill_climb):
        with pytest.raises(InvalidInput, match="degree"):
            search(NAMES, scores(0), degree=-1)

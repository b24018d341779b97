"""Hill climbing against all structures of few attributes."""

import pytest
from tests.models.structures import NAMES, every_structure, scores, total

from tacita.errors import InvalidInput
from tacita.models.hill_climb import hill_climb
from tacita.models.network import topological_order


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
    with pytest.raises(InvalidInput, match="degree"):
        hill_climb(NAMES, scores(0), degree=-1)

"""Hill climbing against all structures of few attributes."""

import numpy as np
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


@pytest.mark.parametrize("seed", range(6))
def test_restarts_and_a_tabu_list_never_end_lower_and_find_the_optimum(seed):
    score = scores(seed)
    alone = total(score, hill_climb(NAMES, score, degree=3))
    best = max(total(score, each) for each in every_structure(3))
    for settings in ({"tabu": 8}, {"restarts": 20}, {"restarts": 40, "tabu": 8}):
        found = hill_climb(NAMES, score, degree=3, rng=np.random.default_rng(seed), **settings)
        topological_order(NAMES, found)
        assert total(score, found) >= alone - 1e-12
    assert total(score, found) == pytest.approx(best)


def test_a_tabu_list_leaves_a_summit():
    """One parent alone does not pay, two do: a plain climb stops at once."""

    def score(name, above):
        return {0: 0.0, 1: -1.0, 2: 5.0}[len(above)] if name == "c" and set(above) <= {"a", "b"} else -9.0 * len(above)

    assert not any(hill_climb(NAMES, score, degree=2).values())
    assert hill_climb(NAMES, score, degree=2, tabu=4)["c"] == ("a", "b")


def test_restarts_stay_within_what_is_allowed_and_repeat_with_their_seed():
    score = scores(1)

    def ruled(name, above):
        return -np.inf if "a" in above else score(name, above)

    found = [hill_climb(NAMES, ruled, degree=2, restarts=5, rng=np.random.default_rng(7)) for _ in range(2)]
    assert found[0] == found[1]
    assert all("a" not in above for above in found[0].values())
    with pytest.raises(InvalidInput, match="rng"):
        hill_climb(NAMES, score, degree=2, restarts=1)
    for field in ("restarts", "tabu"):
        with pytest.raises(InvalidInput, match=field):
            hill_climb(NAMES, score, degree=2, **{field: -1})

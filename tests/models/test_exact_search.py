"""The exact search against all structures of few attributes."""

import pytest
from tests.models.structures import NAMES, every_structure, scores, total

from tacita.errors import InvalidInput
from tacita.models.exact_search import MOST, best_parents
from tacita.models.network import topological_order


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("degree", [1, 2])
def test_the_exact_search_finds_the_best_of_all(seed, degree):
    score = scores(seed)
    found = best_parents(NAMES, score, degree=degree)
    topological_order(NAMES, found)
    assert total(score, found) == pytest.approx(max(total(score, each) for each in every_structure(degree)))


def test_bad_input():
    with pytest.raises(InvalidInput, match="names"):
        best_parents([str(i) for i in range(MOST + 1)], scores(0), degree=1)
    with pytest.raises(InvalidInput, match="degree"):
        best_parents(NAMES, scores(0), degree=-1)

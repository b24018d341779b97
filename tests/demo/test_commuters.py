"""The benchmark of communities: laws of visits and of their number."""

import numpy as np
import pytest
from scipy import stats

from tacita.demo.commuters import simulate_communities
from tacita.errors import InvalidInput


def test_visits_follow_the_stated_laws():
    visits, truth, laws = simulate_communities(
        np.random.default_rng(0), theta=1.1, communities=3, commuters=4000, places=500
    )
    number = np.diff(visits.starts)
    edges = np.arange(1, 30)
    expected = stats.gamma(6, scale=1.2).cdf(edges + 0.5)
    found = np.searchsorted(np.sort(number), edges, side="right") / len(number)
    assert found == pytest.approx(expected, abs=0.02)
    law = np.arange(1, 501) ** -1.1
    law /= law.sum()
    for community in range(3):
        mine = visits.place[truth[visits.card] == community]
        shares = np.sort(np.bincount(mine, minlength=500))[::-1] / len(mine)
        assert shares[:20] == pytest.approx(law[:20], abs=0.01)
        found = np.bincount(mine, minlength=500) / len(mine)
        assert found == pytest.approx(laws[community], abs=0.01)
    assert np.bincount(truth).tolist() == [4000] * 3


def test_communities_have_their_own_orders():
    visits, truth, _ = simulate_communities(np.random.default_rng(1), communities=2, commuters=500, places=200)
    tops = [np.argmax(np.bincount(visits.place[truth[visits.card] == k], minlength=200)) for k in range(2)]
    assert tops[0] != tops[1]
    with pytest.raises(InvalidInput):
        simulate_communities(np.random.default_rng(0), theta=0.0)

"""Agreement of networks with series: definitions by hand, chance, and bootstrap intervals."""

import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.models.continuous.agreement import adjacency, agreement, rank

NAMES = ("a", "b", "c")


def matrix(*links):
    found = np.zeros((3, 3), bool)
    for above, below in links:
        found[NAMES.index(above), NAMES.index(below)] = True
    return found


def test_the_four_figures():
    network = adjacency(NAMES, {"a": (), "b": ("a",), "c": ("a", "b")})  # ab ac bc
    series = [matrix("ab", "ba", "cb"), matrix("ab", "ac", "bc"), matrix(), ~np.zeros((3, 3), bool)]
    found = agreement(network, series)
    # TP 1 (ab), FN 2 (ba, cb), FP 2 (ac, bc), TN 1 (ca)
    assert found[0] == pytest.approx([1 / 3, 1 / 3, 1 / 3, 2 / 6])
    assert found[1] == pytest.approx([1, 1, 1, 1])
    assert found[2] == pytest.approx([np.nan, 0.5, np.nan, 0.5], nan_ok=True)
    assert found[3] == pytest.approx([0.5, np.nan, np.nan, 0.5], nan_ok=True)


def test_networks_are_ranked_with_intervals():
    rng = np.random.default_rng(1)
    truth = rng.random((6, 6)) < 0.4
    series = [np.where(rng.random((6, 6)) < 0.2, ~truth, truth) for _ in range(60)]
    worse = np.where(rng.random((6, 6)) < 0.3, ~truth, truth)
    found = rank({"worse": worse, "true": truth, "random": rng.random((6, 6)) < 0.4}, series, np.random.default_rng(2))
    assert found[0].network == "true"
    assert found[0].first > 0.99
    assert sum(each.first for each in found) == pytest.approx(1)
    off = ~np.eye(6, dtype=bool)
    for each in found:
        assert each.low["accuracy"] < each.mean["accuracy"] < each.high["accuracy"]
    assert found[0].chance == (truth[off].mean(), 1 - truth[off].mean())
    figures = agreement(truth, series)
    assert found[0].mean["sensitivity"] == pytest.approx(figures[:, 0].mean())
    assert found[0].std["accuracy"] == pytest.approx(figures[:, 3].std(ddof=1))
    width = found[0].high["accuracy"] - found[0].low["accuracy"]
    assert width == pytest.approx(2 * 1.96 * figures[:, 3].std() / np.sqrt(60), rel=0.15)
    assert found[0].as_dict()["series"] == 60


def test_series_without_a_link_count_where_a_figure_is_defined():
    network = matrix("ab")
    (found,) = rank({"n": network}, [matrix(), matrix("ab"), matrix("ab", "bc")], np.random.default_rng(1))
    assert found.mean["sensitivity"] == pytest.approx(0.75)
    assert found.mean["specificity"] == pytest.approx((5 / 6 + 1 + 1) / 3)


def test_bad_input():
    with pytest.raises(InvalidInput, match="columns"):
        adjacency(NAMES, {"a": (), "b": ()})
    with pytest.raises(InvalidInput, match="columns"):
        adjacency(("a",), {"a": (), "b": ()})
    with pytest.raises(InvalidInput, match="two series"):
        rank({"n": matrix("ab")}, [matrix()], np.random.default_rng(1))
    with pytest.raises(InvalidInput, match="samples"):
        rank({"n": matrix("ab")}, [matrix(), matrix()], np.random.default_rng(1), samples=1)

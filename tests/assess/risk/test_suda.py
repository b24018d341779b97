"""Minimal sample uniques and scores: against their definition."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from tacita.assess.risk.measure import RiskOptions
from tacita.assess.risk.microdata import microdata_risk
from tacita.assess.risk.sample import sample_of
from tacita.assess.risk.suda import minimal_uniques, suda_scores
from tacita.errors import InvalidInput


def _slow(codes: np.ndarray, size: int) -> dict[int, list[tuple[int, ...]]]:
    """Minimal sample uniques of each record, by comparing all pairs."""
    d, many = codes.shape

    def alone(record: int, chosen: tuple[int, ...]) -> bool:
        return all(any(codes[a, record] != codes[a, other] for a in chosen) for other in range(many) if other != record)

    found: dict[int, list[tuple[int, ...]]] = {}
    for record in range(many):
        mine: list[tuple[int, ...]] = []
        for k in range(1, size + 1):
            for chosen in combinations(range(d), k):
                if alone(record, chosen) and not any(set(part) < set(chosen) for part in mine):
                    mine.append(chosen)
        found[record] = mine
    return found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("wide", [3, 2000])
def test_against_all_pairs(seed: int, wide: int) -> None:
    rng = np.random.default_rng(seed)
    codes = np.array(
        [rng.integers(0, 3, 40), rng.integers(0, wide, 40), rng.integers(0, 4, 40), rng.integers(0, 2, 40)]
    )
    sample = sample_of("abcd", codes)
    fast = minimal_uniques(sample, 3)
    slow = _slow(codes, 3)
    for record in range(40):
        assert sorted(chosen for chosen, who in fast.items() if record in who) == sorted(slow[record])
    scores = suda_scores(fast, 40, 4, 3)
    for record in range(40):
        assert scores[record] == sum(math.factorial(4 - len(chosen)) for chosen in slow[record])


def test_the_measure_and_its_parts() -> None:
    rng = np.random.default_rng(5)
    codes = np.array([rng.integers(0, 4, 60) for _ in range(4)])
    found = microdata_risk(sample_of("abcd", codes, people=600), RiskOptions(size=2))
    shares = [found.figure("suda", f"attribute:{name}") for name in "abcd"]
    assert sum(shares) >= 1  # a set of two attributes counts for both
    table = found.records()
    dis, score = table.column("dis").to_numpy(), table.column("suda").to_numpy()
    assert ((dis > 0) == (score > 0)).all()
    if dis.max() < 1:
        assert dis[score > 0].mean() == pytest.approx(found.figure("suda", "dis"))
    ones, pairs = (found.records().column("f").to_numpy() == each for each in (1, 2))
    assert found.figure("suda", "dis") == pytest.approx(0.1 * ones.sum() / (0.1 * ones.sum() + 0.9 * pairs.sum()))


def test_too_many_sets_are_refused() -> None:
    codes = np.zeros((60, 5), np.int64)
    with pytest.raises(InvalidInput, match="sets of attributes"):
        minimal_uniques(sample_of([str(i) for i in range(60)], codes), 4)

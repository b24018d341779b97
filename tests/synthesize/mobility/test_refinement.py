"""Pairs from coarse to fine: structure from noisy counts only, levels that agree, masses that are right."""

import numpy as np
import pytest

from tacita.noise import SeededSource
from tacita.plans.split import BudgetSplit
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.mobility import refinement
from tacita.synthesize.mobility.measuring import TableSpec, plan_tables
from tacita.synthesize.mobility.refinement import measure_pairs

UNIT = Unit.of_person("card", max_rows=5)


def tables(hierarchy, epsilon):
    size = hierarchy.sizes[0]
    specs = [TableSpec(name=f"pairs {level}", shape=(size, size)) for level in range(len(hierarchy.levels))]
    return plan_tables(specs, BudgetSplit.of(Budget.pure(epsilon), UNIT, Neighbours.ADD_REMOVE), 10_000)


@pytest.fixture(scope="module")
def pairs(city):
    rng, size = np.random.default_rng(0), len(city.places)
    weights = rng.dirichlet(np.full(size * size, 0.02))
    drawn = rng.choice(size * size, 30_000, p=weights)
    return drawn // size, drawn % size


def dense(blocks, hierarchy, popularity):
    """The weight of every pair of places, by brute force."""
    size = len(popularity)
    table = np.zeros((size, size))
    for level, one, other, weight in zip(blocks.level, blocks.one, blocks.other, blocks.weight, strict=True):
        left, right = hierarchy.levels[level] == one, hierarchy.levels[level] == other
        part = np.outer(popularity * left, popularity * right)
        table += weight * part / part.sum()
    return table


def test_blocks_hold_all_cards_and_do_not_overlap(city, pairs):
    hierarchy = city.places.hierarchy()
    popularity = np.bincount(pairs[0], minlength=len(city.places)) + 1.0
    blocks, total, error, refined = measure_pairs(
        hierarchy, popularity, pairs, tables(hierarchy, 3.0), SeededSource(1), theta=2.0
    )
    assert total == pytest.approx(30_000, abs=5 * error)
    assert blocks.weight.sum() == pytest.approx(total)
    assert refined[0] > 0
    covered = np.zeros((len(popularity),) * 2)
    for level, one, other in zip(blocks.level, blocks.one, blocks.other, strict=True):
        covered += np.outer(hierarchy.levels[level] == one, hierarchy.levels[level] == other)
    assert covered.max() == 1


def test_more_budget_gives_a_nearer_table(city, pairs):
    hierarchy, size = city.places.hierarchy(), len(city.places)
    popularity = np.bincount(pairs[0], minlength=size) + 1.0
    truth = np.bincount(pairs[0] * size + pairs[1], minlength=size * size).reshape(size, size) / 30_000
    found = []
    for epsilon in (0.05, 1.0, 100.0):
        blocks = measure_pairs(hierarchy, popularity, pairs, tables(hierarchy, epsilon), SeededSource(1), theta=2.0)[0]
        made = dense(blocks, hierarchy, popularity)
        found.append(0.5 * np.abs(made / made.sum() - truth).sum())
    assert found[0] > found[1] > found[2]
    # at a large budget, pairs that are refined to the end are the exact ones; rare ones stay spread
    assert found[2] < 0.35


def test_the_structure_follows_from_noisy_counts_alone(city, pairs, monkeypatch):
    """With the same noisy numbers, other data is refined in the same places."""
    hierarchy = city.places.hierarchy()
    popularity = np.ones(len(city.places))
    shapes = []

    def fixed(self, counts, source):
        shapes.append(counts.size)
        return np.abs(np.sin(np.arange(counts.size, dtype=float)).reshape(counts.shape)) * 300

    monkeypatch.setattr("tacita.synthesize.mobility.measuring.PlannedTable.measure", fixed)
    results = []
    for data in (pairs, (pairs[1], pairs[0]), (pairs[0][:5], pairs[1][:5])):
        blocks = measure_pairs(hierarchy, popularity, data, tables(hierarchy, 1.0), SeededSource(1), theta=2.0)[0]
        results.append((blocks.level.tolist(), blocks.one.tolist(), blocks.weight.tolist()))
    assert results[0] == results[1] == results[2]
    assert len(set(shapes)) == len(hierarchy.levels)


def test_no_more_cells_than_allowed_are_refined(city, pairs, monkeypatch):
    monkeypatch.setattr(refinement, "MOST_REFINED", 20)
    hierarchy = city.places.hierarchy()
    blocks, total, _, refined = measure_pairs(
        hierarchy, np.ones(len(city.places)), pairs, tables(hierarchy, 5.0), SeededSource(1), theta=1.0
    )
    assert sum(refined) <= 20
    assert blocks.weight.sum() == pytest.approx(total)


def test_no_cards_at_all(city):
    hierarchy, none = city.places.hierarchy(), np.zeros(0, np.int64)
    for seed in range(5):
        blocks = measure_pairs(
            hierarchy, np.ones(len(city.places)), (none, none), tables(hierarchy, 1.0), SeededSource(seed), theta=2.0
        )[0]
        assert (blocks.weight >= 0).all()
        assert np.isfinite(blocks.weight).all()
        assert len(blocks) > 0

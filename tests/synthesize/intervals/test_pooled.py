"""Pooled estimates against generalised least squares over all cells, and the law of their noise against simulation."""

import numpy as np
import pytest

from tacita.domain import Categorical, Domain
from tacita.noise import DiscreteGaussian, DiscreteLaplace, SeededSource
from tacita.noise.sums import half_width_of_sum
from tacita.synthesize.intervals.measured import MeasuredTable
from tacita.synthesize.intervals.pooled import Question, pooled

SIZES = (2, 3, 4)
DOMAIN = Domain(
    attributes=[Categorical(name=f"c{at}", levels=[str(k) for k in range(size)]) for at, size in enumerate(SIZES)]
)
NARROW, WIDE, OTHER = DiscreteLaplace.at_least(2), DiscreteGaussian.at_least(60), DiscreteLaplace.at_least(5)
KEYS = {(0,): (WIDE, 1), (0, 1): (NARROW, 1), (2, 0): (OTHER, 2), (1, 2): (WIDE, 1)}
MASKS = {"c2": np.array([True, False, True, True]), "c1": np.array([False, False, True])}


def tables_of(counts, seed):
    found = []
    for key, (law, terms) in KEYS.items():
        exact = counts.transpose(*key, *(at for at in range(3) if at not in key))
        exact = exact.sum(axis=tuple(range(len(key), 3)))
        noise = law.draw(exact.size * terms, SeededSource(seed + len(found) * 1000)).reshape(*exact.shape, terms)
        values = exact + noise.sum(axis=-1)
        found.append(
            MeasuredTable(attributes=tuple(f"c{at}" for at in key), counts=values.astype(float), law=law, terms=terms)
        )
    return found


def wanted_cells(levels):
    """Which of all cells have the levels."""
    grid = np.indices(SIZES)
    kept = np.ones(SIZES, bool)
    for at, some in levels.items():
        kept &= np.isin(grid[at], some)
    return kept.reshape(-1).astype(float)


def least_squares(tables, levels):
    """The estimate of the number of rows with these levels, and its variance, from all tables over their attributes."""
    rows, values, precision = [], [], []
    for table in tables:
        places = [int(name[1:]) for name in table.attributes]
        if levels and not set(places) & set(levels):
            continue
        for cell in np.ndindex(table.counts.shape):
            rows.append(wanted_cells({at: [level] for at, level in zip(places, cell, strict=True)}))
            values.append(table.counts[cell])
            precision.append(1 / table.variance)
    design, weights = np.array(rows), np.array(precision)
    inverse = np.linalg.pinv(design.T @ (design * weights[:, None]))
    aim = wanted_cells(levels)
    return aim @ inverse @ design.T @ (weights * values), aim @ inverse @ aim


@pytest.mark.parametrize("over", [(), (0,), (0, 1), (1, 2)])
def test_it_is_generalised_least_squares(over):
    tables = tables_of(np.random.default_rng(1).poisson(9, SIZES), 1)
    question = Question(domain=DOMAIN, names=tuple(f"c{at}" for at in over), masks={})
    values, parts = pooled(tables, question, frozenset(question.names))
    for cell in np.ndindex(tuple(SIZES[at] for at in over)):
        value, variance = least_squares(tables, {at: [level] for at, level in zip(over, cell, strict=True)})
        assert values[cell] == pytest.approx(value)
        assert sum(part.variance for part in parts) == pytest.approx(variance)


def test_conditions_are_sums_of_levels():
    tables = tables_of(np.random.default_rng(2).poisson(9, SIZES), 2)
    question = Question(domain=DOMAIN, names=("c0",), masks=MASKS)
    for over, kept in ((("c0", "c2"), {2: [0, 2, 3]}), (("c2", "c1"), {2: [0, 2, 3], 1: [2]})):
        values, parts = pooled(tables, question, frozenset(over))
        shape = (2,) if "c0" in over else (1,)
        assert values.shape == shape
        for level in range(shape[0]):
            value, variance = least_squares(tables, kept | ({0: [level]} if "c0" in over else {}))
            assert values[level] == pytest.approx(value)
            assert sum(part.variance for part in parts) == pytest.approx(variance)


def test_a_set_that_no_table_holds():
    tables = tables_of(np.ones(SIZES), 3)
    question = Question(domain=DOMAIN, names=("c0", "c1", "c2"), masks={})
    assert pooled(tables, question, frozenset(question.names)) is None
    assert pooled(tables[:1], question, frozenset(["c0", "c1"])) is None


def test_one_table_alone_is_as_it_is():
    (table, *_) = tables_of(np.full(SIZES, 7), 4)
    question = Question(domain=DOMAIN, names=("c0",), masks={})
    values, parts = pooled([table], question, frozenset(["c0"]))
    assert values == pytest.approx(table.counts)
    assert half_width_of_sum(parts, 0.9) == WIDE.half_width(0.9)


def test_many_attributes_are_averaged():
    domain = Domain(attributes=[Categorical(name=f"b{at}", levels=["0", "1"]) for at in range(6)])
    rng, names = np.random.default_rng(5), tuple(f"b{at}" for at in range(5))
    wide = MeasuredTable(attributes=(*names, "b5"), counts=rng.normal(size=(2,) * 6), law=WIDE)
    small = MeasuredTable(attributes=names[::-1], counts=rng.normal(size=(2,) * 5), law=WIDE)
    one = MeasuredTable(attributes=("b0",), counts=np.zeros(2), law=NARROW)
    question = Question(domain=domain, names=names, masks={})
    values, parts = pooled([wide, one, small], question, frozenset(names))
    assert values == pytest.approx((wide.counts.sum(axis=5) + 2 * small.counts.transpose(4, 3, 2, 1, 0)) / 3)
    assert sum(part.variance for part in parts) == pytest.approx(WIDE.variance * (2 + 4) / 9)


def test_intervals_are_as_wide_as_the_noise():
    counts = np.random.default_rng(6).poisson(40, SIZES)
    question = Question(domain=DOMAIN, names=("c0", "c1"), masks={})
    errors = []
    for seed in range(400):
        values, parts = pooled(tables_of(counts, 10 * seed), question, frozenset(question.names))
        errors.append((values - counts.sum(axis=2)).reshape(-1))
    half = half_width_of_sum(parts, 0.9)
    assert np.mean(np.abs(errors) <= half) == pytest.approx(0.9, abs=0.03)
    assert half < NARROW.half_width(0.9)  # which is its own table's

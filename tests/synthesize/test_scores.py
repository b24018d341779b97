"""Sensitivities by brute force: all small tables, all neighbours."""

import itertools

import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.scores import f_score, mi_score, mi_sensitivity, r_score, sensitivity

ADD, REPLACE, ROW = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE, Unit.row()


def tables(shape, rows):
    """All tables of so many rows."""
    cells = int(np.prod(shape))
    for bars in itertools.combinations(range(rows + cells - 1), cells - 1):
        edges = (-1, *bars, rows + cells - 1)
        yield np.diff(edges).reshape(shape) - 1


def moved(score, shape, rows, neighbours):
    """Largest change of a score between neighbours; `rows` is the larger size."""
    worst = 0.0
    for table in tables(shape, rows):
        here = score(table, rows)
        for down in np.argwhere(table > 0):
            less = table.copy()
            less[tuple(down)] -= 1
            if neighbours is ADD:
                worst = max(worst, abs(here - score(less, rows - 1)) if rows > 1 else 0.0)
                continue
            for up in np.ndindex(*shape):
                less[up] += 1
                worst = max(worst, abs(here - score(less, rows)))
                less[up] -= 1
    return worst


@pytest.mark.parametrize("rows", [2, 3, 4, 5])
def test_mutual_information_of_two_levels(rows):
    claimed = mi_sensitivity(rows, REPLACE, binary=True)
    assert moved(mi_score, (2, 2), rows, REPLACE) == pytest.approx(claimed)
    assert moved(mi_score, (3, 2), rows, REPLACE) == pytest.approx(claimed)


@pytest.mark.parametrize(("rows", "tight"), [(3, 1.33333), (4, 1.18872), (5, 1.10196)])
def test_mutual_information_of_more_levels(rows, tight):
    found = moved(mi_score, (3, 3), rows, REPLACE)
    assert found == pytest.approx(tight, abs=1e-5)
    assert found <= mi_sensitivity(rows, REPLACE) + 1e-12


@pytest.mark.parametrize("rows", [2, 3, 4, 5])
@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 3)])
def test_mutual_information_when_a_row_comes_or_goes(rows, shape):
    assert moved(mi_score, shape, rows, ADD) == pytest.approx(mi_sensitivity(rows, ADD))


def test_rows_without_a_place_still_count():
    """A row may leave the table for nowhere: n stays, and the general bound holds."""
    rows, worst = 4, 0.0
    for held in range(rows + 1):
        for table in tables((2, 2), held):
            for down in np.argwhere(table > 0):
                less = table.copy()
                less[tuple(down)] -= 1
                worst = max(worst, abs(mi_score(table, rows) - mi_score(less, rows)))
    assert 0.5 < worst <= mi_sensitivity(rows, REPLACE) + 1e-12


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 3)])
@pytest.mark.parametrize("rows", [2, 3, 4, 5])
def test_r(shape, rows):
    add, replaced = moved(r_score, shape, rows, ADD), moved(r_score, shape, rows, REPLACE)
    assert add <= 2 * (rows - 1) / rows + 1e-12
    assert replaced <= 3 * (rows - 1) / rows + 1e-12
    assert add < sensitivity("R", ROW, ADD, None)
    assert replaced < sensitivity("R", ROW, REPLACE, None)


def test_r_comes_near_its_bound_for_rare_cells():
    table = np.full((30, 30), 1)
    more = table.copy()
    more[0, 0] += 1
    assert r_score(more) - r_score(table) > 0.9 * sensitivity("R", ROW, ADD, None)


@pytest.mark.parametrize("rows", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("cells", [2, 3])
def test_f(rows, cells):
    assert moved(f_score, (cells, 2), rows, ADD) <= 1
    assert moved(f_score, (cells, 2), rows, REPLACE) == sensitivity("F", ROW, REPLACE, None) == 1


def test_f_by_its_definition():
    """Half the L1 distance to the nearest table in which parents decide a fair child: all such tables on a grid."""
    for table in tables((2, 2), 4):
        best = min(
            np.abs(table - fair).sum() / 2
            for doubled in tables((2, 2), 8)
            for fair in [doubled / 2]
            if (fair.sum(axis=0) == 2).all() and ((fair > 0).sum(axis=1) <= 1).all()
        )
        assert f_score(table) == pytest.approx(-best)


def test_persons_are_chains_of_rows():
    person = Unit.of_person("id", max_rows=3)
    assert sensitivity("R", person, ADD, None) == 3 * sensitivity("R", ROW, ADD, None)
    assert sensitivity("R", person, REPLACE, None) == 2 * sensitivity("R", person, ADD, None)
    assert sensitivity("F", person, ADD, None) == 3


def test_golden_vectors():
    rows = np.array([(1, 1, 1, 0), (0, 0, 0, 0), (1, 1, 0, 0), (1, 1, 1, 0), (1, 1, 0, 0), (0, 0, 0, 0), (1, 1, 0, 0)])
    rows = np.vstack([rows, np.zeros((3, 4), int)])

    def told(left, right):
        counts = np.zeros((2, 2), int)
        np.add.at(counts, (rows[:, left], rows[:, right]), 1)
        return mi_score(counts, 10)

    assert told(0, 1) == pytest.approx(1.0)
    assert told(0, 2) == pytest.approx(0.2365, abs=1e-4)
    assert told(0, 3) == 0
    for n, two, more in ((303, 0.031959, 0.057332), (48842, 3.4844e-4, 6.5593e-4), (12_500, 1.2042e-3, 2.2484e-3)):
        assert mi_sensitivity(n, REPLACE, binary=True) == pytest.approx(two, rel=1e-4)
        assert mi_sensitivity(n, REPLACE) == pytest.approx(more, rel=1e-4)


@pytest.mark.parametrize(
    ("unit", "neighbours", "rows"),
    [(ROW, ADD, 100), (ROW, REPLACE, None), (ROW, REPLACE, 1), (Unit.of_person("id", max_rows=1), REPLACE, 100)],
)
def test_mutual_information_needs_a_public_number_of_rows(unit, neighbours, rows):
    with pytest.raises(InvalidInput, match="R"):
        sensitivity("mi", unit, neighbours, rows)

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tacita.domain import Boolean, Categorical, Domain, Identifier
from tacita.errors import InvalidInput
from tacita.tables.cells import Cells, Projectable

SIZES = {"a": 2, "b": 3, "c": 2, "d": 4}
DOMAIN = Domain(attributes=[Categorical(name=n, levels=[f"{n}{i}" for i in range(k)]) for n, k in SIZES.items()])
counts = arrays(np.int64, DOMAIN.shape, elements=st.integers(0, 5))
orders = st.permutations(list(SIZES)).flatmap(lambda names: st.integers(0, 4).map(lambda k: names[:k]))


@given(counts, orders)
def test_projection_against_einsum(values, names):
    expected = np.einsum(values, range(4), [list(SIZES).index(name) for name in names])
    for cells in (Cells(DOMAIN, values), Cells(DOMAIN, values).sparse()):
        got = cells.project(names)
        assert got.attributes == tuple(names)
        assert np.array_equal(got.values, expected)


@given(counts, orders, orders)
def test_projecting_twice_is_projecting_once(values, first, second):
    cells = Cells(DOMAIN, values)
    both = [name for name in second if name in first]
    assert cells.project(first).project(both) == cells.project(both)


@given(counts, counts, orders, st.sampled_from(["+", "-", "*", "/"]))
@settings(max_examples=60)
def test_operators_are_the_same_dense_and_sparse_and_join_by_name(left, right, names, operator):
    functions = {
        "+": lambda x, y: x + y,
        "-": lambda x, y: x - y,
        "*": lambda x, y: x * y,
        "/": lambda x, y: x / y,
    }
    apply = functions[operator]
    one, other = Cells(DOMAIN, left), Cells(DOMAIN, right).project(names)
    results = [apply(x, y) for x, y in itertools.product((one, one.sparse()), (other, other.sparse()))]
    # an independent computation: one cell at a time
    expected = np.zeros(DOMAIN.shape)
    axes = [list(SIZES).index(name) for name in names]
    for cell in np.ndindex(*DOMAIN.shape):
        y = other.values[tuple(cell[axis] for axis in axes)]
        expected[cell] = 0 if operator == "/" and y == 0 else apply(float(left[cell]), float(y))
    for result in results:
        assert result.attributes == one.attributes
        np.testing.assert_allclose(result.values, expected)


@given(counts)
def test_scalars(values):
    for cells in (Cells(DOMAIN, values), Cells(DOMAIN, values).sparse()):
        assert np.array_equal((cells * 3).values, values * 3)
        assert np.array_equal((3 * cells).values, values * 3)
        assert np.array_equal((cells + 1).values, values + 1)
        assert np.array_equal((10 - cells).values, 10 - values)
        assert np.array_equal((cells - 1).values, values - 1)


@given(counts)
def test_sparse_and_dense_are_equal(values):
    dense = Cells(DOMAIN, values)
    assert dense == dense.sparse() == dense.sparse().dense()
    assert dense.sparse().sum() == dense.sum() == values.sum()
    assert dense != dense + 1


def test_normalize():
    assert Cells(DOMAIN, np.ones(DOMAIN.shape)).normalize().sum() == pytest.approx(1)


def test_sparse_rows_add_up():
    cells = Cells(DOMAIN, [1, 2, 3], [[1, 2, 1, 3], [0, 0, 0, 0], [1, 2, 1, 3]])
    assert cells.values[1, 2, 1, 3] == 4
    assert cells.nonzero()[0].tolist() == [[0, 0, 0, 0], [1, 2, 1, 3]]


def test_tables_too_wide_for_any_array():
    wide = Domain(
        attributes=[Categorical(name=f"x{i}", levels=[str(j) for j in range(50)], other=True) for i in range(20)]
    )
    assert wide.size > 2**100
    rows = np.random.default_rng(0).integers(0, 50, (100, 20))
    cells = Cells(wide, np.ones(200, np.int64), np.concatenate([rows, rows]))
    assert cells.sum() == 200
    assert len(cells.nonzero()[0]) == 100
    assert np.array_equal(cells.project(["x3"]).values, 2 * np.bincount(rows[:, 3], minlength=51))
    with pytest.raises(InvalidInput, match="stay sparse"):
        cells.dense()


@pytest.mark.parametrize("codes", [None, [[0, 1], [1, 0]]])
def test_cells_reach_another_process(codes):
    domain = Domain(attributes=[Boolean(name="a"), Boolean(name="b")])
    cells = Cells(domain, [[1.0, 2.0], [3.0, 4.0]] if codes is None else [2.0, 3.0], codes)
    again = pickle.loads(pickle.dumps(cells))
    assert again.domain == domain
    np.testing.assert_array_equal(again.values, cells.values)


def test_frozen():
    cells = Cells(DOMAIN, np.zeros(DOMAIN.shape))
    with pytest.raises(AttributeError):
        cells.domain = DOMAIN
    with pytest.raises(ValueError):
        cells.values[0, 0, 0, 0] = 1


def test_own_copy():
    source = np.zeros(DOMAIN.shape)
    cells = Cells(DOMAIN, source)
    source[0, 0, 0, 0] = 1
    assert cells.sum() == 0


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Cells(DOMAIN, np.zeros(3)), "shape"),
        (lambda: Cells(DOMAIN, [1], [[0, 0]]), "codes"),
        (lambda: Cells(DOMAIN, [1], [[0, 3, 0, 0]]), "inside the domain"),
        (lambda: Cells(DOMAIN, [1], [[0, -1, 0, 0]]), "inside the domain"),
        (lambda: Cells(Domain(attributes=[Identifier(name="i")]), np.zeros(0)), "identifier"),
    ],
)
def test_bad_cells(make, says):
    with pytest.raises(InvalidInput, match=says):
        make()


def test_projectable():
    assert isinstance(Cells(DOMAIN, np.zeros(DOMAIN.shape)), Projectable)

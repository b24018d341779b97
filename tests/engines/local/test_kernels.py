from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacita.domain import Categorical, Domain, Numeric
from tacita.engines.local import counter as counter_module
from tacita.engines.local import kernels
from tacita.engines.local.counter import Counter
from tacita.engines.local.layout import Layout
from tacita.errors import InternalError


def make_layout(*sizes: int) -> Layout:
    attributes = [Numeric(name=f"a{i}", bounds=(0, size), bins=size) for i, size in enumerate(sizes)]
    domain = Domain(attributes=attributes)
    return Layout(domain, domain.names)


def random_block(layout: Layout, rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Codes with some outside the domain, as a matrix and as a block."""
    rng = np.random.default_rng(seed)
    codes = {name: rng.integers(0, layout.domain[name].size + 1, rows) for name in layout.names}
    return np.array(list(codes.values())), layout.split(codes, rows)


def plain(layout: Layout, codes: np.ndarray, key: tuple[str, ...]) -> np.ndarray:
    axes = [layout.names.index(name) for name in key]
    shape = [layout.domain[name].size for name in key]
    chosen = codes[axes]
    inside = (chosen < np.array(shape)[:, None]).all(axis=0)
    cells = np.ravel_multi_index(tuple(chosen[:, inside]), shape)
    return np.bincount(cells, minlength=math.prod(shape)).reshape(shape)


def test_planes_hold_codes_of_any_width() -> None:
    layout = make_layout(3, 255, 256, 65_535, 65_536, 70_000)
    assert layout.widths == (1, 1, 2, 2, 4, 4)
    codes, block = random_block(layout, 1000)
    for i, name in enumerate(layout.names):
        assert np.array_equal(layout.codes(block, name), codes[i])


@pytest.mark.parametrize("rows", [0, 1, 7, 8192, 8193, 65_535, 65_536, 200_001])
def test_blocks_of_any_length(rows: int) -> None:
    layout = make_layout(5, 7)
    codes, block = random_block(layout, rows)
    counter = Counter(layout, [("a1", "a0"), ("a0",)], frozenset(layout.names), rows)
    counter.add(block)
    tables = counter.tables()
    for key, table in tables.items():
        assert np.array_equal(table.values, plain(layout, codes, key))


def test_one_value_only_fills_a_counter_to_the_brim() -> None:
    layout = make_layout(2)
    counter = Counter(layout, [("a0",)], frozenset(), 3 * 65_535)
    counter.add(layout.split({"a0": np.zeros(3 * 65_535, np.int64)}, 3 * 65_535))
    assert counter.tables()["a0",].values.tolist() == [3 * 65_535, 0]


def test_more_than_16_bits_of_cells() -> None:
    layout = make_layout(300, 300)
    codes, block = random_block(layout, 50_000)
    counter = Counter(layout, [layout.names], frozenset(layout.names), 50_000)
    counter.add(block)
    assert np.array_equal(counter.tables()[layout.names].values, plain(layout, codes, layout.names))


def test_totals_move_to_64_bits_before_they_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counter_module, "_FULL", 250)
    layout = make_layout(3, 4)
    counter = Counter(layout, [layout.names, ("a1",)], frozenset(layout.names), None)
    everything = []
    for seed in range(5):
        codes, block = random_block(layout, 100, seed)
        counter.add(block)
        everything.append(codes)
    assert counter._parts[0].spilled is not None
    for key, table in counter.tables().items():
        assert np.array_equal(table.values, plain(layout, np.hstack(everything), key))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_tables_are_what_numpy_counts(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 300), min_size=1, max_size=5))
    layout = make_layout(*sizes)
    keys = data.draw(st.lists(st.sets(st.sampled_from(layout.names), max_size=3), min_size=1, unique_by=frozenset))
    ordered = [tuple(data.draw(st.permutations(sorted(key)))) for key in keys]
    rows, guess = data.draw(st.sampled_from([0, 1, 50, 70_000])), data.draw(st.sampled_from([None, 1, 10**6]))
    threads = data.draw(st.integers(1, 3))
    codes, block = random_block(layout, rows)
    counter = Counter(layout, ordered, frozenset(layout.names), guess, threads)
    counter.add(block)
    for key, table in counter.tables().items():
        assert table.attributes == key
        if table.domain.size < 1 << 22:
            wanted = plain(layout, codes, key) if key else np.array(rows)
            assert np.array_equal(table.values, wanted)


@pytest.mark.parametrize("ways", [2, 5, 12, 40])
def test_sparse_tables_of_any_width(ways: int) -> None:
    layout = make_layout(*[5000] * ways)
    codes, block = random_block(layout, 20_000)
    block = np.hstack([block, block[:, :100]])
    counter = Counter(layout, [layout.names], frozenset(layout.names), None)
    counter.add(block)
    table = counter.tables()[layout.names]
    assert table.is_sparse
    everything = np.hstack([codes, codes[:, :100]])
    inside = (everything < 5000).all(axis=0)
    rows, counts = np.unique(everything[:, inside].T, axis=0, return_counts=True)
    found, found_counts = table.nonzero()
    assert np.array_equal(found, rows)
    assert np.array_equal(found_counts, counts)


def test_a_hash_table_grows_and_loses_nothing() -> None:
    words = np.arange(10_000, dtype=np.uint64).reshape(-1, 1) * np.uint64(1 << 40)
    keys, slots = np.zeros((16, 1), np.uint64), np.zeros(16, np.int64)
    row, filled = kernels.insert(words, np.ones(10_000, np.int64), 0, keys, slots, 0)
    assert (row, filled) == (8, 8)
    assert slots.sum() == 8


def test_few_rows_make_large_tables_sparse() -> None:
    assert counter_module.is_dense(1 << 16, 1)
    assert not counter_module.is_dense(1 << 20, 1000)
    assert counter_module.is_dense(1 << 20, None)
    assert not counter_module.is_dense(1 << 23, 10**9)


def test_labels_do_not_matter_to_layout() -> None:
    domain = Domain(attributes=[Categorical(name="x", levels=["a"])])
    assert Layout(domain, ("x",)).width == 1


@pytest.mark.parametrize("code", [-1, 6, 255, 256, 1 << 16])
def test_a_code_outside_the_domain_meets_no_kernel(code: int) -> None:
    layout = make_layout(5, 300)
    codes = {"a0": np.array([0, code]), "a1": np.array([0, 0])}
    with pytest.raises(InternalError, match="a0: a code lies outside"):
        layout.split(codes, 2)


def test_a_code_beyond_what_the_counter_expects_meets_no_kernel() -> None:
    layout = make_layout(5, 300)
    block = layout.split({"a0": np.array([0, 5]), "a1": np.array([300, 0])}, 2)
    Counter(layout, [("a0", "a1")], frozenset(layout.names), 2).add(block)
    for outside, name in (({"a0"}, "a1"), ({"a1"}, "a0")):
        with pytest.raises(InternalError, match=f"{name}: a code lies outside"):
            Counter(layout, [("a0", "a1")], frozenset(outside), 2).add(block)

"""Samples are uniform, of an exact size, and the same set of rows counts whatever the parts."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chisquare
from tests.support.parts import PartsEngine

from tacita.assess.sample import TakeSample, sample_rows, sample_table, sentence_of
from tacita.domain import Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput

DOMAIN = Domain(attributes=[Numeric(name="x", bounds=(0, 1000), bins=2)])


def test_every_pair_of_rows_is_equally_likely() -> None:
    """Also over parts of very different sizes."""
    rows = pa.table({"x": range(6)})
    cuts, times = (1, 2, 6), 3000
    found: Counter[tuple[int, ...]] = Counter()
    for seed in range(times):
        parts, start = [], 0
        for part, end in enumerate(cuts):
            parts.append(TakeSample(2, seed).at(part)(rows.slice(start, end - start).to_batches()))
            start = end
        sample = parts[0] + (parts[1] + parts[2])
        assert sample.rows is not None
        found[tuple(sorted(sample.rows["x"].to_pylist()))] += 1
    counts = [found[pair] for pair in combinations(range(6), 2)]
    assert sum(counts) == times
    assert chisquare(counts).pvalue > 1e-6


@pytest.mark.parametrize("make", [LocalEngine, PartsEngine])
def test_engines_give_samples_of_the_exact_size(make: type) -> None:
    engine = make(DOMAIN, pa.table({"x": range(1000)}))
    found = sample_rows(engine, ["x"], 100, 3, "real rows")
    values = found.rows["x"].to_pylist()
    assert (len(values), len(set(values)), found.of, found.is_all) == (100, 100, 1000, False)
    again = sample_rows(engine, ["x"], 100, 3, "real rows").rows["x"].to_pylist()
    other = sample_rows(engine, ["x"], 100, 4, "real rows").rows["x"].to_pylist()
    assert again == values != other
    assert found.as_dict() == {"table": "real rows", "rows": 100, "of": 1000}


def test_few_rows_are_all_there_in_their_order() -> None:
    table = pa.table({"x": np.arange(50)[::-1]})
    for size in (0, 50, 51, 1000):
        assert sample_rows(LocalEngine(DOMAIN, table), ["x"], size, 0, "rows").rows == table
        assert sample_table(table, size, 0, "rows").rows == table
    nothing = sample_rows(LocalEngine(DOMAIN, table.slice(0, 0)), ["x"], 5, 0, "rows")
    assert (nothing.rows.num_rows, nothing.of, nothing.is_all) == (0, 0, True)
    with pytest.raises(InvalidInput, match="sample: must be"):
        sample_rows(LocalEngine(DOMAIN, table), ["x"], -1, 0, "rows")


def test_memory_grows_with_the_sample_and_not_with_the_rows() -> None:
    held = []
    task = TakeSample(10, 0)
    for part in task._few(pa.record_batch({"x": range(5)}) for _ in range(100)):
        held.append(part.num_rows)
    assert max(held) <= 15
    assert sum(held) == 500


def test_the_result_says_what_was_sampled() -> None:
    table = pa.table({"x": range(1000)})
    some, whole = sample_table(table, 100, 0, "real rows"), sample_table(table, 0, 0, "rows held back")
    assert sentence_of([whole]) == ""
    said = sentence_of([some, whole])
    assert "real rows: 100 of 1,000 rows" in said
    assert "held back" not in said

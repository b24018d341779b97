"""Contents of cells: against loops over rows."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from tacita.anonymize.cells.contents import contents_of, read_contents
from tacita.anonymize.cells.relations import relations_of
from tacita.domain import Categorical, Domain, Identifier, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import DataError

RELATIONS = relations_of([("a", "b"), ("b", "c")], {"a": 2, "b": 3, "c": 2})


def _rows(many: int, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, size, many) for size in (2, 3, 2)]


def test_persons_and_weights_against_loops() -> None:
    rng = np.random.default_rng(1)
    codes = _rows(60)
    amounts, persons = rng.integers(0, 20, 60).astype(float), rng.integers(-1, 12, 60)
    weights = np.array([1.5, 2.0, 3.0, 1.0])[persons % 4]
    found = contents_of(RELATIONS, codes, amounts=amounts, weights=weights, persons=persons)
    for cell, wanted in enumerate(RELATIONS.codes):
        inside = [row for row in range(60) if all(want < 0 or codes[at][row] == want for at, want in enumerate(wanted))]
        assert found.values[cell] == pytest.approx(sum(amounts[row] * weights[row] for row in inside))
        assert found.rows[cell] == len(inside)
        parts: dict[int, float] = defaultdict(float)
        for row in inside:
            if persons[row] >= 0:
                parts[persons[row]] += amounts[row]
        assert found.contributors[cell] == len(parts)
        for n in (1, 2, 4):
            left, total = float(n), 0.0
            for who, amount in sorted(parts.items(), key=lambda each: -each[1]):
                taken = min(left, [1.5, 2.0, 3.0, 1.0][who % 4])
                total, left = total + taken * amount, left - taken
            assert found.largest(n)[cell] == pytest.approx(total)


def test_a_weight_is_a_number_of_equal_contributors() -> None:
    """Weights 1, 2, 3 are the same as rows that are there once, twice, three times."""
    rng = np.random.default_rng(2)
    codes, amounts = _rows(40), rng.exponential(size=40)
    weights = rng.integers(1, 4, 40)
    one = contents_of(RELATIONS, codes, amounts=amounts, weights=weights.astype(float))
    many = contents_of(RELATIONS, [np.repeat(each, weights) for each in codes], amounts=np.repeat(amounts, weights))
    np.testing.assert_allclose(one.values, many.values)
    for n in (1, 2, 3, 5):
        np.testing.assert_allclose(one.largest(n), many.largest(n))


DOMAIN = Domain(
    attributes=(
        Categorical(name="a", levels=("x", "y")),
        Categorical(name="b", levels=("u", "v")),
        Numeric(name="money", bounds=(-10, 100), bins=2),
        Identifier(name="who"),
    ),
    person="who",
)


def _read(**changed: list[object]) -> object:
    known = {"a": ["x", "x", "y", "?"], "b": ["u", "v", "u", "u"], "money": [1, 2, 3, 4], "who": ["p", "p", None, "q"]}
    table = pa.table(known | changed)
    relations = relations_of([("a", "b")], {"a": 2, "b": 2})
    return read_contents(LocalEngine(DOMAIN, table), DOMAIN, relations, total="money")


def test_rows_out_of_the_domain_and_without_a_person() -> None:
    found = _read()
    assert found.left_out == 0.25
    assert (found.values[0], found.rows[0], found.contributors[0]) == (6, 3, 1)
    assert _read(money=[1, None, 3, 4]).left_out == 0.5
    assert found.typical == 6


def test_negative_values_are_refused_without_naming_them() -> None:
    with pytest.raises(DataError, match="negative") as caught:
        _read(money=[1, -7, 3, 4])
    assert "7" not in str(caught.value)


def test_sums_do_not_depend_on_the_order_of_rows() -> None:
    """The breach: rounding of a sum in the order of rows leaves digits that depend on every row of it."""
    rng = np.random.default_rng(8)
    relations = relations_of([("a",)], {"a": 3})
    amounts, codes = np.round(rng.lognormal(10, 2, 5000), 2), rng.integers(0, 3, 5000)
    for weights in (None, np.round(rng.uniform(1, 9, 5000), 1)):
        seen = set()
        for _ in range(5):
            order = rng.permutation(5000)
            mixed = None if weights is None else weights[order]
            found = contents_of(relations, [codes[order]], amounts=amounts[order], weights=mixed)
            seen.add(tuple(found.values.tolist()))
        assert len(seen) == 1
        if weights is None:
            exact = sum(Fraction(str(each)) for each in amounts.tolist())
            assert found.values[0] == float(exact)


def test_sums_that_are_not_finite_are_refused() -> None:
    relations = relations_of([("a",)], {"a": 1})
    with pytest.raises(DataError, match="finite"):
        contents_of(relations, [np.zeros(3, np.int64)], amounts=np.full(3, 1e308))


def test_no_rows() -> None:
    empty = {name: pa.array([], pa.string()) for name in ("a", "b", "money", "who")}
    relations = relations_of([("a", "b")], {"a": 2, "b": 2})
    found = read_contents(LocalEngine(DOMAIN, pa.table(empty)), DOMAIN, relations, total="money")
    assert not found.values.any()
    assert found.empty.all()
    assert not found.largest(1).any()

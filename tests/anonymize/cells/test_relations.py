"""Cells and relations of tables that are published together."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from tests.anonymize.cells.cases import cells_of

from tacita.anonymize.cells.relations import Relations, relations_of
from tacita.errors import InvalidInput


@pytest.mark.parametrize("shape", [(3,), (2, 4), (2, 3, 2), (2, 2, 2, 3)])
def test_exactly_the_additive_tables_fulfil_them(shape: tuple[int, ...]) -> None:
    """Every table does, and the solutions have as many dimensions as there are inner cells."""
    relations, values = cells_of(np.random.default_rng(0).integers(0, 9, shape))
    assert len(relations) == np.prod(np.array(shape) + 1)
    assert not (relations.matrix @ values).any()
    assert len(relations) - np.linalg.matrix_rank(relations.matrix.toarray()) == np.prod(shape)
    relations.check(values)
    values[0] += 1
    with pytest.raises(InvalidInput, match="add up"):
        relations.check(values)


def test_linked_tables_share_their_margins() -> None:
    one = relations_of([("a", "b"), ("c", "a")], {"a": 2, "b": 3, "c": 2})
    assert len(one) == 3 * 4 + 3 * 3 - 3  # the margin of a, and the total, once
    assert one.tables == (("a", "b"), ("a", "c"))
    assert not one.unimodular
    assert relations_of([("a", "b")], {"a": 2, "b": 3}).unimodular
    assert not relations_of([("a", "b", "c")], {"a": 2, "b": 3, "c": 2}).unimodular


def test_any_relations_can_be_given() -> None:
    """A hierarchy, say: cell 0 is 1 + 2, and 1 is 3 + 4."""
    matrix = sparse.csr_array(np.array([[-1, 1, 1, 0, 0], [0, -1, 0, 1, 1]]))
    relations = Relations.of_matrix(matrix)
    relations.check(np.array([9.0, 5.0, 4.0, 2.0, 3.0]))
    assert len(relations) == 5
    assert not relations.unimodular


@pytest.mark.parametrize("tables", [[], [()], [("a", "a")], [("a", "b", "c", "d", "e")]])
def test_other_tables_are_refused(tables: list[tuple[str, ...]]) -> None:
    with pytest.raises(InvalidInput):
        relations_of(tables, dict.fromkeys("abcde", 2))
    with pytest.raises(InvalidInput, match="cells"):
        relations_of([("a", "b", "c", "d")], dict.fromkeys("abcd", 100))

"""Local suppression, counted again by brute force."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest

from tacita.anonymize.masking.columns import Columns
from tacita.anonymize.masking.suppression import SuppressLocally, agreeing, suppress_category, suppress_wildcard
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.noise import SeededSource

SOURCE = SeededSource(1)


def table_of(seed: int, missing: float = 0.1) -> tuple[np.ndarray, int]:
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(8, 60)), int(rng.integers(1, 5)), int(rng.integers(2, 7))
    codes = rng.integers(0, int(rng.integers(1, 6)), (n, d))
    return np.where(rng.random((n, d)) < missing, -1, codes).astype(np.int64), min(k, n)


def agree(one: list[int], other: list[int]) -> bool:
    return all(a == b or -1 in (a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("seed", range(60))
def test_every_class_has_k_rows(seed: int) -> None:
    codes, k = table_of(seed)
    cells = suppress_category(codes, k)
    assert not (cells & (codes == -1)).any()
    released = np.where(cells, -1, codes)
    assert min(Counter(map(tuple, released.tolist())).values()) >= k
    # the stricter rule implies the other
    assert min(sum(agree(row, other) for other in released.tolist()) for row in released.tolist()) >= k


@pytest.mark.parametrize("seed", range(60))
def test_every_row_agrees_with_k_rows(seed: int) -> None:
    codes, k = table_of(seed)
    cells = suppress_wildcard(codes, k)
    released = np.where(cells, -1, codes)
    counts = [sum(agree(row, other) for other in released.tolist()) for row in released.tolist()]
    assert min(counts) >= k
    assert agreeing(released, released).tolist() == counts
    assert cells.sum() <= suppress_category(codes, k).sum()


@pytest.mark.parametrize("seed", range(40))
def test_classes_count_persons(seed: int) -> None:
    codes, k = table_of(seed)
    persons = np.random.default_rng(seed + 1).integers(-1, len(codes) // 2, len(codes))
    k = min(k, len(set(persons.tolist()) - {-1}))
    released = np.where(suppress_category(codes, k, persons), -1, codes)
    people = defaultdict(set)
    for row, person in zip(released.tolist(), persons.tolist(), strict=True):
        people[tuple(row)] |= {person} - {-1}
    assert min(map(len, people.values())) >= k


def test_nothing_is_suppressed_where_nothing_must_be() -> None:
    codes = np.repeat([[0, 1], [1, 1], [-1, 0]], 3, axis=0)
    assert not suppress_category(codes, 3).any()
    assert not suppress_wildcard(codes, 3).any()


def test_the_least_important_key_goes_first() -> None:
    """Rows could be paired without the first key or without the last, which is the least important."""
    codes = np.array([[0, 0]] * 3 + [[1, 5], [1, 6], [2, 5], [2, 6]])
    assert suppress_category(codes, 2).sum(axis=0).tolist() == [0, 4]
    lonely = np.array([[0, 0, 5]] * 3 + [[0, 0, 6]] * 2 + [[0, 0, 7]])
    assert suppress_category(lonely, 3).sum(axis=0).tolist() == [0, 0, 3]


def test_which_cells_does_not_depend_on_the_order_of_rows() -> None:
    codes, k = table_of(3)
    order = np.random.default_rng(1).permutation(len(codes))
    one = np.where(suppress_category(codes, k), -1, codes)
    other = np.where(suppress_category(codes[order], k), -1, codes[order])
    assert Counter(map(tuple, one.tolist())) == Counter(map(tuple, other.tolist()))


@pytest.mark.parametrize("missing", ["category", "wildcard"])
def test_columns_of_all_kinds(domain: Domain, columns: Columns, missing: str) -> None:
    step = SuppressLocally(attributes=("age", "sex", "born"), k=4, missing=missing).resolve(domain)
    made = step.apply(columns, SOURCE)
    before = [columns[name].missing.sum() for name in step.attributes]
    after = [made.columns[name].missing.sum() for name in step.attributes]
    assert [a - b for a, b in zip(after, before, strict=True)] == list(made.figures["suppressed"].values())
    rows = list(zip(*(made.columns[name].to_arrow().to_pylist() for name in step.attributes), strict=True))
    if missing == "category":
        assert min(Counter(rows).values()) >= 4
    else:
        marked = [[-1 if value is None else hash(value) for value in row] for row in rows]
        assert min(sum(agree(row, other) for other in marked) for row in marked) >= 4


def test_keys_come_from_the_schema_and_are_checked(domain: Domain) -> None:
    assert SuppressLocally(k=3).resolve(domain).attributes == ("age", "sex", "job")
    with pytest.raises(InvalidInput, match="identifier"):
        SuppressLocally(attributes=("who",), k=3).resolve(domain)
    bare = Domain.from_dict({"tacita": 1, "attributes": [{"name": "x", "kind": "boolean"}]})
    with pytest.raises(InvalidInput, match="no quasi-identifiers"):
        SuppressLocally(k=3).resolve(bare)
    many = [{"name": f"x{i}", "kind": "boolean", "role": "quasi-identifier"} for i in range(13)]
    with pytest.raises(InvalidInput, match="at most 12"):
        SuppressLocally(k=3).resolve(Domain.from_dict({"tacita": 1, "attributes": many}))
    person = Domain.from_dict(domain.as_dict() | {"person": "who"})
    with pytest.raises(InvalidInput, match="counted in rows"):
        SuppressLocally(k=3, missing="wildcard").resolve(person)


def test_fewer_people_than_k_are_refused(columns: Columns) -> None:
    with pytest.raises(InvalidInput, match="fewer people"):
        SuppressLocally(attributes=("age",), k=301).apply(columns, SOURCE)
    assert SuppressLocally(attributes=("age",), k=300).apply(columns, SOURCE).figures["cells"] == 300


@pytest.mark.parametrize("wrong", [{"k": 1}, {"k": 3, "missing": "ignore"}])
def test_parameters_are_checked(wrong: dict) -> None:
    with pytest.raises(InvalidInput):
        SuppressLocally(attributes=("x",), **wrong)

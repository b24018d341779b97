"""Sets of items over an engine: the condition is counted again from the released rows, by brute force."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest

from tacita.anonymize import AnonymizeSets, Hierarchy
from tacita.domain import Categorical, Domain, Identifier
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput

ITEMS = ["bread", "milk", "tea", "coffee", "salt", "soap"]
DOMAIN = Domain(attributes=[Identifier(name="person"), Categorical(name="item", levels=tuple(ITEMS))], person="person")


def bought(seed: int, people: int = 60) -> pa.Table:
    rng = np.random.default_rng(seed)
    rows = [
        (f"p{person}", item)
        for person in range(people)
        for item, chance in zip(ITEMS, (0.8, 0.6, 0.4, 0.3, 0.1, 0.03), strict=True)
        if rng.random() < chance
    ]
    rows += [(None, "bread"), ("p1", "a secret thing"), ("p1", "bread")]
    return pa.table({"person": [who for who, _ in rows], "item": [item for _, item in rows]})


def sets_of(rows: pa.Table) -> list[set[str]]:
    found: dict[int, set[str]] = defaultdict(set)
    for number, item in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        found[number].add(item)
    return list(found.values())


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("k", "m"), [(5, 1), (5, 2), (8, 3)])
def test_every_combination_is_shared_by_k_people(seed: int, k: int, m: int) -> None:
    result = AnonymizeSets(item="item", k=k, m=m).prepare(DOMAIN).run(LocalEngine(DOMAIN, bought(seed)))
    sets = sets_of(result.rows)
    counts = [
        sum(set(combination) <= one for one in sets)
        for size in range(1, m + 1)
        for combination in {c for one in sets for c in itertools.combinations(sorted(one), size)}
    ]
    assert counts
    assert min(counts) >= k
    assert result.as_dict()["support"] == min(counts)


def test_a_hierarchy_keeps_more_and_undeclared_items_are_left_out() -> None:
    tree = Hierarchy.from_rows(
        "item", [[item, "drink" if item in ("milk", "tea", "coffee") else "other things", "any"] for item in ITEMS]
    )
    table = bought(1)
    result = AnonymizeSets(item="item", k=10, m=2, hierarchy=tree).prepare(DOMAIN).run(LocalEngine(DOMAIN, table))
    texts = set(result.rows.column("item").to_pylist())
    assert texts <= {*ITEMS, "drink", "other things", "any"}
    assert result.undeclared == pytest.approx(2 / table.num_rows)
    assert result.guarantee == "none"
    assert result.made.suppressed == 0


def test_the_order_of_the_data_changes_nothing() -> None:
    table = bought(2)
    backwards = table.take(pa.array(range(table.num_rows - 1, -1, -1)))
    plan = AnonymizeSets(item="item", k=5).prepare(DOMAIN)
    first, second = (plan.run(LocalEngine(DOMAIN, rows)) for rows in (table, backwards))
    assert first.rows.equals(second.rows)


def test_wrong_columns_are_refused() -> None:
    with pytest.raises(InvalidInput, match="identifier"):
        AnonymizeSets(item="person", k=5).prepare(DOMAIN)
    alone = Domain(attributes=[Categorical(name="item", levels=("a", "b"))])
    with pytest.raises(InvalidInput, match="person"):
        AnonymizeSets(item="item", k=5).prepare(alone)
    with pytest.raises(InvalidInput):
        AnonymizeSets(item="item", k=0)
    other = DOMAIN.project(["item"])
    with pytest.raises(InvalidInput, match="engine"):
        AnonymizeSets(item="item", k=5).prepare(DOMAIN).run(LocalEngine(other, pa.table({"item": ["tea"]})))

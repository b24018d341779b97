"""Previews against brute force over single rows."""

import math
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest

from tacita.anonymize.hierarchies.hierarchy import Hierarchy
from tacita.anonymize.hierarchies.preview import preview_hierarchy, preview_rows
from tacita.anonymize.hierarchies.rules import Intervals
from tacita.domain import Categorical, Domain, Identifier, Numeric
from tacita.errors import InvalidInput

LEAVES = [f"z{n:02d}" for n in range(24)]


def tree(rng):
    groups = {leaf: f"g{rng.integers(6)}" for leaf in LEAVES}
    regions = {f"g{n}": f"r{rng.integers(2)}" for n in range(6)}
    return Hierarchy.from_rows("zip", [[leaf, groups[leaf], regions[groups[leaf]], "*"] for leaf in LEAVES])


def entropy(counts):
    every = sum(counts)
    return -sum(n / every * math.log(n / every) for n in counts if n)


def slow(made, values, people, k):
    """One row at a time."""
    path = {p[-1]: p[::-1] for p in made.paths}
    found = []
    for level in range(made.levels):
        below = Counter(p[level] for p in path.values())
        labels = [path[value][level] for value in values]
        loss = sum((below[label] - 1) / (len(path) - 1) for label in labels) / len(values)
        whole = entropy(Counter(values).values())
        persons = defaultdict(set)
        for label, person in zip(labels, people, strict=True):
            persons[label].add(person)
        small = sum(len(persons[label]) < k for label in labels) / len(labels)
        found.append(
            (
                len(below),
                loss,
                1 - entropy(Counter(labels).values()) / whole,
                len(persons),
                min(map(len, persons.values())),
                small,
            )
        )
    return found


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("with_person", [False, True])
def test_against_brute_force(seed, with_person):
    rng = np.random.default_rng(seed)
    made = tree(rng)
    values = [LEAVES[int(n)] for n in rng.integers(0, 20, 150) * rng.integers(0, 2, 150)]
    people = [f"p{n}" for n in (rng.integers(0, 40, 150) if with_person else range(150))]
    attributes = [Categorical(name="zip", levels=LEAVES)] + [Identifier(name="who")] * with_person
    domain = Domain(attributes=attributes, person="who" if with_person else None)
    table = pa.table({"zip": values} | ({"who": people} if with_person else {}))
    found = preview_rows(domain, table, "zip", made, k=7)
    for each, expected in zip(found, slow(made, values, people, 7), strict=True):
        got = (each.labels, each.loss, each.entropy, each.occurring, each.smallest, each.below)
        assert got == pytest.approx(expected)
    assert (found.rows, found.k) == (150, 7)
    assert found.facts()["guarantee"].startswith("none")


def test_without_rows_leaves_count_alike_and_it_is_public():
    made = tree(np.random.default_rng(1))
    found = preview_hierarchy(made)
    for each, expected in zip(found, slow(made, list(made.leaves), list(made.leaves), 1), strict=True):
        assert (each.labels, each.loss, each.entropy) == pytest.approx(expected[:3])
        assert each.smallest is None
    assert found.facts()["guarantee"].startswith("public")
    assert [row["level"] for row in found.to_arrow().to_pylist()] == [0, 1, 2, 3]
    assert "smallest" not in found.to_arrow().column_names
    assert found.as_dict()["levels"][-1]["loss"] == 1.0
    assert "<svg" in found.chart()


def test_a_rule_is_previewed_on_the_values_that_occur():
    domain = Domain(attributes=[Numeric(name="x", bounds=(0, 100), bins=5, missing=True)])
    table = pa.table({"x": [0.5, 1.5, 7.25, None]})
    found = preview_rows(domain, table, "x", Intervals(widths=(5.0,)), k=2)
    assert [(each.labels, each.occurring, each.smallest) for each in found] == [(4, 4, 1), (3, 3, 1), (1, 1, 4)]
    with pytest.raises(InvalidInput, match="k"):
        preview_rows(domain, table, "x", Intervals(widths=(5.0,)), k=0)


def test_a_value_without_a_leaf_is_refused_and_not_shown():
    domain = Domain(attributes=[Categorical(name="zip", levels=["a", "b"])])
    with pytest.raises(InvalidInput, match="does not cover 1") as caught:
        preview_rows(domain, pa.table({"zip": ["a", "b"]}), "zip", Hierarchy.from_rows("zip", [["a", "*"]]))
    assert "'b'" not in str(caught.value)

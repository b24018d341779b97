"""Small random tables with hierarchies, and nodes of their lattice judged from nothing but rows."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from functools import cache

import numpy as np
import pyarrow as pa

from tacita.anonymize import Conditions, Hierarchy, Intervals, read_distinct_rows
from tacita.anonymize.methods.lattice import Lattice
from tacita.domain import Categorical, Domain, Identifier, Numeric

COLOURS = ["red", "rose", "green", "blue", "grey"]
PETS = ["cat", "dog", "eel"]
ILLS = ["flu", "cold", "cough"]
ATTRIBUTES = [
    Identifier(name="who"),
    Numeric(name="age", bounds=(0, 99), integer=True, role="quasi-identifier"),
    Categorical(name="colour", levels=COLOURS, role="quasi-identifier"),
    Categorical(name="pet", levels=PETS, role="quasi-identifier"),
    Categorical(name="ill", levels=ILLS, role="sensitive"),
]
ROWS = Domain(attributes=ATTRIBUTES)
PEOPLE = Domain(attributes=ATTRIBUTES, person="who")
QUASI = ("age", "colour", "pet")
TREES = {
    "age": Intervals(widths=(5, 20), bounds=(0, 59)),
    "colour": Hierarchy.from_tree("colour", {"*": {"warm": ["red", "rose"], "cool": ["green", "blue"], "g": ["grey"]}}),
}
CHAINS = {
    "age": lambda age: [
        str(age),
        f"{age // 5 * 5}..{age // 5 * 5 + 4}",
        f"{age // 20 * 20}..{age // 20 * 20 + 19}",
        "*",
    ],
    "colour": lambda c: [c, {"red": "warm", "rose": "warm", "grey": "g"}.get(c, "cool"), "*"],
    "pet": lambda pet: [pet, "*"],
}


def some_table(rng, rows, people=8):
    return pa.table(
        {
            "who": [f"p{i}" for i in rng.integers(0, people, rows)],
            "age": rng.choice([1, 2, 7, 22, 23, 41], rows),
            "colour": rng.choice(COLOURS, rows),
            "pet": rng.choice(PETS, rows, p=[0.6, 0.3, 0.1]),
            "ill": rng.choice(ILLS, rows),
        }
    )


def some_conditions(rng):
    kinds = [
        {},
        {"l": 2},
        {"l": 1.6, "l_kind": "entropy"},
        {"l": 2, "l_kind": "recursive", "c": 1.7},
        {"t": 0.37, "t_distance": "equal"},
        {"alpha": 0.7},
    ]
    return Conditions(k=int(rng.integers(1, 6)), **kinds[rng.integers(len(kinds))])


def slow_holds(rows, whole, asked, people):
    """Whether some rows may be a class, from nothing but the rows."""

    def tally(some):
        pairs = {(row["who"] if people else place, row["ill"]) for place, row in enumerate(some)}
        return Counter(ill for _, ill in pairs)

    persons = len({row["who"] for row in rows}) if people else len(rows)
    counts, every = tally(rows), tally(whole)
    falling, total = sorted(counts.values(), reverse=True), sum(counts.values())
    if persons < asked.k:
        return False
    if asked.l > 1:
        if asked.l_kind == "distinct" and len(counts) < asked.l:
            return False
        entropy = -sum(c / total * math.log(c / total) for c in falling)
        if asked.l_kind == "entropy" and entropy < math.log(asked.l):
            return False
        if asked.l_kind == "recursive" and falling[0] >= asked.c * sum(falling[int(asked.l) - 1 :]):
            return False
    if asked.t is not None:
        apart = sum(abs(counts[ill] / total - every[ill] / sum(every.values())) for ill in ILLS) / 2
        if apart > asked.t:
            return False
    return asked.alpha is None or falling[0] <= asked.alpha * total


def slow_node(table, node, asked, people):
    """Rows that a node suppresses, and the sizes of its classes."""
    rows = table.to_pylist()
    groups = defaultdict(list)
    for row in rows:
        groups[tuple(CHAINS[name](row[name])[level] for name, level in zip(QUASI, node, strict=True))].append(row)
    good = {labels: part for labels, part in groups.items() if slow_holds(part, rows, asked, people)}
    return len(rows) - sum(len(part) for part in good.values()), good


def leaves_below(name, label, table):
    """How many leaves a label stands for, and how many there are, by asking every leaf."""
    leaves = {"age": range(60), "colour": COLOURS, "pet": sorted(set(table["pet"].to_pylist()))}[name]
    return sum(label in CHAINS[name](leaf) for leaf in leaves), len(leaves)


def slow_gcp(table, node, asked, people):
    suppressed, good = slow_node(table, node, asked, people)
    total = 0.0
    for labels, part in good.items():
        for name, label in zip(QUASI, labels, strict=True):
            below, every = leaves_below(name, label, table)
            total += len(part) * (below - 1) / max(every - 1, 1)
    return (total + suppressed * len(QUASI)) / (table.num_rows * len(QUASI))


def slow_dm(table, node, asked, people):
    suppressed, good = slow_node(table, node, asked, people)
    return sum(len(part) ** 2 for part in good.values()) + suppressed * table.num_rows


def cases(count, seed):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        table = some_table(rng, int(rng.integers(6, 30)))
        people, asked = bool(rng.integers(2)), some_conditions(rng)
        budget = int(rng.integers(0, 1 + table.num_rows // 4)) if rng.integers(2) else 0
        distinct = read_distinct_rows(PEOPLE if people else ROWS, table, QUASI, sensitive=("ill",), hierarchies=TREES)
        yield table, people, asked, budget, distinct


@cache
def searched_cases(count, seed):
    """The same cases with the nodes that hold, by counting every node from the rows."""
    found = []
    for table, people, asked, budget, distinct in cases(count, seed):
        nodes = list(Lattice.of(distinct, asked).nodes())
        gone = {node: slow_node(table, node, asked, people)[0] for node in nodes}
        holding = [node for node in nodes if gone[node] <= budget]
        found.append((table, people, asked, budget, distinct, nodes, holding))
    return found

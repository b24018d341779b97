"""Small tables, and their cuts and losses by definition."""

from __future__ import annotations

from collections import defaultdict

import pyarrow as pa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tacita.anonymize import Hierarchy, read_distinct_rows
from tacita.anonymize.kernels.cuts import Choice
from tacita.anonymize.methods.judge import people_of
from tacita.anonymize.methods.mondrian import shape_of
from tacita.domain import Categorical, Domain, Numeric

PETS = ["ant", "bee", "cat", "dog", "eel"]
DOMAIN = Domain(
    attributes=[
        Numeric(name="x", bounds=(0, 99), integer=True, role="quasi-identifier"),
        Categorical(name="pet", levels=PETS, role="quasi-identifier"),
        Numeric(name="y", bounds=(0, 99), bins=3, role="quasi-identifier"),
    ]
)
TREE = {
    "pet": Hierarchy.from_tree(
        "pet", {"*": {"small": ["ant", "bee"], "large": {"cat": None, "dog": None}, "eel": None}}
    )
}
QUICK = settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
CUTS_ONLY = Choice(False, 0, 1, 1.0)


@st.composite
def tables(draw, least=1, most=40):
    rows = draw(st.integers(least, most))
    column = lambda some: draw(st.lists(some, min_size=rows, max_size=rows))  # noqa: E731
    return pa.table(
        {
            "x": column(st.sampled_from([1, 2, 3, 5, 8, 40])),
            "pet": column(st.sampled_from(PETS)),
            "y": pa.array(column(st.sampled_from([0.5, 1.25, 9.0])), pa.float64()),
        }
    )


def read(table, tree):
    distinct = read_distinct_rows(DOMAIN, table, DOMAIN.names, hierarchies=TREE if tree else {})
    return distinct, shape_of(distinct), people_of(distinct, values=False)


def slow_loss(distinct, items):
    """The loss of a class of these items, by the definition of each kind."""
    total = 0.0
    for j, (axis, tree) in enumerate(zip(distinct.axes, distinct.trees, strict=True)):
        codes = sorted({int(distinct.codes[i, j]) for i in items})
        if len(axis) < 2:
            continue
        if tree is not None:
            levels = [level for level in range(tree.levels) if len({tree.ancestors[c, level] for c in codes}) == 1]
            total += (tree.leaves[tree.ancestors[codes[0], levels[-1]]] - 1) / (tree.leaves.max() - 1)
        elif axis.kind == "set":
            total += (len(codes) - 1) / (len(axis) - 1)
        else:
            total += (axis.keys[codes[-1]] - axis.keys[codes[0]]) / (axis.keys[-1] - axis.keys[0])
    return total


def every_cut(distinct, items):
    """Both sides of every cut: above a value, around a value of a set, below a node of a tree."""
    for j, (axis, tree) in enumerate(zip(distinct.axes, distinct.trees, strict=True)):
        codes = sorted({int(distinct.codes[i, j]) for i in items})
        sides = [set(codes[: n + 1]) for n in range(len(codes) - 1)]
        if tree is not None:
            nodes = {tree.ancestors[c, level] for c in codes for level in range(tree.levels)}
            sides += [{c for c in codes if node in tree.ancestors[c]} for node in nodes]
        elif axis.kind == "set":
            sides += [{code} for code in codes]
        for side in sides:
            inside = [i for i in items if int(distinct.codes[i, j]) in side]
            outside = [i for i in items if int(distinct.codes[i, j]) not in side]
            if inside and outside:
                yield inside, outside


def people(distinct, items):
    return int(distinct.weights[items].sum())


def cost(distinct, groups):
    return sum(people(distinct, items) * slow_loss(distinct, items) for items in groups)


def groups_of(classes):
    groups = defaultdict(list)
    for item, number in enumerate(classes.tolist()):
        groups[number].append(item)
    return list(groups.values())

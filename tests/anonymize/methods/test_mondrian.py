"""The cuts themselves, against every cut there is and against the published algorithm written down again."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacita.anonymize import Anonymize, Conditions, Hierarchy, Mondrian
from tacita.anonymize.kernels.cuts import Choice, partition
from tacita.anonymize.kernels.published import relaxed
from tacita.anonymize.kernels.settle import settle
from tacita.anonymize.loss import gcp
from tacita.anonymize.methods.judge import people_of, rules_of
from tacita.anonymize.methods.mondrian import shape_of
from tacita.anonymize.quasi import read_distinct_rows
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
    crowd = read_distinct_rows(DOMAIN, table, DOMAIN.names, hierarchies=TREE if tree else {})
    return crowd, shape_of(crowd), people_of(crowd, values=False)


def slow_loss(crowd, items):
    """The loss of a class of these items, by the definition of each kind."""
    total = 0.0
    for j, (axis, tree) in enumerate(zip(crowd.axes, crowd.trees, strict=True)):
        codes = sorted({int(crowd.codes[i, j]) for i in items})
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


def every_cut(crowd, items):
    """Both sides of every cut: above a value, around a value of a set, below a node of a tree."""
    for j, (axis, tree) in enumerate(zip(crowd.axes, crowd.trees, strict=True)):
        codes = sorted({int(crowd.codes[i, j]) for i in items})
        sides = [set(codes[: n + 1]) for n in range(len(codes) - 1)]
        if tree is not None:
            nodes = {tree.ancestors[c, level] for c in codes for level in range(tree.levels)}
            sides += [{c for c in codes if node in tree.ancestors[c]} for node in nodes]
        elif axis.kind == "set":
            sides += [{code} for code in codes]
        for side in sides:
            inside = [i for i in items if int(crowd.codes[i, j]) in side]
            outside = [i for i in items if int(crowd.codes[i, j]) not in side]
            if inside and outside:
                yield inside, outside


def people(crowd, items):
    return int(crowd.weights[items].sum())


def cost(crowd, groups):
    return sum(people(crowd, items) * slow_loss(crowd, items) for items in groups)


def groups_of(classes):
    groups = defaultdict(list)
    for item, number in enumerate(classes.tolist()):
        groups[number].append(item)
    return list(groups.values())


@pytest.mark.parametrize("tree", [False, True], ids=["sets", "tree"])
@QUICK
@given(data=st.data(), k=st.integers(1, 6))
def test_no_class_can_be_cut_further(tree, data, k):
    crowd, shape, who = read(data.draw(tables(least=k)), tree)
    rules = rules_of(crowd, Conditions(k=k))
    groups = groups_of(partition(crowd.codes, crowd.weights, shape, who, rules, CUTS_ONLY, 0))
    for items in groups:
        assert people(crowd, items) >= k
        for inside, outside in every_cut(crowd, items):
            assert min(people(crowd, inside), people(crowd, outside)) < k


def test_many_values_of_every_kind():
    """More values than bits are kept for, and groups whose values lie far apart."""
    rng = np.random.default_rng(5)
    words = [f"w{i:04d}" for i in range(1500)]
    domain = Domain(attributes=[Categorical(name="word", levels=words), Numeric(name="x", bounds=(0, 9e9), bins=1)])
    table = pa.table({"word": words, "x": rng.permutation(1500) ** 2})
    tree = Hierarchy.from_rows("word", [[word, word[:4], word[:3], "*"] for word in words])
    for trees in ({}, {"word": tree}):
        crowd = read_distinct_rows(domain, table, domain.names, hierarchies=trees)
        rules = rules_of(crowd, Conditions(k=4))
        shape, who = shape_of(crowd), people_of(crowd, values=False)
        groups = groups_of(partition(crowd.codes, crowd.weights, shape, who, rules, CUTS_ONLY, 0))
        assert {people(crowd, items) for items in groups} <= set(range(4, 8))
        result = Anonymize(conditions=Conditions(k=4), quasi=domain.names, hierarchies=trees).prepare(domain)
        assert result.run_on(table).achieved.k >= 4


@pytest.mark.parametrize("tree", [False, True], ids=["sets", "tree"])
@QUICK
@given(data=st.data(), k=st.integers(2, 6))
def test_a_cut_is_the_one_with_the_least_loss(tree, data, k):
    """Below 3k people there is at most one cut, so the best of all is what must be left."""
    crowd, shape, who = read(data.draw(tables(least=k, most=3 * k - 1)), tree)
    rules = rules_of(crowd, Conditions(k=k))
    found = groups_of(partition(crowd.codes, crowd.weights, shape, who, rules, CUTS_ONLY, 0))
    everyone = list(range(len(crowd.codes)))
    allowed = [cut for cut in every_cut(crowd, everyone) if min(people(crowd, side) for side in cut) >= k]
    assert len(found) == (2 if allowed else 1)
    assert cost(crowd, found) == pytest.approx(
        min((cost(crowd, cut) for cut in allowed), default=cost(crowd, [everyone]))
    )


@pytest.mark.parametrize("tree", [False, True], ids=["sets", "tree"])
@QUICK
@given(data=st.data(), k=st.integers(1, 6))
def test_gathering_and_settling_keep_k_and_settling_loses_less(tree, data, k):
    crowd, shape, who = read(data.draw(tables(least=k)), tree)
    rules = rules_of(crowd, Conditions(k=k))
    classes = partition(crowd.codes, crowd.weights, shape, who, rules, Choice(False, 64, 8, 1.2), 0)
    before = groups_of(classes)
    settle(crowd.codes, crowd.weights, classes, int(classes.max()) + 1, k, shape, 10, 64, 5)
    after = groups_of(classes)
    assert min(people(crowd, items) for items in [*before, *after]) >= k
    assert len(before) == len(after)
    assert cost(crowd, after) <= cost(crowd, before) + 1e-9


@QUICK
@given(table=tables(), k=st.integers(1, 6))
def test_relaxed_classes_are_below_2k_unless_all_in_them_are_the_same(table, k):
    crowd, shape, _ = read(table, False)
    items = np.repeat(np.arange(len(crowd.codes)), crowd.weights)
    classes = relaxed(crowd.codes, items, k, shape)
    for number, size in Counter(classes.tolist()).items():
        assert size >= min(k, table.num_rows)
        assert size < 2 * k or len(set(items[classes == number].tolist())) == 1
    assert sorted(items.tolist()) == np.repeat(np.arange(len(crowd.codes)), crowd.weights).tolist()


# -- the published algorithm, row by row ----------------------------------------------------------------------------


def slow_legacy(rows, k):
    """Stale ranges, one cut only: written from the description, on rows of numbers."""
    wide = len(rows[0])
    order = [sorted({row[j] for row in rows}) for j in range(wide)]
    span = [values[-1] - values[0] for values in order]
    work, done = [(list(range(len(rows))), [v[0] for v in order], [v[-1] for v in order])], []
    while work:
        part, low, high = work.pop()
        allowed = list(range(wide))
        while allowed:
            j = max(allowed, key=lambda a: ((high[a] - low[a]) / span[a] if span[a] else 0, -a))
            values = sorted(rows[i][j] for i in part)
            low[j], high[j] = values[0], values[-1]
            half = len(part) // 2
            allowed.remove(j)
            if half < k or low[j] == high[j]:
                continue
            cut = next(v for v in sorted(set(values)) if sum(1 for w in values if w <= v) >= half)
            left, right = [i for i in part if rows[i][j] <= cut], [i for i in part if rows[i][j] > cut]
            if cut == high[j] or min(len(left), len(right)) < k:
                continue
            above = min(rows[i][j] for i in right)
            work.append((left, list(low), [*high[:j], cut, *high[j + 1 :]]))
            work.append((right, [*low[:j], above, *low[j + 1 :]], list(high)))
            break
        else:
            done.append(part)
    return done


def legacy_gcp(rows, groups):
    wide = len(rows[0])
    span = [max(row[j] for row in rows) - min(row[j] for row in rows) for j in range(wide)]
    lost = 0.0
    for part in groups:
        for j in range(wide):
            values = [rows[i][j] for i in part]
            lost += len(part) * ((max(values) - min(values)) / span[j] if span[j] else 0)
    return lost / wide / len(rows)


@QUICK
@given(table=tables(least=2, most=60), k=st.integers(1, 6))
def test_legacy_is_the_published_algorithm(table, k):
    if table.num_rows < k:
        return
    first = {pet: place for place, pet in reversed(list(enumerate(table["pet"].to_pylist())))}
    codes = {pet: code for code, pet in enumerate(sorted(first, key=first.get))}
    rows = [(row["x"], codes[row["pet"]], row["y"]) for row in table.to_pylist()]
    groups = slow_legacy(rows, k)
    plan = Anonymize(conditions=Conditions(k=k), method=Mondrian(mode="legacy")).prepare(DOMAIN)
    found = plan.run_on(table)
    crowd = read_distinct_rows(DOMAIN, table, DOMAIN.names, by_appearance=True)
    assert gcp(crowd, found.recoding, "code range") == pytest.approx(legacy_gcp(rows, groups))
    assert found.achieved.classes == len(groups)


def test_legacy_labels_list_all_codes_in_between():
    table = pa.table({"x": [1] * 4, "pet": ["dog", "ant", "eel", "dog"], "y": [1.0] * 4})
    found = Anonymize(conditions=Conditions(k=4), method=Mondrian(mode="legacy")).prepare(DOMAIN).run_on(table)
    assert set(found.rows["pet"].to_pylist()) == {"dog~ant~eel"}


def test_both_cuts_around_the_median_are_tried():
    """1, 2, 2, 2: the cut above the median leaves nobody; the one below it is what legacy never tries."""
    table = pa.table({"x": [1, 1, 2, 2, 2, 2], "pet": ["ant"] * 6, "y": [1.0] * 6})
    runs = {
        name: Anonymize(conditions=Conditions(k=2), method=method).prepare(DOMAIN).run_on(table).achieved.classes
        for name, method in {
            "legacy": Mondrian(mode="legacy"),
            "span": Mondrian(choose="span"),
            "loss": Mondrian(),
        }.items()
    }
    assert runs == {"legacy": 1, "span": 2, "loss": 2}

"""Cuts are undone as far as needed, and no further, against the tree of cuts by hand."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tacita.anonymize import Conditions, read_distinct_rows
from tacita.anonymize.kernels.cuts import Choice, partition, partition_tree
from tacita.anonymize.methods.judge import Judge
from tacita.anonymize.methods.mondrian import shape_of
from tacita.anonymize.methods.undo import undo_cuts
from tacita.domain import Categorical, Domain, Numeric

ILLS = ["a", "b", "c"]
DOMAIN = Domain(
    attributes=[Numeric(name="x", bounds=(0, 99), integer=True), Categorical(name="ill", levels=ILLS, role="sensitive")]
)


def tree_of(depths):
    """The tree of cuts, nested pairs of class numbers, from the depth of each class in the order of a walk."""

    def grow(depth, left):
        if left[0][1] == depth:
            return left.pop(0)[0]
        return (grow(depth + 1, left), grow(depth + 1, left))

    left = list(enumerate(depths))
    made = grow(0, left)
    assert not left
    return made


def leaves(node):
    return [node] if isinstance(node, int) else [leaf for child in node for leaf in leaves(child)]


def wanted(node, good):
    """Classes by definition: keep a cut when both sides can be kept; else one class if it holds; else None."""
    if isinstance(node, int):
        return [[node]] if good([node]) else None
    sides = [wanted(child, good) for child in node]
    if None not in sides:
        return [part for side in sides for part in side]
    return [leaves(node)] if good(leaves(node)) else None


@settings(max_examples=60, deadline=None)
@given(data=st.data(), k=st.integers(1, 4), share=st.sampled_from([0.67, 0.8, 0.9]), budget=st.integers(0, 4))
def test_cuts_are_undone_where_a_side_breaks_a_criterion(data, k, share, budget):
    from .conftest import TopTwo

    rows = data.draw(st.integers(4, 40))
    table = pa.table(
        {
            "x": data.draw(st.lists(st.integers(0, 30), min_size=rows, max_size=rows)),
            "ill": data.draw(st.lists(st.sampled_from(ILLS), min_size=rows, max_size=rows)),
        }
    )
    distinct = read_distinct_rows(DOMAIN, table, ("x",), sensitive=("ill",))
    judge = Judge.of(distinct, Conditions(k=k, more=(TopTwo(top_two=share),)))
    everyone = np.arange(len(distinct.codes))
    if not judge.together(everyone):
        return
    asked = (
        distinct.codes,
        distinct.weights,
        shape_of(distinct),
        judge.people,
        judge.rules,
        Choice(False, 0, 1, 1.0),
        budget,
    )
    classes, depths = partition_tree(*asked)
    assert (classes == partition(*asked)).all()

    def good(numbers):
        inside = np.isin(classes, numbers)[distinct.of_row]
        shares = np.bincount(distinct.values[0][inside], minlength=3) / inside.sum()
        return inside.sum() >= k and np.sort(shares)[-2:].sum() <= share + 1e-12

    parts = wanted(tree_of(depths.tolist()), good)
    found = undo_cuts(classes, depths, judge)
    if parts is None:
        assert (found == 0).all()
        return
    for part in parts:
        assert len(set(found[np.isin(classes, part)].tolist())) == 1
    assert len(set(found.tolist()) - {-1}) == len(parts)
    assert ((found == -1) == (classes == -1)).all()

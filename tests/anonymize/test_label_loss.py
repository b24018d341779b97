"""The loss of labels as they are written: that of the node for full-domain labels, that of the class for tight ones."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tacita.anonymize import Conditions, Hierarchy, Intervals, Mondrian, read_distinct_rows
from tacita.anonymize.loss import as_written, ncp
from tacita.anonymize.methods.bayardo import Bayardo, Splits
from tacita.anonymize.methods.grouping import Grouping
from tacita.anonymize.methods.lattice import Lattice
from tacita.domain import Categorical, Domain, Numeric
from tacita.tables.recoding import SUPPRESSED

PLACES = ["Rome", "Paris", "Tokyo", "Lima", "Cairo"]
DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(0, 99), integer=True),
        Categorical(name="place", levels=PLACES),
        Categorical(name="pet", levels=["cat", "dog", "eel"]),
    ]
)
TREES = {
    "age": Intervals(widths=(5, 20), bounds=(0, 79)),
    "place": Hierarchy.from_tree("place", {"*": {"Europe": ["Rome", "Paris"], "Asia": ["Tokyo"], "other": PLACES[3:]}}),
}


def distinct_of(seed, trees=TREES):
    rng = np.random.default_rng(seed)
    columns = {"age": rng.choice([1, 2, 7, 22, 23, 61], 30), "place": rng.choice(PLACES, 30)}
    table = pa.table(columns | {"pet": rng.choice(["cat", "dog", "eel"], 30)})
    return read_distinct_rows(DOMAIN, table, DOMAIN.names, hierarchies=trees)


def mean_loss(distinct, recoding):
    cells = as_written(distinct, recoding)
    kept = recoding.classes != SUPPRESSED
    lost = (cells[recoding.classes[kept]] * distinct.rows[kept, None]).sum() + 3 * distinct.rows[~kept].sum()
    return lost / (3 * distinct.rows.sum())


@pytest.mark.parametrize("seed", range(8))
def test_full_domain_labels_lose_what_the_node_loses(seed):
    distinct = distinct_of(seed)
    lattice = Lattice.of(distinct, Conditions(k=2))
    for node in lattice.nodes():
        recoding = lattice.recoding(node)
        assert mean_loss(distinct, recoding) <= lattice.look(node).cost + 1e-9  # `*` over fewer values than there are
        if node[2] == 0 or (recoding.classes != SUPPRESSED).all():
            assert mean_loss(distinct, recoding) == pytest.approx(lattice.look(node).cost)


@pytest.mark.parametrize("seed", range(8))
def test_intervals_lose_what_the_search_says(seed):
    distinct = distinct_of(seed, {})
    splits = Splits(grouping=Grouping(distinct=distinct, conditions=Conditions(k=1)), loss="gcp")
    rng = np.random.default_rng(seed)
    for _ in range(10):
        chosen = frozenset(i for i in range(len(splits.every)) if rng.integers(2))
        becomes = splits.becomes(chosen)
        recoding = splits.grouping.recoding(splits.grouping.groups(becomes), becomes, splits.texts(becomes), "level")
        assert mean_loss(distinct, recoding) == pytest.approx(splits.look(chosen)[0])


@pytest.mark.parametrize("trees", [TREES, {}])
@pytest.mark.parametrize("method", [Mondrian(), Bayardo(most=2000, early="best", labels="tight")])
def test_tight_labels_lose_what_their_classes_lose(method, trees):
    for seed in range(8):
        distinct = distinct_of(seed, trees)
        recoding = method.recode(distinct, Conditions(k=3))
        assert as_written(distinct, recoding) == pytest.approx(ncp(distinct, recoding))


def test_a_wide_label_on_a_narrow_class_is_not_read_as_narrow():
    distinct = distinct_of(1)
    lattice = Lattice.of(distinct, Conditions(k=1))
    recoding = lattice.recoding((0, 1, 0))  # places as continents: most classes hold one of them
    j = recoding.names.index("place")
    europe = recoding.texts[j].index("Europe")
    cells = as_written(distinct, recoding)
    assert set(cells[recoding.labels[:, j] == europe, j]) == {0.25}  # two of five leaves

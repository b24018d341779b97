"""What full-domain methods release, against the rows of the node that they chose."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from tests.anonymize.slow_nodes import (
    PEOPLE,
    QUASI,
    ROWS,
    TREES,
    searched_cases,
    slow_node,
    some_conditions,
    some_table,
)

from tacita.anonymize import Anonymize, Conditions, read_distinct_rows
from tacita.anonymize.methods.bayardo import Bayardo
from tacita.anonymize.methods.datafly import Datafly
from tacita.anonymize.methods.incognito import Incognito
from tacita.anonymize.methods.lattice import Lattice
from tacita.anonymize.methods.ola import Ola
from tacita.anonymize.methods.samarati import Samarati
from tacita.errors import InvalidInput


def test_what_no_node_holds_is_refused_by_every_method():
    refused = 0
    for _, _, asked, budget, distinct, _, holding in searched_cases(200, 1):
        if not holding:
            refused += 1
            for method in (Datafly(), Samarati(), Ola(), Incognito()):
                with pytest.raises(InvalidInput, match="not even one class of all people"):
                    method.choose(Lattice.of(distinct, asked, budget=budget))
    assert refused


@pytest.mark.parametrize("labels", ["level", "tight"])
@pytest.mark.parametrize("method", [Datafly, Samarati, Ola, Incognito, Bayardo])
def test_what_leaves_holds_what_was_asked(method, labels):
    rng = np.random.default_rng(9)
    left = 0
    made = method(labels=labels, most=5000, early="best") if method is Bayardo else method(labels=labels)
    for _ in range(15):
        table = some_table(rng, int(rng.integers(8, 40)))
        asked, people = some_conditions(rng), bool(rng.integers(2))
        recipe = Anonymize(conditions=asked, hierarchies=TREES, suppress=0.2, method=made)
        try:
            result = recipe.prepare(PEOPLE if people else ROWS).run_on(table)  # which counts the rows again
        except InvalidInput:
            continue
        left += 1
        assert result.rows.column_names == ["age", "colour", "pet", "ill"]
        assert result.loss.suppressed <= 0.2 * table.num_rows
        sizes = Counter(tuple(row[name] for name in QUASI) for row in result.rows.to_pylist())
        assert min(sizes.values(), default=asked.k) >= (1 if people else asked.k)
        turned = recipe.prepare(PEOPLE if people else ROWS).run_on(table.take(rng.permutation(table.num_rows)))
        assert turned.rows.equals(result.rows)
    assert left > 5


@pytest.mark.parametrize("method", [Datafly(), Samarati(), Ola(), Incognito()])
def test_level_labels_are_of_one_level_and_true_of_their_rows(method):
    table = some_table(np.random.default_rng(10), 60)
    distinct = read_distinct_rows(ROWS, table, QUASI, hierarchies=TREES)
    lattice = Lattice.of(distinct, Conditions(k=4), budget=10)
    node = method.choose(lattice)
    result = Anonymize(conditions=Conditions(k=4), hierarchies=TREES, suppress=10 / 60, method=method)
    rows = result.prepare(ROWS).run_on(table).rows.to_pylist()
    _, good = slow_node(table, node, Conditions(k=4), False)
    expected = Counter((*labels, row["ill"]) for labels, part in good.items() for row in part)
    assert Counter(tuple(row[name] for name in (*QUASI, "ill")) for row in rows) == expected


def test_bad_options_are_refused():
    with pytest.raises(InvalidInput, match="loss: must be gcp, precision"):
        Ola(loss="height")
    with pytest.raises(InvalidInput, match="labels: must be level or tight"):
        Samarati(labels="short")

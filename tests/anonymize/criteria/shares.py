"""What criteria that bound the shares of values have in common: classes for their figures, and releases to check."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from tacita.anonymize import Anonymize, Conditions
from tacita.anonymize.criteria import Classes, Sensitive
from tacita.anonymize.methods.registry import make_method
from tacita.domain import Categorical, Domain, Numeric

ILLS = ["flu", "cold", "gout"]
DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(0, 99), integer=True, role="quasi-identifier"),
        Categorical(name="ill", levels=ILLS, role="sensitive"),
    ]
)
TABLES = st.lists(st.lists(st.integers(0, 6), min_size=3, max_size=3).filter(any), min_size=1, max_size=4)
RESTS = st.lists(st.integers(0, 9), min_size=3, max_size=3)

Figure = Callable[[Mapping[str, float], Mapping[str, float]], float]


def shares_of(counts: Mapping[str, int]) -> dict[str, float]:
    total = sum(counts.values())
    return {value: number / total for value, number in counts.items()}


def assert_figures_are_the_definition(criterion, table, rest, figure: Figure) -> None:
    """The criterion measures in each class what `figure` computes of its shares and those of the whole table."""
    whole, people = np.sum([*table, rest], axis=0), np.sum(table, axis=1)
    attribute = Sensitive(name="x", whole=whole)
    classes = Classes(people=people, rows=people, population=people, counts=np.array(table), attribute=attribute)
    overall = {value: share for value, share in shares_of(dict(enumerate(whole))).items() if share}
    for found, counts in zip(criterion.measure(classes), table, strict=True):
        assert found == pytest.approx(figure(shares_of(dict(enumerate(counts))), overall), abs=1e-12)


def assert_releases_keep(name: str, bound: float, method: str, figure: Figure) -> None:
    """What leaves keeps the bound, counted from nothing but the rows; without the criterion some release breaks it."""
    broken = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        table = pa.table({"age": rng.integers(20, 26, 70), "ill": rng.choice(ILLS, 70, p=[0.6, 0.3, 0.1])})
        whole = shares_of(Counter(table["ill"].to_pylist()))

        def worst(rows, whole=whole):
            groups = defaultdict(Counter)
            for row in rows.to_pylist():
                groups[row["age"]][row["ill"]] += 1
            return max(figure(shares_of(ills), whole) for ills in groups.values())

        made = make_method(method, {"most": 300} if method == "bayardo" else {})
        asked = Conditions.of({"k": 2, name: bound})
        result = Anonymize(conditions=asked, method=made, suppress=0.1).prepare(DOMAIN).run_on(table)
        if result.rows.num_rows:
            found = worst(result.rows)
            assert found <= bound + 1e-9
            assert result.achieved.more[name]["ill"] == pytest.approx(found)
        without = Anonymize(conditions=Conditions(k=2), method=made).prepare(DOMAIN).run_on(table)
        broken += worst(without.rows) > bound
    assert broken

"""Suppressed tables: what is published protects every sensitive cell, also in linked tables."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import linprog
from tests.anonymize.cells.cases import contents

from tacita.anonymize.cells.rules import Dominance, MinimumFrequency, PPercent
from tacita.anonymize.cells.suppress import SuppressCells, protect
from tacita.domain import Categorical, Domain, Identifier, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput

DOMAIN = Domain(
    attributes=(
        Categorical(name="region", levels=("n", "e", "s", "w")),
        Categorical(name="industry", levels=tuple("abcde")),
        Categorical(name="size", levels=("small", "large")),
        Numeric(name="turnover", bounds=(0, 1_000_000), bins=4),
        Numeric(name="w", bounds=(1, 100), bins=4),
        Identifier(name="firm"),
    )
)
BY = ("region", "industry")
MINIMUM = MinimumFrequency(minimum=4)


def _table(many: int = 300, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "region": rng.choice(list("nesw"), many, p=[0.5, 0.3, 0.15, 0.05]),
            "industry": rng.choice(list("abcde"), many, p=[0.4, 0.3, 0.2, 0.06, 0.04]),
            "size": rng.choice(["small", "large"], many, p=[0.9, 0.1]),
            "turnover": rng.lognormal(5, 2, many),
            "w": rng.uniform(1, 9, many),
            "firm": [str(each) for each in range(many)],
        }
    )


def _run(recipe: SuppressCells, table: pa.Table | None = None):
    return recipe.prepare(DOMAIN).run(LocalEngine(DOMAIN, _table() if table is None else table))


def _attack(published: list[dict], names: tuple[str, ...], cell: int, sign: int, floor: float) -> float:
    """Smallest or largest value of a cell, from the published rows alone, with inner cells as the only unknowns."""
    levels = {name: sorted({row[name] for row in published} - {"(all)"}) for name in names}
    inner = list(product(*(levels[name] for name in names)))

    def members(row: dict) -> np.ndarray:
        return np.array(
            [all(row[n] in ("(all)", v) for n, v in zip(names, each, strict=True)) for each in inner], float
        )

    known = [row for row in published if row["status"] == "published"]
    hidden = [row for row in published if row["status"] == "suppressed"]
    found = linprog(
        sign * members(published[cell]),
        A_eq=np.array([members(row) for row in known]),
        b_eq=[row["value"] for row in known],
        A_ub=-np.array([members(row) for row in hidden]),
        b_ub=np.full(len(hidden), -floor),
        bounds=(0, None),
    )
    return float("inf") if found.status != 0 else sign * found.fun


@pytest.mark.parametrize(
    "recipe",
    [
        SuppressCells(tables=(BY,), rules=(MINIMUM,)),
        SuppressCells(tables=(BY,), rules=(MINIMUM,), zeros="sensitive", cost="cells"),
        SuppressCells(tables=(BY,), rules=(MINIMUM, Dominance(dominance=(1, 75))), total="turnover", cost="log"),
        SuppressCells(tables=(BY,), rules=(PPercent(p=20), Dominance(dominance=(1, 30))), total="turnover", weight="w"),
        SuppressCells(tables=(BY, ("region", "size")), rules=(MINIMUM,)),
        SuppressCells(tables=(("region", "industry", "size"),), rules=(MinimumFrequency(minimum=3),), nodes=0),
        SuppressCells(tables=(("industry",),), rules=(MinimumFrequency(minimum=15),)),
    ],
)
def test_an_attacker_who_has_only_the_file_learns_the_intervals_and_no_more(recipe: SuppressCells) -> None:
    found = _run(recipe)
    assert found.primary > 0
    published = found.to_arrow().to_pylist()
    assert all((row["value"] is None) == (row["status"] == "suppressed") for row in published)
    floor = 1.0 if recipe.total is None and recipe.weight is None and recipe.zeros == "public" else 0.0
    names = tuple(found.relations.names)
    audit = {tuple(row[name] for name in names): row for row in found.audit().to_pylist()}
    for cell, row in enumerate(published):
        secret = audit.get(tuple(row[name] for name in names))
        if secret is None:
            continue
        low, high = (_attack(published, names, cell, sign, floor) for sign in (1, -1))
        if found.reasoning != "exact" or found.relations.unimodular:
            scale = max(1.0, secret["value"])
            assert row["low"] == pytest.approx(low, abs=1e-5 * scale)
            assert row["high"] == pytest.approx(high, abs=1e-5 * scale)
        assert secret["value"] - row["low"] >= secret["lower"] * (1 - 1e-4)
        assert row["high"] - secret["value"] >= secret["upper"] * (1 - 1e-4)
        assert row["high"] - row["low"] >= secret["width"] * (1 - 1e-4)


def test_tables_protected_one_by_one_can_be_joined_and_together_cannot() -> None:
    """The breach that one system for all tables prevents: a margin that one table hides and another publishes."""
    linked = _run(SuppressCells(tables=(BY, ("region", "size")), rules=(MINIMUM,)))
    margin = {row["region"]: row for row in linked.to_arrow().to_pylist() if row["industry"] == row["size"] == "(all)"}
    assert len(margin) == 5  # each margin of region once, with one status


def test_the_same_rows_in_another_order_give_the_same_table() -> None:
    table = _table()
    recipe = SuppressCells(tables=(BY,), rules=(MINIMUM,))
    shuffled = table.take(np.random.default_rng(9).permutation(table.num_rows))
    assert _run(recipe, table).to_arrow().equals(_run(recipe, shuffled).to_arrow())


def test_margins_that_have_to_be_published() -> None:
    relations, known = contents(np.array([[1, 9, 9], [9, 9, 9], [9, 9, 9]]))
    labels = dict.fromkeys(relations.names, ("x", "y", "z"))
    recipe = SuppressCells(tables=(("a", "b"),), rules=(MINIMUM,), margins=False)
    found = protect(recipe, relations, known, labels=labels)
    margins = (relations.codes < 0).any(axis=1)
    assert not found.suppressed[margins].any()
    assert found.suppressed.sum() == 4


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"rules": ()}, "at least one"),
        ({"rules": (PPercent(p=10),)}, "rule for sums"),
        ({"zeros": "sensitive", "rules": (PPercent(p=10),), "total": "turnover"}, "needs a minimum"),
        ({"tables": (("region", "firm"),)}, "identifier"),
        ({"total": "size"}, "numeric"),
        ({"weight": "turnover", "tables": (("turnover", "region"),)}, "must not be"),
        ({"cost": "weight"}, "one of"),
    ],
)
def test_what_cannot_be_made_is_refused(wrong: dict, says: str) -> None:
    known = {"tables": (BY,), "rules": (MINIMUM,)}
    with pytest.raises(InvalidInput, match=says):
        SuppressCells(**known | wrong).prepare(DOMAIN)


def test_an_empty_file() -> None:
    found = _run(SuppressCells(tables=(BY,), rules=(MINIMUM,)), _table(1).slice(0, 0))
    assert found.primary == 0
    assert not found.suppressed.any()

"""The result: what may be published, and forms of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from tests.anonymize.cells.cases import contents

from tacita.anonymize.cells.rules import MinimumFrequency
from tacita.anonymize.cells.suppress import SuppressCells, protect

MINIMUM = MinimumFrequency(minimum=4)


def test_the_result_as_people_use_it(tmp_path: Path) -> None:
    relations, known = contents(np.array([[1, 9, 9], [9, 8, 9], [9, 9, 2]]))
    labels = dict.fromkeys(relations.names, ("x", "y", "z"))
    found = protect(SuppressCells(tables=(("a", "b"),), rules=(MINIMUM,)), relations, known, labels=labels)
    assert found.guarantee == "none"
    assert found.reasoning == "exact"
    plain = json.loads(json.dumps(found.as_dict()))
    assert plain["suppressed"] == plain["owner"]["primary"] + plain["owner"]["secondary"]
    assert plain["owner"]["audited"] == plain["owner"]["primary"]
    assert "sensitive" not in str(found.to_arrow().column_names)
    found.save(tmp_path / "table.csv")
    found.save(tmp_path / "table.xlsx")
    found.save(tmp_path / "table.json")
    published = json.loads((tmp_path / "table.json").read_text())
    assert len(published["cells"]) == plain["rows"]
    assert "primary" not in published
    assert "<svg" in found.chart()
    assert "guarantee" in found._repr_html_()
    assert {"guarantee", "statement"} <= set(found.facts())


def test_a_level_that_looks_like_the_total() -> None:
    relations, known = contents(np.array([[5, 9], [9, 9]]))
    labels = {"a": ("(all)", "x"), "b": ("u", "v")}
    found = protect(SuppressCells(tables=(("a", "b"),), rules=(MINIMUM,)), relations, known, labels=labels)
    assert found.to_arrow().column("a").to_pylist()[0] == "((all))"


def test_facts_do_not_depend_on_suppressed_values() -> None:
    """The breach: a cost, which is the sum of logarithms of 1 and 50 or of 2 and 49, distinguishes these tables."""
    facts, costs = [], []
    for inner in ([1, 50, 60], [2, 49, 60]):
        relations, known = contents(np.array(inner))
        recipe = SuppressCells(tables=(("a",),), rules=(MinimumFrequency(minimum=3),), cost="log")
        found = protect(recipe, relations, known, labels={"a": ("x", "y", "z")})
        about = found.as_dict()
        costs.append(about.pop("owner")["cost"])
        facts.append((about, found.to_json(), found.facts()))
    assert facts[0] == facts[1]
    assert costs[0] != costs[1]

"""Modes of Mondrian, on tables small enough to follow."""

from __future__ import annotations

import pyarrow as pa
from tests.anonymize.slow_cuts import DOMAIN

from tacita.anonymize import Anonymize, Conditions, Mondrian


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


def test_combinations_with_enough_people_are_classes_of_their_own():
    table = pa.table({"x": [1] * 3 + [9] * 3 + [40, 41], "pet": ["ant"] * 8, "y": [1.0] * 8})
    rows = Anonymize(conditions=Conditions(k=2), method=Mondrian()).prepare(DOMAIN).run_on(table).rows
    assert sorted(rows["x"].to_pylist()) == ["1"] * 3 + ["40..41"] * 2 + ["9"] * 3

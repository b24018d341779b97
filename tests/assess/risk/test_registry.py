"""A measure needs one line."""

from __future__ import annotations

import pytest

from tacita.assess.risk.registry import MEASURES, select
from tacita.errors import InvalidInput


def test_measures_are_selected_in_the_order_of_the_registry() -> None:
    assert select() == MEASURES
    assert [each.name for each in select(["suda", "prosecutor"])] == ["prosecutor", "suda"]
    assert len({each.name for each in MEASURES}) == len(MEASURES)
    with pytest.raises(InvalidInput, match="must be among"):
        select(["luck"])

"""Options of measures, and figures."""

from __future__ import annotations

import pytest

from tacita.assess.risk.measure import Figure, RiskOptions
from tacita.errors import InvalidInput


@pytest.mark.parametrize("wrong", [{"threshold": 2.0}, {"size": 0}, {"fraction": 0.0}])
def test_other_options_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidInput):
        RiskOptions(**wrong)  # type: ignore[arg-type]


def test_an_end_that_is_not_known_is_null() -> None:
    assert Figure("x", "an x", 0.5).as_dict() == {"name": "x", "title": "an x", "value": 0.5, "low": None, "high": None}
    assert Figure("x", "an x", 0.5, 0.4, 0.6).as_dict()["low"] == 0.4

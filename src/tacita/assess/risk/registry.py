"""Registry of risk measures: one line for each. `microdata_risk` runs all that apply, in this order."""

from __future__ import annotations

from collections.abc import Sequence

from tacita.assess.risk import individual, loglinear, matching, suda
from tacita.assess.risk.measure import RiskMeasure
from tacita.errors import InvalidInput

__all__ = ["MEASURES", "select"]

MEASURES: tuple[RiskMeasure, ...] = (
    matching.PROSECUTOR,
    matching.JOURNALIST,
    individual.INDIVIDUAL,
    individual.HOUSEHOLD,
    loglinear.LOGLINEAR,
    suda.SUDA,
)


def select(names: Sequence[str] = ()) -> tuple[RiskMeasure, ...]:
    """Return the measures with these names, in the order of the registry; all if none is named."""
    known = [measure.name for measure in MEASURES]
    for name in names:
        if name not in known:
            raise InvalidInput(f"must be among {', '.join(known)}", field="measures", value=name)
    return tuple(measure for measure in MEASURES if not names or measure.name in names)

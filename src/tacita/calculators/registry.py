"""All calculators. A new one is one file, and one line here; the command line, REST, clients and the console follow."""

from __future__ import annotations

from typing import Any

from tacita.calculators.at_risk import AT_RISK
from tacita.calculators.block_protocol import BLOCK_PROTOCOL
from tacita.calculators.flip import FLIP
from tacita.calculators.kind import Calculator, Result
from tacita.calculators.odds import ODDS
from tacita.calculators.oracles import ORACLES
from tacita.calculators.price import PRICE
from tacita.calculators.repeated import REPEATED
from tacita.calculators.sampled import SAMPLED
from tacita.calculators.shuffled import SHUFFLED
from tacita.calculators.z_chance import Z_CHANCE

__all__ = ["CALCULATORS", "calculate"]

CALCULATORS: dict[str, Calculator[Any]] = {
    each.name: each
    for each in (
        ODDS,
        AT_RISK,
        PRICE,
        SAMPLED,
        REPEATED,
        SHUFFLED,
        ORACLES,
        BLOCK_PROTOCOL,
        Z_CHANCE,
        FLIP,
    )
}


def calculate(name: str, request: Any) -> Result:
    """Compute a result; by name, so that another process can do it."""
    return CALCULATORS[name].compute(request)

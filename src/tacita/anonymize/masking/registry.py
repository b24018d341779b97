"""All masking methods, in the order in which options are applied. A new method is one file, and one line here.

The command line makes an option of each, and REST requests a member; plans may name steps in any order.
"""

from __future__ import annotations

from typing import Any

from tacita.anonymize.masking.coding import BottomCode, TopCode
from tacita.anonymize.masking.microaggregate import Microaggregate
from tacita.anonymize.masking.noise import AddNoise
from tacita.anonymize.masking.pram import Pram
from tacita.anonymize.masking.rounding import Round
from tacita.anonymize.masking.suppression import SuppressLocally
from tacita.anonymize.masking.swapping import SwapRanks
from tacita.anonymize.parameters import Parameter, parameters_of

__all__ = ["STEPS", "step_parameters"]

STEPS: dict[str, Any] = {
    kind.step: kind
    for kind in (
        TopCode,
        BottomCode,
        Microaggregate,
        AddNoise,
        SwapRanks,
        Round,
        Pram,
        SuppressLocally,
    )
}


def step_parameters() -> tuple[Parameter, ...]:
    """One parameter for each method: a list of texts, such as `income,age=5` (see `text`)."""
    return tuple(
        Parameter(name=name, type=list[str], default=None, help=_help(kind), bounds={}) for name, kind in STEPS.items()
    )


def _help(kind: Any) -> str:
    options: list[Any] = [each.name for each in parameters_of(kind) if each.name not in ("attributes", kind.main)]
    more = f"; options after a colon: {', '.join(options)}" if options else ""
    return f"{kind.summary[:-1]}: {kind.form}{more}."

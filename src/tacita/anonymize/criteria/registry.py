"""All criteria. A new criterion is one file, and one line here: see `criterion`."""

from __future__ import annotations

from tacita.anonymize.criteria.alpha import AlphaAnonymity
from tacita.anonymize.criteria.anonymity import KAnonymity
from tacita.anonymize.criteria.closeness import TCloseness
from tacita.anonymize.criteria.criterion import Criterion
from tacita.anonymize.criteria.disclosure import DeltaDisclosure
from tacita.anonymize.criteria.diversity import LDiversity
from tacita.anonymize.criteria.likeness import BetaLikeness
from tacita.anonymize.criteria.presence import DeltaPresence
from tacita.anonymize.parameters import Parameter, parameters_of

__all__ = ["CRITERIA", "all_parameters"]

CRITERIA: list[type[Criterion]] = [
    KAnonymity,
    LDiversity,
    TCloseness,
    AlphaAnonymity,
    DeltaPresence,
    BetaLikeness,
    DeltaDisclosure,
]


def all_parameters() -> tuple[Parameter, ...]:
    """The parameters of all criteria, in order."""
    return tuple(each for kind in CRITERIA for each in parameters_of(kind))

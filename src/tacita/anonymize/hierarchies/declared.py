"""All values that a schema declares for an attribute, as an axis: the leaves of a public hierarchy.

    levels of a categorical or ordinal attribute, true and false, each whole number and each day between the bounds

Numbers with fractions, and identifiers, have no such list: a rule stands for their hierarchy.
"""

from __future__ import annotations

import datetime as dt

from tacita.domain import Attribute, Boolean, Categorical, Date, Numeric, Ordinal
from tacita.errors import InvalidInput
from tacita.tables.recoding.axis import EPOCH, Axis, Key

__all__ = ["MOST_LEAVES", "declared_axis"]

MOST_LEAVES = 1 << 20
_RULE = "Write the rule instead, to a .yaml file: it is applied to the values that occur"


def declared_axis(attribute: Attribute) -> Axis:
    """The axis of all declared values of an attribute."""
    keys: list[Key]
    if isinstance(attribute, Categorical | Ordinal):
        keys = list(attribute.levels)
    elif isinstance(attribute, Boolean):
        keys = ["false", "true"]
    elif isinstance(attribute, Date):
        low, high = ((day - EPOCH) // dt.timedelta(days=1) for day in attribute.bounds)
        keys = _whole(attribute, low, high)
    elif isinstance(attribute, Numeric) and attribute.integer:
        keys = _whole(attribute, int(attribute.bounds[0]), int(attribute.bounds[1]))
    else:
        raise InvalidInput(f"a {attribute.kind} attribute declares no list of values", field=attribute.name, hint=_RULE)
    return Axis.of(attribute, keys)


def _whole(attribute: Attribute, low: int, high: int) -> list[Key]:
    if high - low >= MOST_LEAVES:
        rule = f"has more than {MOST_LEAVES:,} values between its bounds"
        raise InvalidInput(rule, field=attribute.name, hint=_RULE)
    return list(range(low, high + 1))

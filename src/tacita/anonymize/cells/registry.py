"""All rules that make a cell sensitive. A new rule is one frozen dataclass in `rules`, and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacita.anonymize.cells.rules import Dominance, MinimumFrequency, PPercent, Rule
from tacita.anonymize.parameters import REQUIRED, Parameter, parameters_of

__all__ = ["RULES", "rule_parameters", "rules_of"]

RULES: tuple[Any, ...] = (MinimumFrequency, Dominance, PPercent)


def rule_parameters() -> tuple[Parameter, ...]:
    """The parameters of all rules, in order; each may be left out, and then its rule is not applied."""
    return tuple(
        Parameter(
            name=each.name,
            type=each.type,
            default=None if each.default is REQUIRED else each.default,
            help=each.help,
            bounds=each.bounds,
            parse=each.parse,
            form=each.form,
        )
        for kind in RULES
        for each in parameters_of(kind)
    )


def rules_of(given: Mapping[str, Any]) -> tuple[Rule, ...]:
    """Return the rules whose own parameter is given; others of their parameters keep their defaults.

    >>> rules_of({"minimum": 3, "p": None})
    (MinimumFrequency(minimum=3, margin=10.0),)
    """
    chosen = []
    for kind in RULES:
        if given.get(kind.name) is None:
            continue
        known = {each.name: given[each.name] for each in parameters_of(kind) if given.get(each.name) is not None}
        chosen.append(
            kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in known.items()})
        )
    return tuple(chosen)

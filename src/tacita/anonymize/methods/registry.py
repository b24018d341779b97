"""All methods that make classes of rows. A new method is one file, and one line here.

The command line, REST requests and `tacita.Client` take these names, and the options of all methods by one name each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

from tacita.anonymize.methods.bayardo import Bayardo
from tacita.anonymize.methods.datafly import Datafly
from tacita.anonymize.methods.incognito import Incognito
from tacita.anonymize.methods.local import LocalRecoding
from tacita.anonymize.methods.mondrian import Mondrian
from tacita.anonymize.methods.ola import Ola
from tacita.anonymize.methods.samarati import Samarati
from tacita.anonymize.parameters import Parameter, one_of, parameters_of
from tacita.errors import InvalidInput, UnknownName

if TYPE_CHECKING:
    from tacita.anonymize.anonymize import Method

__all__ = ["DEFAULT_METHOD", "METHODS", "all_options", "make_method", "method_help"]

METHODS: dict[str, Any] = {
    kind.method: kind
    for kind in (
        Mondrian,
        LocalRecoding,
        Datafly,
        Samarati,
        Ola,
        Incognito,
        Bayardo,
    )
}
DEFAULT_METHOD = Mondrian.method
_CHOSEN = {"early": "best"}  # on all surfaces: someone waits for rows, and the result says whether they are proved best


def method_help() -> str:
    """Describe all methods, each in a clause."""
    return "How classes are made. " + " ".join(f"{name}: {kind.summary}." for name, kind in METHODS.items())


def all_options() -> tuple[Parameter, ...]:
    """The options of all methods; None stands for the default of the chosen method."""
    found: dict[str, Parameter] = {}
    owners: dict[str, list[str]] = {}
    for name, kind in METHODS.items():
        for option in parameters_of(kind):
            values = (*get_args(found[option.name].type if option.name in found else None), *get_args(option.type))
            together = one_of(dict.fromkeys(values)) if values else option.type
            found[option.name] = replace(option, type=together, default=None)
            owners.setdefault(option.name, []).append(name)
    return tuple(
        replace(option, help=f"For {', '.join(owners[option.name])}: {option.help[0].lower()}{option.help[1:]}")
        for option in found.values()
    )


def make_method(name: str, options: Mapping[str, Any] | None = None) -> Method:
    """Make a method from its name and options; options that are None are left at their defaults.

    >>> make_method("ola", {"loss": "entropy", "mode": None}).as_dict()
    {'method': 'ola', 'loss': 'entropy', 'labels': 'level'}
    """
    if name not in METHODS:
        raise UnknownName(name, field="method", available=tuple(METHODS))
    given = {option: value for option, value in (options or {}).items() if value is not None}
    own = [option.name for option in parameters_of(METHODS[name])]
    wrong = next((option for option in given if option not in own), None)
    if wrong is not None:
        raise InvalidInput(f"is no option of {name}", field=wrong, value=given[wrong], hint=f"It has: {', '.join(own)}")
    chosen = {option: value for option, value in _CHOSEN.items() if option in own}
    made: Method = METHODS[name](**chosen | given)
    return made

"""Steps as texts and as plans.

    income,age=5                      attributes, and the main parameter of the method
    income=90000:replace=mean         options after colons
    job:epsilon=1.5                   without the main parameter
    3                                 the main parameter alone, where attributes may come from the schema

A plan is a list of steps in order, each with the name of its method: `- microaggregate: {attributes: [income], k: 5}`
or `- microaggregate: income=5`. Names that hold a comma, a colon or an equals sign need a plan.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin

import yaml

from tacita.anonymize.masking.method import MaskingMethod
from tacita.anonymize.masking.registry import STEPS
from tacita.anonymize.parameters import REQUIRED, Parameter, parameters_of
from tacita.errors import InvalidInput, UnknownName

__all__ = ["read_plan", "read_step", "read_steps", "read_yaml"]

MOST_STEPS = 1000


def read_steps(given: Mapping[str, Sequence[str] | None]) -> tuple[MaskingMethod, ...]:
    """Read the texts of all methods, in the order of the registry.

    >>> [step.as_dict() for step in read_steps({"round": ["income=1000"], "top": ["income=90000"]})][1]
    {'round': {'attributes': ['income'], 'base': 1000.0, 'how': 'nearest'}}
    """
    return tuple(read_step(name, text) for name in STEPS for text in given.get(name) or ())


def read_step(name: str, text: str) -> MaskingMethod:
    """Read one step from a text.

    >>> read_step("microaggregate", "income,age=5:centre=median").as_dict()["microaggregate"]["centre"]
    'median'
    """
    kind = _kind(name)
    known = {each.name: each for each in parameters_of(kind)}
    head, *options = text.split(":")
    names, between, value = head.partition("=")
    if not between and known["attributes"].default is not REQUIRED:
        names, value, between = "", head, "="
    given: dict[str, Any] = {"attributes": tuple(part.strip() for part in names.split(",") if part.strip())}
    texts = [(kind.main, value)] if between else []
    for option in options:
        key, between, value = option.partition("=")
        texts.append((key.strip(), value if between else "true"))
    for key, value in texts:
        if key not in known or key == "attributes":
            options_known = ", ".join(each for each in known if each != "attributes")
            hint = f"Write {kind.form}; options are {options_known}"
            raise InvalidInput(f"is no option of {name}", field=name, value=key, hint=hint)
        given[key] = _value(known[key], value.strip(), name, kind.form)
    return _made(kind, given)


def read_plan(steps: Any) -> tuple[MaskingMethod, ...]:
    """Read a plan: a list of steps, each a mapping with one member.

    >>> [step.step for step in read_plan([{"round": "income=1000"}, {"top": {"attributes": ["a"], "threshold": 9}}])]
    ['round', 'top']
    """
    if not isinstance(steps, Sequence) or isinstance(steps, str) or not 0 < len(steps) <= MOST_STEPS:
        raise InvalidInput("must be a list of steps", field="plan", hint="- microaggregate: income,age=5")
    found = []
    for place, step in enumerate(steps, start=1):
        if not isinstance(step, Mapping) or len(step) != 1:
            rule = "must be one method with its parameters"
            raise InvalidInput(rule, field=f"plan, step {place}", hint="- microaggregate: income,age=5")
        ((name, given),) = step.items()
        kind = _kind(str(name).replace("-", "_"))
        if not isinstance(given, Mapping):
            found.append(read_step(kind.step, str(given)))
            continue
        known = [each.name for each in parameters_of(kind)]
        wrong = next((key for key in given if key not in known), None)
        if wrong is not None:
            raise InvalidInput(f"is no option of {name}", field=str(wrong), hint=f"It has: {', '.join(known)}")
        members = dict(given)
        if isinstance(members.get("attributes"), str):
            members["attributes"] = [members["attributes"]]
        found.append(_made(kind, members))
    return tuple(found)


def read_yaml(text: str) -> tuple[MaskingMethod, ...]:
    """Read a plan from YAML or JSON: a list of steps, or a mapping whose member `steps` is one."""
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f", line {mark.line + 1}"
        raise InvalidInput(f"is not YAML{where}", field="plan") from None
    return read_plan(data["steps"] if isinstance(data, Mapping) and set(data) == {"steps"} else data)


def _kind(name: str) -> Any:
    if name not in STEPS:
        raise UnknownName(name, field="step", available=tuple(STEPS))
    return STEPS[name]


def _made(kind: Any, given: Mapping[str, Any]) -> MaskingMethod:
    for each in parameters_of(kind):
        if each.default is REQUIRED and each.name not in given:
            raise InvalidInput(f"needs {each.name}", field=kind.step, hint=f"For example {kind.form}")
    made: MaskingMethod = kind(**given)
    return made


def _value(parameter: Parameter, text: str, name: str, form: str) -> Any:
    """Read the text of a parameter by its type."""
    kinds = _types(parameter.type)
    if get_origin(kinds[0]) is Literal:
        return text
    try:
        if kinds[0] is bool:
            return {"true": True, "yes": True, "false": False, "no": False}[text.lower()]
        return int(text) if kinds[0] is int else float(text)
    except (ValueError, KeyError):
        what = {bool: "true or false", int: "a whole number"}.get(kinds[0], "a number")
        hint = f"Write {form}"
        raise InvalidInput(f"{parameter.name} must be {what}", field=name, value=text, hint=hint) from None


def _types(kind: Any) -> list[Any]:
    if get_origin(kind) in (Union, types.UnionType):
        return [each for each in get_args(kind) if each is not type(None)]
    return [kind]

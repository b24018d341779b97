"""Options of a command that are made from parameters of the library, so that a new one needs no line in the command."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer

from tacita.anonymize.parameters import REQUIRED, Parameter

__all__ = ["with_options"]

F = TypeVar("F", bound=Callable[..., Any])


def with_options(*parameters: Parameter, after: str) -> Callable[[F], F]:
    """Give a command that takes `**chosen` an option for each parameter, behind one of its own.

    The command gets values, not texts: a parameter with `parse` is read before.
    """
    readers = {each.name: each.parse for each in parameters if each.parse is not None}

    def extend(command: F) -> F:
        own = list(inspect.signature(command, eval_str=True).parameters.values())[:-1]
        place = [each.name for each in own].index(after) + 1
        made = [_option(each) for each in parameters]
        every = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (*own[:place], *made, *own[place:])]

        def run(**given: Any) -> None:
            for name, read in readers.items():
                given[name] = None if given[name] is None else read(given[name])
            command(**given)

        run.__doc__, run.__name__ = command.__doc__, command.__name__
        run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        return run  # type: ignore[return-value]

    return extend


def _option(parameter: Parameter) -> inspect.Parameter:
    help = parameter.help if parameter.form is None else f"{parameter.help[:-1]}, {parameter.form}."
    kind = str | None if parameter.parse is not None else parameter.type
    if parameter.default is None:
        kind = kind | None
    flag = typer.Option(f"--{parameter.name.replace('_', '-')}", help=help)
    return inspect.Parameter(
        parameter.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if parameter.default is REQUIRED else parameter.default,
        annotation=Annotated[kind, flag],
    )

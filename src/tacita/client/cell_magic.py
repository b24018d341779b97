"""`%%tacita`: a notebook cell of SQL, asked through a client.

    %load_ext tacita
    %%tacita --epsilon 0.5 --to answer
    SELECT region, COUNT(*) AS people FROM census GROUP BY region

The client is the variable `client`, or the one that `--client` names.
"""

from __future__ import annotations

import argparse
import shlex
from typing import Any, NoReturn

from tacita.errors import InvalidInput, UnknownName
from tacita.privacy.budget import Budget

__all__ = ["ask_cell", "load_ipython_extension"]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InvalidInput(message, field="%%tacita", hint=self.format_usage().strip())


def _parser() -> _Parser:
    parser = _Parser(prog="%%tacita", add_help=False)
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--delta", type=float, default=0.0)
    parser.add_argument("--client", default="client")
    parser.add_argument("--to", help="the variable that the answer is kept in")
    parser.add_argument("--purpose", default="query")
    parser.add_argument("--shrink", default="none", choices=("none", "overall", "additive"))
    parser.add_argument("--fresh", action="store_true", help="pay for new noise although it has been answered before")
    return parser


def ask_cell(line: str, cell: str, names: dict[str, Any]) -> Any:
    """Ask what a cell has, with the client among these names, and return the answer.

    Args:
        line: Options, what stands behind `%%tacita`.
        cell: One SELECT.
        names: Variables of the notebook; `--to` adds one.
    """
    asked = _parser().parse_args(shlex.split(line))
    if asked.client not in names:
        hint = f"Make one before: {asked.client} = tc.Client(URL, TOKEN)"
        raise UnknownName(asked.client, field="client", available=(), hint=hint)
    budget = Budget.approx(asked.epsilon, asked.delta) if asked.delta else Budget.pure(asked.epsilon)
    answer = names[asked.client].sql(
        cell.strip(), budget=budget, purpose=asked.purpose, fresh=asked.fresh, shrink=asked.shrink
    )
    if asked.to:
        names[asked.to] = answer
    return answer


def load_ipython_extension(shell: Any) -> None:
    """Register the magic; IPython calls this for `%load_ext tacita`."""
    shell.register_magic_function(
        lambda line, cell: ask_cell(line, cell, shell.user_ns), magic_kind="cell", magic_name="tacita"
    )

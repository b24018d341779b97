"""Networks as text in the Bayesian Interchange Format, as far as discrete networks need it.

    variable A { type discrete [ 2 ] { yes, no }; }
    probability ( A | B ) { (low) 0.1, 0.9; default 0.5, 0.5; }

A name with other characters than letters, digits and a few signs is written in quotes. Numbers are written so that
reading them gives the same ones.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from tacita.domain import Categorical, Domain
from tacita.errors import InvalidInput
from tacita.models.network import BayesianNetwork
from tacita.tables.cells import Cells

__all__ = ["read_bif", "write_bif"]

Levels = dict[str, tuple[str, ...]]
Rows = dict[tuple[str, ...] | None, list[float]]  # by cell of the parents; None is the default
Blocks = dict[str, tuple[tuple[str, ...], Rows]]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|[{}()\[\],;|]|[^\s{}()\[\],;|"]+', re.DOTALL)
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+<>=-]*")
_ROUNDED = 1e-3  # published tables are rounded; a row may miss 1 by this and is scaled


def write_bif(network: BayesianNetwork, *, title: str = "unknown") -> str:
    """The network as text."""
    domain = network.domain
    lines = [f"network {_word(title)} {{", "}"]
    for name in domain.names:
        levels = ", ".join(_word(level) for level in domain[name].all_labels)
        lines += [f"variable {_word(name)} {{", f"  type discrete [ {domain[name].size} ] {{ {levels} }};", "}"]
    for name in domain.names:
        lines += _probability(network, name)
    return "\n".join(lines) + "\n"


def _probability(network: BayesianNetwork, name: str) -> Iterator[str]:
    parents, table = network.parents[name], network.conditionals[name]
    rows = table.values.reshape(-1, table.shape[-1])
    if not parents:
        yield f"probability ( {_word(name)} ) {{"
        yield f"  table {_numbers(rows[0])};"
    else:
        yield f"probability ( {_word(name)} | {', '.join(map(_word, parents))} ) {{"
        cells = itertools.product(*(network.domain[parent].all_labels for parent in parents))
        for cell, row in zip(cells, rows, strict=True):
            yield f"  ({', '.join(map(_word, cell))}) {_numbers(row)};"
    yield "}"


def _word(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _numbers(row: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    return ", ".join(repr(float(value)) for value in row)


def read_bif(text: str, domain: Domain | None = None) -> BayesianNetwork:
    """The network that a text describes.

    Args:
        text: What `write_bif` or another program wrote.
        domain: The attributes, with the labels that the text has as levels; plain categories if not given.
    """
    levels, blocks = _Reader(text).network()
    if domain is None:
        domain = Domain(attributes=[Categorical(name=name, levels=labels) for name, labels in levels.items()])
    for name in domain.names:
        if set(levels.get(name, ())) != set(domain[name].all_labels):
            raise InvalidInput("must have the levels of the domain", field=name)
    if set(levels) != set(domain.names):
        raise InvalidInput("must have the attributes of the domain", field="variables", value=sorted(levels))
    if set(blocks) != set(levels):
        raise InvalidInput("must have one probability block for each variable", field="probability")
    parents = {name: blocks[name][0] for name in domain.names}
    tables = {name: _table(domain, levels, name, *blocks[name]) for name in domain.names}
    return BayesianNetwork(domain=domain, parents=parents, conditionals=tables)


def _table(domain: Domain, levels: Levels, name: str, parents: tuple[str, ...], rows: Rows) -> Cells:
    """The conditional table in the domain's order of levels, which need not be the text's."""
    missing = [parent for parent in parents if parent not in levels]
    if missing:
        raise InvalidInput("must be a variable", field="parents", value=missing[0])
    over = domain.project((*parents, name))
    place = [levels[name].index(label) for label in domain[name].all_labels]
    values = []
    for cell in itertools.product(*(domain[parent].all_labels for parent in parents)):
        row = rows.get(cell, rows.get(None))
        if row is None or len(row) != len(place):
            raise InvalidInput(f"must give {len(place)} numbers for each cell of the parents", field=name, value=cell)
        if not math.isclose(sum(row), 1.0, abs_tol=_ROUNDED) or min(row) < 0:
            raise InvalidInput("must be non-negative and sum to 1", field=name, value=row)
        values.append([row[at] / math.fsum(row) for at in place])
    return Cells(over, np.array(values).reshape(over.shape))


class _Reader:
    """The words and signs of a text, read one by one."""

    def __init__(self, text: str) -> None:
        self._tokens = [token for token in _TOKEN.findall(text) if not token.startswith(("//", "/*"))]
        self._at = 0

    def _next(self) -> str:
        if self._at == len(self._tokens):
            raise InvalidInput("ends too early", field="bif")
        self._at += 1
        return str(self._tokens[self._at - 1])

    def _expect(self, *wanted: str) -> str:
        found = self._next()
        if found not in wanted:
            raise InvalidInput(f"expected {' or '.join(wanted)}", field="bif", value=found)
        return found

    def _list(self, end: str) -> list[str]:
        """Words up to `end`, with or without signs between them."""
        found = []
        while (word := self._next()) != end:
            if word not in (",", "|"):
                found.append(_unquoted(word))
        return found

    def network(self) -> tuple[Levels, Blocks]:
        """All variables with their levels, and all tables."""
        levels: Levels = {}
        blocks: Blocks = {}
        while self._at < len(self._tokens):
            kind = self._expect("network", "variable", "probability")
            if kind == "network":
                self._list("{")
                self._list("}")
            elif kind == "variable":
                _add(levels, *self._variable())
            else:
                _add(blocks, *self._block())
        return levels, blocks

    def _variable(self) -> tuple[str, tuple[str, ...]]:
        name = _unquoted(self._next())
        labels: tuple[str, ...] = ()
        self._expect("{")
        while (what := self._expect("type", "property", "}")) != "}":
            if what == "property":
                self._list(";")
                continue
            self._expect("discrete")
            self._expect("[")
            size = self._list("]")
            self._expect("{")
            labels = tuple(self._list("}"))
            self._expect(";")
            if size != [str(len(labels))]:
                raise InvalidInput(f"must have {' '.join(size)} levels", field=name, value=len(labels))
        return name, labels

    def _block(self) -> tuple[str, tuple[tuple[str, ...], Rows]]:
        self._expect("(")
        name, *parents = self._list(")") or [""]
        self._expect("{")
        rows: Rows = {}
        while (what := self._expect("(", "table", "default", "property", "}")) != "}":
            if what == "property":
                self._list(";")
                continue
            if what == "table" and parents:
                hint = "Programs disagree about the order of a plain table; write one row for each cell of the parents"
                raise InvalidInput("must be rows, not a table", field=name, hint=hint)
            cell = tuple(self._list(")")) if what == "(" else None if what == "default" else ()
            rows[cell] = [_number(name, word) for word in self._list(";")]
        return name, (tuple(parents), rows)


def _add(found: dict[str, Any], name: str, value: object) -> None:
    if name in found:
        raise InvalidInput("must be described once", field=name)
    found[name] = value


def _unquoted(word: str) -> str:
    if not word.startswith('"'):
        return word
    try:
        return str(json.loads(word))
    except ValueError:
        raise InvalidInput("must be a text in quotes", field="bif", value=word) from None


def _number(name: str, word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InvalidInput("must be a number", field=name, value=word)
    return value

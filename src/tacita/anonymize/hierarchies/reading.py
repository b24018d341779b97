"""Hierarchies in files.

    CSV     one line for each leaf, any delimiter and encoding, no header: leaf;level 1;...;root
    YAML    rows: the same as lists;  tree: nested, root first;  parents: child: parent
            a rule (`rules.RULES`): digits: {mask: [1, 2]}

and code lists (`CodeList`): a CSV file with a header, where each code has

    code,parent[,label]        its parent; a code without one is at the top
    code,level1,level2,...     its labels on each level, from the lowest
    code[,label]               parents are prefixes, as in NUTS (DE, DE1, DE11) and ISCO (2, 21, 211): the longest other
                               code that it begins with

A blank line is skipped. All faults are reported at once, with their lines.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from tacita.anonymize.hierarchies.faults import refuse
from tacita.anonymize.hierarchies.hierarchy import ROOT, Hierarchy
from tacita.anonymize.hierarchies.rules import RULES, Rule, rule_of
from tacita.common.yaml_text import load_yaml
from tacita.engines.local.files.sniff import sniff
from tacita.engines.local.files.stored import StoredFile
from tacita.engines.local.files.text import TEXT, delimiter_of
from tacita.errors import InvalidInput, TacitaError

__all__ = ["CodeList", "read_hierarchy", "read_lines"]

YAML = (".yaml", ".yml", ".json")
_CODE = ("code", "value", "leaf", "id", "notation")
_PARENT = ("parent", "parent_code", "parentcode", "broader")
_LABEL = ("label", "name", "title", "description", "text")
_LARGEST = 1 << 26  # bytes of a file
_LONGEST, _DEEPEST, _COMPARED = 200, 64, 500  # characters of a code, levels, codes that a misspelt one is compared with


def read_hierarchy(path: str | Path) -> Hierarchy | Rule:
    """Read a hierarchy, or a rule that makes one, from a CSV or YAML file; it is named after the file."""
    file = Path(path)
    if file.suffix.lower() not in YAML:
        return Hierarchy.from_rows(file.stem, [line for _, line in read_lines(file)])
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InvalidInput("cannot be read as UTF-8 text", field="hierarchy", value=file) from None
    data = load_yaml(text, field=f"hierarchy {file.name}")
    if isinstance(data, Mapping) and len(data) == 1 and (name := str(next(iter(data)))) in RULES:
        return rule_of(name, data[name], field=file.stem)
    return Hierarchy.from_dict(file.stem, data)


def read_lines(path: str | Path) -> list[tuple[int, list[str]]]:
    """Lines of a delimited text file as texts without spaces around them, numbered; blank lines are left out."""
    stored = StoredFile(str(path))
    try:
        if stored.suffix not in TEXT:
            raise InvalidInput("must end in .csv, .yaml or .json", field="hierarchy", value=Path(path).name)
        dialect = sniff(stored, {"skip": 0}, values=False).dialect
        with stored.stream() as stream:
            content = stream.read(_LARGEST + 1)
    except TacitaError as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(error.rule, field="hierarchy", value=Path(path).name, hint=error.hint) from None
    except OSError:
        raise InvalidInput("cannot be read", field="hierarchy", value=Path(path).name) from None
    if len(content) > _LARGEST:
        raise InvalidInput(f"must have at most {_LARGEST >> 20} MiB", field="hierarchy", value=Path(path).name)
    try:
        text = content.decode(dialect.encoding).removeprefix("\ufeff")
    except UnicodeDecodeError:
        rule = f"cannot be read as {dialect.encoding} text"
        raise InvalidInput(rule, field="hierarchy", value=Path(path).name, hint="Save it as UTF-8") from None
    lines = _split(text, ";", '"')  # as `Hierarchy.write` writes it
    if len({len(row) for _, row in lines}) != 1 or len(lines[0][1]) < 2:
        lines = _split(text, delimiter_of(dialect, stored.suffix), dialect.quote or None)
    return lines


def _split(text: str, delimiter: str, quote: str | None) -> list[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, quotechar=quote)
    try:
        lines = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error:  # a value that is longer than any label
        raise InvalidInput("must be text with delimiters", field="hierarchy") from None
    return [(number, row) for number, row in lines if any(row)]


@dataclass(frozen=True, kw_only=True)
class CodeList:
    """Codes with the path of each from the top, and labels.

    Attributes:
        name: Its name; shown in errors.
        above: For each code the labels above it, the lowest first, without the root.
        labels: Text of some codes.
    """

    name: str
    above: Mapping[str, tuple[str, ...]]
    labels: Mapping[str, str]

    @classmethod
    def read(cls, path: str | Path) -> CodeList:
        """Read a code list from a CSV file."""
        return cls.from_lines(Path(path).stem, read_lines(path))

    @classmethod
    def from_lines(cls, name: str, lines: Sequence[tuple[int, Sequence[str]]]) -> CodeList:
        """From numbered lines, the header first."""
        if not lines:
            raise InvalidInput("needs a header and a line for each code", field=name)
        (_, header), *body = lines
        words = [word.lower() for word in header]
        ragged = [
            f"line {at} has {len(row)} values instead of {len(words)}" for at, row in body if len(row) != len(words)
        ]
        refuse(name, ragged)
        code = next((at for at, word in enumerate(words) if word in _CODE), 0)
        parent = next((at for at, word in enumerate(words) if word in _PARENT), None)
        label = next((at for at, word in enumerate(words) if word in _LABEL and at != code), None)
        levels = [at for at in range(len(words)) if at not in (code, parent, label)]
        refuse(name, _double(body, code))
        if len(levels) > _DEEPEST:
            raise InvalidInput(f"must have at most {_DEEPEST} levels", field=name, value=len(levels))
        labels = {} if label is None else {row[code]: row[label] for _, row in body if row[label]}
        codes = [row[code] for _, row in body]
        if parent is not None:
            above = _by_parent(name, {row[code]: row[parent] for _, row in body}, [at for at, _ in body])
        elif levels:
            above = {row[code]: tuple(row[at] for at in levels) for _, row in body}
        else:
            above = _by_prefix(codes)
        return cls(name=name, above=above, labels=labels)

    def hierarchy(self, levels: Sequence[str] | None = None, *, labelled: bool = False) -> Hierarchy:
        """The hierarchy of some codes, or of all that have no code below them.

        Args:
            levels: Codes that are leaves, such as the levels of a schema; those that are not in the list are named.
            labelled: Whether groups are called `code label`. Leaves keep their codes: they must match the data.
        """
        inner = {code for path in self.above.values() for code in path}
        leaves = [code for code in self.above if code not in inner] if levels is None else list(levels)
        refuse(self.name, self._unknown(leaves))

        def text(code: str) -> str:
            return f"{code} {self.labels[code]}" if labelled and code in self.labels else code

        ways = [([text(code) for code in reversed(self.above[leaf])], leaf) for leaf in leaves]
        longest = max((len(groups) for groups, _ in ways), default=0)
        paths = [(ROOT, *groups, *[text(leaf)] * (longest - len(groups)), leaf) for groups, leaf in ways]
        return Hierarchy(name=self.name, paths=tuple(paths))

    def _unknown(self, leaves: Sequence[str]) -> Iterator[str]:
        for leaf in leaves:
            if leaf not in self.above:
                near = get_close_matches(leaf, list(self.above)[:_COMPARED], n=1)
                yield f"has no code {leaf!r}" + (f". Did you mean {near[0]!r}?" if near else "")


def _double(body: Sequence[tuple[int, Sequence[str]]], code: int) -> Iterator[str]:
    first: dict[str, int] = {}
    for at, row in body:
        if not row[code]:
            yield f"line {at} has no code"
        elif len(row[code]) > _LONGEST:
            yield f"the code on line {at} has more than {_LONGEST} characters"
        elif first.setdefault(row[code], at) != at:
            yield f"the code {row[code]!r} is there twice, on lines {first[row[code]]} and {at}"


def _by_parent(name: str, parents: Mapping[str, str], lines: Sequence[int]) -> dict[str, tuple[str, ...]]:
    """Codes above each code; a parent that is no code is refused, unless no code is at the top by itself."""
    tops = any(not parent for parent in parents.values())
    refuse(name, _orphans(parents, lines) if tops else ())
    refuse(name, _circles(parents))
    found: dict[str, tuple[str, ...]] = {}
    for code in parents:
        way: list[str] = []
        above = parents[code]
        while above:
            way.append(above)
            if len(way) > _DEEPEST:
                raise InvalidInput(f"must have at most {_DEEPEST} levels", field=name, value=code)
            above = parents.get(above, "")
        found[code] = tuple(way)
    return found


def _orphans(parents: Mapping[str, str], lines: Sequence[int]) -> Iterator[str]:
    for at, (code, parent) in zip(lines, parents.items(), strict=True):
        if parent and parent not in parents:
            near = get_close_matches(parent, list(parents)[:_COMPARED], n=1)
            meant = f". Did you mean {near[0]!r}?" if near else ""
            yield f"line {at}: the parent {parent!r} of {code!r} is no code{meant}"


def _circles(parents: Mapping[str, str]) -> Iterator[str]:
    """Each circle once, by the code that comes first in the list."""
    state: dict[str, int] = {}  # number of the walk that met it
    for walk, start in enumerate(parents):
        at = start
        while at in parents and at not in state:
            state[at] = walk
            at = parents[at]
        if at in parents and state.get(at) == walk and parents[at]:
            yield f"goes round in a circle at {at!r}"


def _by_prefix(codes: Sequence[str]) -> dict[str, tuple[str, ...]]:
    known = set(codes)
    return {code: tuple(code[:n] for n in range(len(code) - 1, 0, -1) if code[:n] in known) for code in codes}

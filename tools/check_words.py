"""Plain words in docstrings, comments, errors, help and docs: refuses those for which the field has a term.

`python tools/check_words.py [ROOM ...]`: prints every breach in these rooms of src/tacita; all checked rooms and all
Markdown files if none is named. Exit status 1 when there is one. `docs/glossary.md` has the terms.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / "src" / "tacita"
CHECKED = (
    "anonymize",
    "assess",
    "check",
    "cli",
    "client",
    "collect",
    "common",
    "demo",
    "domain",
    "engines",
    "errors",
    "learn",
    "models",
    "noise",
    "plans",
    "privacy",
    "query",
    "recipes",
    "report",
    "server",
    "settings",
    "store",
    "synthesize",
    "tables",
    "testing",
    "wire",
)
"""Rooms and modules that are held to it; the console follows."""

PLAIN = {
    "nobody": "no one, null",
    "everybody": "all respondents, all people",
    "somebody": "someone, an attacker, a person",
    "anybody": "anyone",
    "whoever": "anyone who, the person who",
    "tell": "reveal, state, distinguish",
    "tells": "reveals, states, distinguishes",
    "telling": "revealing, stating",
    "told": "revealed, stated",
    "made-up": "synthetic, simulated",
    "laid over": "joined",
    "lay over": "join",
    "lays over": "joins",
}
_WORDS = re.compile(r"\b(" + "|".join(PLAIN) + r")\b", re.IGNORECASE)
_CLAUSE = re.compile(r"^(What|Who|Whose|Which|Where|When|How)\b")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_TEXT = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}


def breaches(source: str) -> Iterator[tuple[int, str]]:
    """Lines of a file with words that have a plain one, and docstrings that begin with a relative clause."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in _TEXT:
            for offset, line in enumerate(token.string.split("\n")):
                for word in _WORDS.findall(line):
                    yield token.start[0] + offset, f"{word!r}: {PLAIN[word.lower()]}"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found = _CLAUSE.match(ast.get_docstring(node) or "")
            if found:
                line = node.body[0].lineno
                yield line, f"begins with {found[0]!r}: begin with a verb in the imperative or with a noun"


def breaches_in_prose(text: str) -> Iterator[tuple[int, str]]:
    """Lines of a Markdown file with words that have a plain one; code is left out."""
    without = _CODE.sub(lambda found: "\n" * found.group().count("\n"), text)
    for number, line in enumerate(without.split("\n"), start=1):
        for word in _WORDS.findall(line):
            yield number, f"{word!r}: {PLAIN[word.lower()]}"


def pages() -> list[Path]:
    """Markdown files of the project, without the glossary, which names the words that it replaces."""
    top = ROOT.parent.parent
    found = [*top.glob("*.md"), *(top / "docs").rglob("*.md"), *ROOT.rglob("*.md"), *(top / "studies").rglob("*.md")]
    return sorted(page for page in found if page.name != "glossary.md")


def main(rooms: list[str]) -> int:
    wrong = []
    for page in [] if rooms else pages():
        for line, rule in breaches_in_prose(page.read_text(encoding="utf-8")):
            wrong.append(f"{page.relative_to(ROOT.parent.parent)}:{line}: {rule}")
    for room in rooms or CHECKED:
        place = ROOT / room
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]:
            for line, rule in sorted(breaches(file.read_text(encoding="utf-8"))):
                wrong.append(f"{file.relative_to(ROOT.parent.parent)}:{line}: {rule}")
    print("\n".join(wrong) or "words: plain")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

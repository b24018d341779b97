"""Plain words in docstrings, comments, errors, help and docs: refuses those for which the field has a term.

`python tools/check_words.py [ROOM ...]`: prints every breach in these rooms of src/tacita; all checked rooms, all
Markdown files and the texts of the respondents' page if none is named. Exit status 1 when there is one.
`docs/glossary.md` has the terms.

Texts that people read on a page or in a terminal (`shown_texts`, `help_texts`) have rules of their own: more words that
have a plain one, no sentence that begins with a relative clause, no sentence of more than 35 words; in the console no
shell command and no route, and an explanation beside every field for an epsilon or a budget.
"""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import tokenize
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / "src" / "tacita"
RESPONDENTS = ROOT / "server" / "respond" / "words" / "en.json"
CHECKED = (
    "anonymize",
    "assess",
    "check",
    "cli",
    "client",
    "collect",
    "common",
    "console",
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
"""Rooms and modules that are checked."""

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
SHOWN = {
    "made up": "synthetic, simulated",
    "whatever": "any",
    "for ever": "cannot be undone, without end",
    "afresh": "again",
    "anew": "again",
    "by lot": "at random",
    "liars?": "false reports",
    "hangs? together": "depend on each other, are correlated",
    "go together": "depend on each other",
    "give away": "reveal",
    "gives away": "reveals",
    "stands?": "is stored, is listed",
    "leaves": "is released",
    "promises most": "automatic (recommended)",
}
"""Words that have a plain one, besides those of `PLAIN`, in texts that users read."""
MOST_WORDS = 35
_SHOWN = re.compile(r"\b(" + "|".join([*PLAIN, *SHOWN]) + r")\b", re.IGNORECASE)
_RELATIVE = re.compile(r"^(What|Who|Whose|Which|Where|How)\b(?!-if)")
_SENTENCE = re.compile(r"(?<=[.?!])\s+")
_COMMAND = re.compile(r"\btacita [a-z]|(?<!\S)/v\d+/")
_LOSS = re.compile(r"epsilon|budget|spend", re.IGNORECASE)
_FIELDS = {"slider", "number", "field"}
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


def _words_of(node: ast.AST | None) -> str | None:
    """Text of a literal; a blank for each value that an f-string inserts."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "N" for part in node.values)
    return None


def shown_texts(source: str) -> Iterator[tuple[int, str]]:
    """Literals of a page that may be shown: all but docstrings and single words in lower case."""
    tree = ast.parse(source)
    hidden = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    hidden |= {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        text = None if node in hidden else _words_of(node)
        if text and (" " in text.strip() or text[0].isupper()):
            yield node.lineno, text  # type: ignore[attr-defined]


def help_texts(source: str) -> Iterator[tuple[int, str]]:
    """Help of the command line: `help=`, `Verb(...)`, and docstrings of commands."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            named = isinstance(node.func, ast.Name) and node.func.id == "Verb"
            found = [each.value for each in node.keywords if each.arg == "help"] + (node.args[:1] if named else [])
            yield from ((each.lineno, text) for each in found if (text := _words_of(each)))
        if isinstance(node, ast.FunctionDef) and any("command" in ast.unparse(each) for each in node.decorator_list):
            yield node.body[0].lineno, ast.get_docstring(node) or ""


def breaches_in_text(text: str) -> Iterator[str]:
    """Rules that one text for users breaks."""
    for word in _SHOWN.findall(text):
        yield f"{word!r}: has a plain word"
    for sentence in _SENTENCE.split(text.strip()):
        found = _RELATIVE.match(sentence)
        if found and not sentence.endswith("?"):
            yield f"a sentence begins with {found[0]!r}: begin with a noun or a verb"
        if len(sentence.split()) > MOST_WORDS:
            yield f"a sentence of {len(sentence.split())} words: at most {MOST_WORDS}"


def breaches_on_page(source: str) -> Iterator[tuple[int, str]]:
    """Breaches of the texts of a page of the console."""
    for line, text in shown_texts(source):
        yield from ((line, rule) for rule in breaches_in_text(text))
        if " " in text and _COMMAND.search(text):
            yield line, "a shell command or a route: name the page or the person instead"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _FIELDS:
            label = ast.unparse(node.args[0]) if node.args else ""
            if _LOSS.search(label) and not any(each.arg == "words" for each in node.keywords):
                yield node.lineno, f"field {label}: explain epsilon, words=words.EPSILON"


def breaches_in_help(source: str) -> Iterator[tuple[int, str]]:
    """Breaches of the help of a module of the command line."""
    for line, text in help_texts(source):
        yield from ((line, rule) for rule in breaches_in_text(text))


def pages() -> list[Path]:
    """Markdown files of the project, without the glossary, which names the words that it replaces."""
    top = ROOT.parent.parent
    found = [*top.glob("*.md"), *(top / "docs").rglob("*.md"), *ROOT.rglob("*.md"), *(top / "studies").rglob("*.md")]
    return sorted(page for page in found if page.name != "glossary.md")


_RULES: dict[str, Callable[[str], Iterable[tuple[int, str]]]] = {"console": breaches_on_page, "cli": breaches_in_help}


def main(rooms: list[str]) -> int:
    wrong = []
    for page in [] if rooms else pages():
        for line, rule in breaches_in_prose(page.read_text(encoding="utf-8")):
            wrong.append(f"{page.relative_to(ROOT.parent.parent)}:{line}: {rule}")
    for key, text in () if rooms else json.loads(RESPONDENTS.read_text(encoding="utf-8")).items():
        wrong += [f"{RESPONDENTS.relative_to(ROOT.parent.parent)}: {key}: {rule}" for rule in breaches_in_text(text)]
    for room in rooms or CHECKED:
        place = ROOT / room
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]:
            source = file.read_text(encoding="utf-8")
            found = [*breaches(source), *_RULES.get(room, lambda _: ())(source)]
            for line, rule in sorted(set(found)):
                wrong.append(f"{file.relative_to(ROOT.parent.parent)}:{line}: {rule}")
    print("\n".join(wrong) or "words: plain")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

import importlib.util
import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

PATH = Path(__file__).parents[2] / "tools" / "wrap_docs.py"
SPEC = importlib.util.spec_from_file_location("wrap_docs", PATH)
wrap_docs = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(wrap_docs)

WORDS = "some words about a thing " * 8


def rendered(text):
    return re.sub(r"\s+", " ", MarkdownIt().enable("table").render(text))


@pytest.mark.parametrize(
    "text",
    [
        WORDS,
        f"- {WORDS}\n- {WORDS}\n  1. {WORDS}",
        f"{WORDS} `code with {WORDS}` and [a link with words](https://example.org/a) {WORDS}",
        f"```\n{WORDS}\n```\n{WORDS}",
        f"| a | b |\n|---|---|\n| {WORDS} | c |",
        f"# {WORDS}\n\n> {WORDS}\n\n{WORDS}",
        "word " * 19 + "abcd 1. this is no list",
        "word " * 19 + "abcd - nor is this, and it is long enough to be wrapped at some place of the line",
        f"    {WORDS}\n\n{WORDS}",
    ],
)
def test_wrapping_changes_no_meaning_and_is_stable(text):
    wrapped = wrap_docs.wrap(text)
    assert rendered(wrapped) == rendered(text)
    assert wrap_docs.wrap(wrapped) == wrapped


def test_prose_has_at_most_100_columns():
    lines = wrap_docs.wrap(f"{WORDS}\n\n- {WORDS}").split("\n")
    assert len(lines) > 3
    assert max(map(len, lines)) <= 100


def test_the_docs_are_wrapped(capsys):
    assert wrap_docs.main(["--check"]) == 0, capsys.readouterr().out

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "tools" / "check_words.py"
SPEC = importlib.util.spec_from_file_location("check_words", PATH)
check_words = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check_words)


def test_the_checked_rooms_are_clean(capsys):
    assert check_words.main([]) == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    "source",
    [
        '"""Rows of nobody."""',
        "# what this tells an attacker",
        'raise ValueError(f"{x} is laid over {y}")',
        'def f():\n    """What is kept of a row."""',
        'class C:\n    """Where rows are."""',
    ],
)
def test_breaches_are_found(source):
    assert list(check_words.breaches(source))


@pytest.mark.parametrize(
    "source",
    ['"""Synthetic rows of no one."""', "# what an attacker learns", "nobody = 1", 'def f():\n    """Return a row."""'],
)
def test_plain_words_pass(source):
    assert not list(check_words.breaches(source))


def test_prose_is_checked_and_code_is_not():
    text = "One line.\nNobody is `told`.\n\n```\nnobody\n```\nIt tells everybody.\n"
    found = list(check_words.breaches_in_prose(text))
    assert [line for line, _ in found] == [2, 7, 7]
    assert check_words.pages()

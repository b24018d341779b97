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


@pytest.mark.parametrize(
    "source",
    [
        'kit.note("Rows of nobody.")',
        'kit.note("Nothing leaves.")',
        'kit.note("Budget is spent for ever.")',
        'kit.note(f"{name}: the attributes hang together.")',
        'kit.note("What is kept of a row is shown.")',
        'kit.note("All is well. Who has a token may look.")',
        f'kit.note("{"word " * 36}")',
        'kit.note("Run tacita budget export.")',
        'raise InvalidInput("is wrong", hint="See GET /v1/datasets for more")',
        'kit.slider("Epsilon", options, 1.0)',
        'kit.number("New total budget", 1.0, low=0)',
        'kit.slider(f"Spend ({unit})", options, 1.0)',
    ],
)
def test_breaches_on_pages_are_found(source):
    assert list(check_words.breaches_on_page(source))


@pytest.mark.parametrize(
    "source",
    [
        '"""What is kept of a row leaves."""',
        'await api.get(f"/v1/datasets/{name or id}/budget")',
        'kit.heading("What if?")',
        'kit.link("What-if questions", path)',
        f'kit.note("{"word " * 18}. {"word " * 18}.")',
        'kit.slider("Epsilon", options, 1.0, words=words.EPSILON)',
        'kit.text("Budget")',
    ],
)
def test_plain_pages_pass(source):
    assert not list(check_words.breaches_on_page(source))


@pytest.mark.parametrize(
    "source",
    [
        'typer.Option(help="What to predict.")',
        'typer.Option("--out", help=f"{name} leaves.")',
        'VERBS = {"collect": Verb("Collect from people who tell nobody.", "collect")}',
        f'@app.command()\ndef run():\n    """Begin. {"word " * 36}"""',
    ],
)
def test_breaches_in_help_are_found(source):
    assert list(check_words.breaches_in_help(source))


def test_only_help_is_held_to_the_rules_of_help():
    source = 'def f():\n    """Where rows are."""\ntyper.Option(help="Attribute to predict.")\nprint("What leaves")\n'
    assert not list(check_words.breaches_in_help(source))


def test_prose_is_checked_and_code_is_not():
    text = "One line.\nNobody is `told`.\n\n```\nnobody\n```\nIt tells everybody.\n"
    found = list(check_words.breaches_in_prose(text))
    assert [line for line, _ in found] == [2, 7, 7]
    assert check_words.pages()

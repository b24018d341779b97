"""Cells of SQL in a notebook, in a real IPython shell."""

import sys

import pytest
from IPython.core.interactiveshell import InteractiveShell

from tacita.errors import InvalidInput
from tacita.privacy.budget import Budget


class Recording:
    """A client that keeps what it is asked."""

    def __init__(self):
        self.asked = []

    def sql(self, text, **options):
        self.asked.append((text, options))
        return f"answer {len(self.asked)}"


@pytest.fixture
def shell(monkeypatch):
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # a shell puts its own there
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "tacita")
    shell.user_ns["client"] = Recording()
    yield shell
    shell.reset(new_session=True)


def test_a_cell_is_asked_and_its_answer_kept(shell):
    done = shell.run_cell("%%tacita --epsilon 0.5 --to found\nSELECT COUNT(*)\nFROM census\n")
    assert done.result == shell.user_ns["found"] == "answer 1"
    text, options = shell.user_ns["client"].asked[0]
    assert text == "SELECT COUNT(*)\nFROM census"
    assert options == {"budget": Budget.pure(0.5), "purpose": "query", "fresh": False, "shrink": "none"}


def test_a_delta_and_another_client(shell):
    shell.user_ns["other"] = Recording()
    shell.run_cell(
        "%%tacita --epsilon 1 --delta 1e-6 --client other --fresh --shrink overall --purpose 'a look'\nSELECT 1"
    )
    options = shell.user_ns["other"].asked[0][1]
    assert options == {"budget": Budget.approx(1.0, 1e-6), "purpose": "a look", "fresh": True, "shrink": "overall"}
    assert shell.user_ns["client"].asked == []


@pytest.mark.parametrize(
    "line", ["", "--epsilon much", "--epsilon 1 --client nothing", "--epsilon 1 --nonsense", "--epsilon -1"]
)
def test_wrong_options_are_explained_and_nothing_is_asked(shell, line):
    done = shell.run_cell(f"%%tacita {line}\nSELECT 1")
    assert isinstance(done.error_in_exec, InvalidInput)
    assert shell.user_ns["client"].asked == []

from pathlib import Path

import pytest

from tacita.console.look.kit import hint_of, plain_hint
from tacita.errors import InvalidInput, NotPublic

STATIC = Path(__file__).parents[3] / "src" / "tacita" / "console" / "static"


@pytest.mark.parametrize(
    "hint", ["Run `tacita schema check`", "tacita budget export has all", "PUT /v1/datasets/people/policy sets it"]
)
def test_a_page_names_no_shell_command_and_no_route(hint):
    assert plain_hint(hint) == ""
    assert hint_of(InvalidInput("is wrong", hint=hint)) == ""


def test_other_hints_are_shown():
    assert hint_of(InvalidInput("is wrong", hint="Write a number")) == "Write a number"
    assert hint_of(InvalidInput("is wrong")) == ""


def test_a_draft_is_confirmed_on_the_page():
    found = hint_of(NotPublic("is private", hint="Run `tacita schema confirm`"))
    assert "confirm" in found
    assert "tacita" not in found


def test_the_sign_in_page_names_no_shell_command():
    assert plain_hint((STATIC / "enter.html").read_text(encoding="utf-8").replace("/console/", "")) != ""

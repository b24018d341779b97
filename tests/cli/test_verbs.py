"""Verbs load on use, and the list of them says what they say themselves."""

import subprocess
import sys

import pytest
import typer

from tacita.cli import app
from tacita.cli.verbs import VERBS

GROUP = typer.main.get_command(app)


@pytest.mark.parametrize("name", VERBS)
def test_the_list_says_what_the_verb_says(name):
    command = GROUP.get_command(None, name)
    assert command.name == name
    assert command.help.split("\n")[0] == VERBS[name].help


def test_commands_of_other_modules_are_there():
    assert {"plan", "create", "tables", "simulate"} <= set(GROUP.get_command(None, "collect").commands)


def test_help_loads_no_verb():
    """Nothing of the library is imported to write the list, and so it takes no time."""
    script = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from tacita.cli import app\n"
        "result = CliRunner().invoke(app, ['--help'])\n"
        "assert result.exit_code == 0 and 'Release k-anonymous rows' in result.output, result.output\n"
        "heavy = {'numpy', 'numba', 'pyarrow', 'scipy', 'pydantic', 'opendp', 'tacita.domain'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)

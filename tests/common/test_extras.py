"""Without the extras everything but the services works, and these say what to install."""

import subprocess
import sys

import pytest

from tacita.common.extras import load_module
from tacita.errors import InvalidInput

WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        top = name.split(".")[0]
        if top in ("fastapi", "starlette", "uvicorn", "nicegui", "huey", "prometheus_client", "msgspec", "torch"):
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Missing())
from typer.testing import CliRunner
from tacita.cli import app
from tacita.cli.verbs import VERBS
from tacita.errors import InvalidInput

run = CliRunner().invoke
for verb in VERBS:
    assert run(app, [verb, "--help"]).exit_code == 0, verb
import tacita
tacita.Client, tacita.NoisyTables, tacita.Session
refused = run(app, ["serve"]).exception
assert isinstance(refused, InvalidInput), refused
assert refused.hint == 'Install them with: pip install "tacita[server]"', refused.hint
"""


def test_a_small_installation_has_all_but_the_services():
    subprocess.run([sys.executable, "-c", WITHOUT], check=True)


def test_a_fault_of_our_own_is_not_taken_for_a_missing_package():
    with pytest.raises(ImportError):
        load_module("tacita.no_such_module", extra="server", what="it")
    with pytest.raises(InvalidInput, match="it needs packages that are not installed"):
        load_module("no_such_package_of_anyone", extra="server", what="it")

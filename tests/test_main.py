"""The command line without a command on the path."""

import subprocess
import sys


def test_the_module_is_the_command():
    shown = subprocess.run([sys.executable, "-m", "tacita", "--help"], capture_output=True, text=True, check=True)
    assert "synthesize" in shown.stdout

"""The JavaScript client passes its own tests, the shared vectors among them."""

import shutil
import subprocess
from pathlib import Path

import pytest

CLIENT = Path(__file__).parents[2] / "clients/js"
NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_node_tests_pass():
    done = subprocess.run([NODE, "--test"], cwd=CLIENT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr
    passed = [line for line in done.stdout.splitlines() if line.lstrip("# ℹ").startswith("pass ")]
    assert passed, done.stdout[-500:]
    assert int(passed[0].split()[-1]) > 400, "the tests were not found"

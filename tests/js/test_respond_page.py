"""The modules of the respondent's page pass their own tests, in Node, laid out as the service serves them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tacita.server.respond.files import load

NODE = shutil.which("node")
TESTS = Path(__file__).parent / "respond"
VECTORS = Path(__file__).parents[2] / "spec/vectors/blind.json"


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_node_tests_pass(tmp_path):
    for name, (content, _) in load().content.items():
        file = tmp_path / "page" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    shutil.copytree(TESTS, tmp_path / "test")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    shown = os.environ | {"BLIND_VECTORS": str(VECTORS)}
    done = subprocess.run(
        [NODE, "--test"], cwd=tmp_path, env=shown, capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr
    passed = [line for line in done.stdout.splitlines() if line.lstrip("# ℹ").startswith("pass ")]
    assert passed, done.stdout[-500:]
    assert int(passed[0].split()[-1]) > 30, "the tests were not found"

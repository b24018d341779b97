"""The worked example of the guide runs as it stands."""

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "learn.md"


def test_the_worked_example_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL):
        exec(block, names)
    assert names["model"].named["age"] == pytest.approx(0.4, abs=0.1)
    young, old = names["predicted"].to_pylist()
    assert 15 < young < 30 < old < 75
    said = capsys.readouterr().out
    assert "is private" in said
    assert "No guarantee" in said

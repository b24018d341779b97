"""The notebooks run from start to end, and were built from their sources."""

import importlib.util
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_SPEC = importlib.util.spec_from_file_location("notebooks", ROOT / "tools" / "notebooks.py")
tool = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(tool)

SOURCE = """# %% [markdown]
# # Title
#
# A text.

# %%
x = 1
x + 1

# %%
print("shown")
"""


def test_cells_are_read():
    assert tool.cells_of(SOURCE) == [
        ("markdown", "# Title\n\nA text."),
        ("code", "x = 1\nx + 1"),
        ("code", 'print("shown")'),
    ]


def test_outputs_are_kept_and_errors_are_raised():
    book = tool.run(SOURCE)
    assert book.cells[1].outputs[0]["data"]["text/plain"] == "2"
    assert book.cells[2].outputs[0]["text"] == "shown\n"
    with pytest.raises(Exception, match="ZeroDivisionError"):
        tool.run("# %%\n1 / 0\n")


def test_a_notebook_of_another_text_is_stale(tmp_path):
    (tmp_path / "a.py").write_text(SOURCE)
    assert tool.stale(tmp_path / "a.py")
    import nbformat

    nbformat.write(tool.notebook_of(SOURCE), tmp_path / "a.ipynb")
    assert not tool.stale(tmp_path / "a.py")
    (tmp_path / "a.py").write_text(SOURCE.replace("x + 1", "x + 2"))
    assert tool.stale(tmp_path / "a.py")


@pytest.mark.parametrize("path", tool.sources(), ids=lambda path: path.stem)
def test_a_notebook_runs(path):
    assert not tool.stale(path), "run `make notebooks`"
    if path.stem == "headlines":
        pytest.importorskip("torch")
    book = tool.run(path.read_text(encoding="utf-8"))
    outputs = [each for cell in book.cells if cell.cell_type == "code" for each in cell.outputs]
    assert not [each for each in outputs if each.get("name") == "stderr"], "a warning is shown"
    kinds = {kind for each in outputs if "data" in each for kind in each["data"]}
    assert "image/svg+xml" in kinds or path.stem == "several_owners"
    for each in outputs:
        if "image/svg+xml" in each.get("data", {}):
            ET.fromstring(each["data"]["image/svg+xml"])
    assert path.stem in (ROOT / "notebooks" / "README.md").read_text()

"""Build the notebooks from their sources, and run them.

A source is a Python file: `# %% [markdown]` begins a text whose lines are comments, `# %%` begins code. The notebook is
run in a folder of its own, and kept with its outputs, so that it can be read without running it.

    python tools/notebooks.py              build all
    python tools/notebooks.py steward      build one
    python tools/notebooks.py --check      only compare: are notebooks built from the sources as they are?
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "notebooks"
SECONDS = 600
_CODE, _TEXT = "# %%", "# %% [markdown]"


def cells_of(source: str) -> list[tuple[str, str]]:
    """Return the cells of a source, each as `markdown` or `code` and its text."""
    found: list[tuple[str, list[str]]] = []
    for line in source.splitlines():
        if line.rstrip() == _TEXT:
            found.append(("markdown", []))
        elif line.rstrip() == _CODE:
            found.append(("code", []))
        elif found:
            kind, lines = found[-1]
            lines.append(line.removeprefix("#").removeprefix(" ") if kind == "markdown" else line)
    return [(kind, "\n".join(lines).strip("\n")) for kind, lines in found]


def notebook_of(source: str) -> Any:
    """Return a notebook without outputs. Its cells have the same ids each time."""
    from nbformat import v4

    book = v4.new_notebook()
    book.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    for number, (kind, text) in enumerate(cells_of(source)):
        cell = v4.new_markdown_cell(text) if kind == "markdown" else v4.new_code_cell(text)
        cell["id"] = hashlib.sha256(f"{number}{text}".encode()).hexdigest()[:12]
        book.cells.append(cell)
    return book


def run(source: str) -> Any:
    """Run a source in an empty folder; returns the notebook with outputs, or raises the error of a cell."""
    from nbclient import NotebookClient

    book = notebook_of(source)
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            book, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": folder}}, record_timing=False
        )
        client.execute()
    return book


def sources() -> list[Path]:
    """Return the sources, in order."""
    return sorted(FOLDER.glob("*.py"))


def stale(path: Path) -> bool:
    """Return whether the notebook of a source is missing, or was built from another text."""
    import nbformat

    built = path.with_suffix(".ipynb")
    if not built.is_file():
        return True
    kept = nbformat.read(built, as_version=4)
    return [(cell.cell_type, cell.source) for cell in kept.cells] != cells_of(path.read_text(encoding="utf-8"))


def main() -> int:
    """Build or check."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="Names of notebooks; all if none is given.")
    parser.add_argument("--check", action="store_true", help="Only compare.")
    given = parser.parse_args()
    chosen = [path for path in sources() if not given.names or path.stem in given.names]
    if given.check:
        old = [path.stem for path in chosen if stale(path)]
        print(f"not built from their sources, run `make notebooks`: {', '.join(old)}" if old else "notebooks: built")
        return bool(old)
    import nbformat

    for path in chosen:
        nbformat.write(run(path.read_text(encoding="utf-8")), path.with_suffix(".ipynb"))
        print(path.with_suffix(".ipynb").name)
    return 0


if __name__ == "__main__":
    sys.exit(main())

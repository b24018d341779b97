"""The quick tests under every Python that is there: `make pythons [ONLY=3.13]`.

Looks for `python3.11` to `python3.15` on the PATH. Each gets an environment of its own in `.pythons/`, which is used
again, with the exact versions of constraints.txt; where one of them has no package for this Python, with the newest
that pyproject.toml allows. Says at the end which passed, which failed and which are not there.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = tuple(f"3.{minor}" for minor in range(11, 16))
QUIET = ("--quiet", "--disable-pip-version-check")
# the test whether an environment is up to date: what it was made from is the same
SOURCES = ("pyproject.toml", "constraints.txt")

Run = Callable[[Sequence[str]], int]


def run(command: Sequence[str]) -> int:
    """Run a command in the checkout; its own sources come before those that the environment knows."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def environment_of(version: str, interpreter: str, folder: Path, do: Run) -> Path | None:
    """Make the environment of an interpreter and return its Python; None if nothing can be installed there."""
    home = folder / version
    python, ready = home / "bin" / "python", home / "ready"
    made_from = "".join((ROOT / name).read_text(encoding="utf-8") for name in SOURCES)
    if ready.is_file() and ready.read_text(encoding="utf-8") == made_from:
        return python
    if do([interpreter, "-m", "venv", "--clear", str(home)]):
        return None
    install = [str(python), "-m", "pip", "install", *QUIET, "-e", ".[dev]"]
    if do([*install, "-c", "constraints.txt"]):
        print(f"== {version}: not with the versions of constraints.txt; trying the newest", flush=True)
        if do(install):
            return None
    ready.write_text(made_from, encoding="utf-8")
    return python


def main(
    versions: Sequence[str],
    *,
    find: Callable[[str], str | None] = shutil.which,
    do: Run = run,
    folder: Path = ROOT / ".pythons",
) -> int:
    """Test each version; 1 if one fails or none is there."""
    outcome: dict[str, list[str]] = {"passed": [], "failed": [], "not found": []}
    for version in versions:
        interpreter = find(f"python{version}")
        if interpreter is None:
            outcome["not found"].append(version)
            continue
        print(f"== Python {version}: {interpreter}", flush=True)
        python = environment_of(version, interpreter, folder, do)
        fine = python is not None and do([str(python), "tools/check.py", "--quick"]) == 0
        outcome["passed" if fine else "failed"].append(version)
    print("; ".join(f"{word}: {', '.join(found)}" for word, found in outcome.items() if found), flush=True)
    return int(bool(outcome["failed"]) or not outcome["passed"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Run the quick tests under every Python on the PATH.")
    parser.add_argument("only", nargs="*", help="versions, such as 3.13; 3.11 to 3.15 by default")
    sys.exit(main(parser.parse_args().only or VERSIONS))

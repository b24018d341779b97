"""All checks, in the order in which they fail fastest: what `make test` and `make lint` run."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CODE = ("src", "tests", "tools", "bench")

LINT = [
    ("format", ["-m", "ruff", "format", "--check", "--quiet", *CODE]),
    ("lint", ["-m", "ruff", "check", "--quiet", *CODE]),
    ("types", ["-m", "mypy"]),
    ("imports", ["tools/check_imports.py"]),
    ("generated files", ["tools/generate.py", "--check"]),
]
TESTS = [("tests", ["-m", "pytest", "-n", "2", "--dist", "loadfile"])]


def main(arguments: list[str]) -> int:
    failed = []
    for name, command in LINT if "--lint" in arguments else LINT + TESTS:
        print(f"== {name}", flush=True)
        start = time.monotonic()
        if subprocess.run([sys.executable, *command], cwd=ROOT, check=False).returncode:
            failed.append(name)
        print(f"   {time.monotonic() - start:.0f} s", flush=True)
    print(f"failed: {', '.join(failed)}" if failed else "all good")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

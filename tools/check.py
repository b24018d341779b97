"""All checks, those that fail fastest first: what `make test`, `quick`, `lint` and `test-browser` run."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CODE = ("src", "tests", "tools", "bench", "studies")

LINT = [
    ("format", ["-m", "ruff", "format", "--check", "--quiet", *CODE]),
    ("lint", ["-m", "ruff", "check", "--quiet", *CODE]),
    ("types", ["-m", "mypy"]),
    ("imports", ["tools/check_imports.py"]),
    ("words", ["tools/check_words.py"]),
    ("mirror", ["tools/check_mirror.py"]),
    ("docs", ["tools/wrap_docs.py", "--check"]),
    ("generated files", ["tools/generate.py", "--check"]),
]
TESTS = [("tests", ["-m", "pytest", "-n", "2", "--dist", "loadfile"])]
# the library below the surfaces, without databases
ROOMS = ("common", "domain", "noise", "tables", "privacy", "plans", "models", "query", "anonymize", "report")
QUICK = [
    (
        "quick tests",
        ["-m", "pytest", "-n", "2", "-m", "not slow and not postgres", *(f"tests/{room}" for room in ROOMS)],
    )
]
# on their own: each starts a service and a browser, and would starve the others
BROWSER = [
    ("a browser", ["tools/browser.py"]),
    ("tests in the browser", ["-m", "pytest", "-n", "2", "--dist", "loadfile", "tests/browser"]),
]


def main(arguments: list[str]) -> int:
    failed = []
    chosen = {"--lint": LINT, "--quick": QUICK, "--browser": BROWSER}
    for name, command in chosen[arguments[0]] if arguments else LINT + TESTS + BROWSER:
        print(f"== {name}", flush=True)
        start = time.monotonic()
        if subprocess.run([sys.executable, *command], cwd=ROOT, check=False).returncode:
            failed.append(name)
        print(f"   {time.monotonic() - start:.0f} s", flush=True)
    print(f"failed: {', '.join(failed)}" if failed else "all good")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""All checks, those that fail fastest first: what `make test`, `quick`, `lint` and `test-browser` run."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CODE = ("src", "tests", "tools", "bench", "studies", "notebooks")

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
# a file stays with one worker, and files begin in the order that tests/conftest.py gives them: the longest first
SHARED = ("-m", "pytest", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")
TESTS = [("tests", [*SHARED])]
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
    ("tests in the browser", [*SHARED, "tests/browser"]),
]
# alone too: it compares times
SMOKE = [("speed and accuracy beside the last release", ["-m", "bench", "smoke"])]


def main(arguments: list[str]) -> int:
    failed = []
    chosen = {"--lint": LINT, "--quick": QUICK, "--browser": BROWSER}
    # the linters leave a core idle, and on a fresh checkout the tests begin with half a minute of compiling
    compiling = None if arguments else subprocess.Popen([sys.executable, "-m", "tacita", "warm", "--quiet"], cwd=ROOT)
    for name, command in chosen[arguments[0]] if arguments else LINT + TESTS + BROWSER + SMOKE:
        print(f"== {name}", flush=True)
        if compiling is not None and name == "tests" and compiling.wait():
            failed.append("compile kernels")
        start = time.monotonic()
        if subprocess.run([sys.executable, *command], cwd=ROOT, check=False).returncode:
            failed.append(name)
        print(f"   {time.monotonic() - start:.0f} s", flush=True)
    print(f"failed: {', '.join(failed)}" if failed else "all good")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

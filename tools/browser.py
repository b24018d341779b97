"""Makes sure of what the tests in a real browser need: Chromium, and packages from npm. Prints where they are.

The packages are axe-core, which checks accessibility, and oidc-provider, by which people sign in.

Chromium is the system's, or the one that TACITA_CHROMIUM names. Where none is found it is installed by apt-get, which
needs root; elsewhere a message says what to do.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "browser"
AXE = FOLDER / "node_modules" / "axe-core" / "axe.min.js"
PROVIDER = FOLDER / "node_modules" / "oidc-provider" / "package.json"
NAMES = ("chromium", "chromium-browser", "google-chrome")
PACKAGES = ("chromium", "fonts-dejavu-core")  # without a font every letter is a box in the pictures


def find_chromium() -> str | None:
    """Where Chromium is, if it is anywhere."""
    chosen = os.environ.get("TACITA_CHROMIUM")
    return shutil.which(chosen) if chosen else next(filter(None, map(shutil.which, NAMES)), None)


def _install_chromium() -> None:
    if os.environ.get("TACITA_CHROMIUM") or shutil.which("apt-get") is None or os.geteuid() != 0:
        sys.exit("no Chromium: install it (Debian: apt-get install chromium), or set TACITA_CHROMIUM to where it is")
    for command in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", *PACKAGES]):
        subprocess.run(["apt-get", *command], check=True, env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"})


def _install_packages() -> None:
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("no npm: install Node 18 or newer; the tests need packages from npm")
    command = [npm, "ci", "--prefix", str(FOLDER), "--silent", "--no-audit", "--no-fund"]
    subprocess.run(command, check=True)


def main() -> int:
    if find_chromium() is None:
        _install_chromium()
    if not (AXE.is_file() and PROVIDER.is_file()):
        _install_packages()
    print(find_chromium(), AXE, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

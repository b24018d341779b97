"""Makes sure of what the tests of Spark need: a Java runtime. Prints where it is.

Java is the system's, or the one that JAVA_HOME names. Where none is found it is installed by apt-get, which needs root;
elsewhere a message says what to do.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGE = "openjdk-17-jre-headless"


def find_java() -> str | None:
    """Where Java is, if it is anywhere."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")


def install_java() -> str:
    """Where Java is, installed if it has to be."""
    if find_java() is None:
        if os.environ.get("JAVA_HOME") or shutil.which("apt-get") is None or os.geteuid() != 0:
            sys.exit(f"no Java: install version 17 or newer (Debian: apt-get install {PACKAGE}), or set JAVA_HOME")
        for command in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", PACKAGE]):
            subprocess.run(["apt-get", *command], check=True, env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"})
    found = find_java()
    if found is None:
        sys.exit(f"{PACKAGE} was installed, and there is no java on the PATH")
    return found


if __name__ == "__main__":
    print(install_java())

"""Peers run in environments of their own: made once, beside the benches, with the versions that they need."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["run_peer"]

HOME = Path(__file__).parent / ".peers"
_LONGEST = 900


def run_peer(name: str, packages: Sequence[str], script: str, arguments: Sequence[str]) -> dict[str, Any] | str:
    """The JSON that a script prints last, run where the packages are; or why it did not run."""
    home = HOME / name
    python, ready = home / "bin" / "python", home / "ready"
    try:
        if not ready.exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True, capture_output=True)
            install = [str(python), "-m", "pip", "install", "--quiet", *packages]
            subprocess.run(install, check=True, capture_output=True, timeout=_LONGEST)
            ready.touch()
        done = subprocess.run(
            [str(python), "-c", script, *arguments], check=True, capture_output=True, timeout=_LONGEST
        )
        return dict(json.loads(done.stdout.decode().splitlines()[-1]))
    except subprocess.CalledProcessError as error:
        return ((error.stderr or b"").decode().strip().splitlines() or ["failed"])[-1][:80]
    except (OSError, ValueError, IndexError, subprocess.TimeoutExpired) as error:
        return repr(error)[:80]

"""Files and folders that only the user who runs Tacita may read: they hold secrets and what was asked about people."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["private_file", "private_folder"]


def private_folder(path: Path) -> None:
    """Make a folder, with those above it, that only its owner may enter. One that exists is left as it is."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)


def private_file(path: Path) -> None:
    """Make an empty file that only its owner may read; take the rights of others from one that exists and is ours."""
    private_folder(path.parent)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    known = path.stat()
    if known.st_mode & 0o077 and known.st_uid == os.getuid():
        path.chmod(known.st_mode & 0o700)

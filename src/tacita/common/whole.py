"""Atomic writing: files and folders that appear complete, or not at all."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["whole", "write_text"]


@contextmanager
def whole(target: Path) -> Iterator[Path]:
    """Give a path beside the target, where a file or a folder is to be written.

    It becomes the target when the block ends, in one step, and replaces a file that is there: a link is followed, and
    the permissions stay. It is removed when the block raises. A device or a pipe is written to as it is.
    """
    if target.exists() and not (target.is_file() or target.is_dir()):
        yield target
        return
    target = target.resolve()
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}.part")
    try:
        if target.is_file():  # with its permissions before anything is written
            unfinished.touch(mode=0o600)
            shutil.copymode(target, unfinished)
        yield unfinished
        unfinished.replace(target)
    finally:
        if unfinished.is_dir():
            shutil.rmtree(unfinished, ignore_errors=True)
        else:
            unfinished.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write a file in UTF-8."""
    with whole(Path(path)) as unfinished:
        unfinished.write_text(text, encoding="utf-8")

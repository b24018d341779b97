"""Rows as one file, or as a folder of parts that are written side by side. Whole, or not at all."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path

import pyarrow as pa

from tacita import check
from tacita.common.whole import whole
from tacita.engines.targets import SUFFIXES, FileTarget, Progress, is_address, write_batches
from tacita.errors import InvalidInput

__all__ = ["Progress", "check_folder", "check_parts", "write_file", "write_parts"]

_MOST_PARTS = 10_000
_LOOK = 0.2  # seconds between two looks at how far the parts are


def check_folder(path: str | Path) -> Path:
    """Return the path if a folder of parts may be written there, else raise; called before anything is paid for."""
    if is_address(path):
        raise InvalidInput("a database has no folder of parts", field="parts", hint="Leave out --parts")
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise InvalidInput("must end in .csv or .parquet", field="path", value=target)
    if target.exists():
        raise InvalidInput("exists already: a folder of parts is never mixed with another", field="path", value=target)
    return target


def check_parts(parts: int) -> int:
    """Return the number of files if it is allowed, else raise."""
    check.whole(parts, "parts", least=1, most=_MOST_PARTS)
    return parts


def write_file(path: str | Path, batches: Iterator[pa.Table], progress: Progress | None = None) -> None:
    """Write batches as one file, which appears when it is whole."""
    FileTarget(path).write(batches, progress)


def write_parts(
    path: str | Path, parts: Sequence[Callable[[], Iterator[pa.Table]]], progress: Progress | None = None
) -> None:
    """Write every part as a file of its own in a folder, as many at once as there are cores.

    Args:
        path: The folder, ending as its files do: rows.parquet/part-00000.parquet.
        parts: Each gives the batches of one file, when it is its turn.
        progress: Called from the caller's thread.
    """
    target = check_folder(path)
    kind = target.suffix.lower()
    written, stop = [0] * len(parts), threading.Event()

    def one(place: int, unfinished: Path) -> None:
        def count(rows: int) -> None:
            written[place] = rows
            if stop.is_set():
                raise _Stopped

        write_batches(unfinished / f"part-{place:05d}{kind}", kind, parts[place](), count)

    try:
        with whole(target) as unfinished, ThreadPoolExecutor(max(1, min(len(parts), os.cpu_count() or 1))) as pool:
            unfinished.mkdir()
            waiting = {pool.submit(one, place, unfinished) for place in range(len(parts))}
            try:
                while waiting:
                    done, waiting = wait(waiting, timeout=_LOOK, return_when=FIRST_COMPLETED)
                    for each in done:
                        each.result()
                    (progress or _silent)(sum(written))
            except BaseException:
                stop.set()
                for each in waiting:
                    each.cancel()
                raise
    except OSError as error:
        raise _refusal(target, error) from None


class _Stopped(Exception):
    """Another part failed, or the caller wants no more."""


def _silent(_: int) -> None:
    return


def _refusal(target: Path, error: OSError) -> InvalidInput:
    return InvalidInput("cannot be written", field="path", value=f"{target}: {error.strerror or error}")

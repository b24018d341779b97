"""What commands do that pay and then write: look at the targets first, and say how to get what is paid for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tacita.errors import InvalidInput, TacitaError

__all__ = ["check_files", "paid_already"]


def check_files(**paths: Path | None) -> None:
    """Refuse places where no file can be written, by the names of their options; before anything is paid for."""
    for field, path in paths.items():
        if path is None:
            continue
        if not path.parent.is_dir():
            raise InvalidInput("its folder must exist", field=field, value=path)
        if path.is_dir():
            raise InvalidInput("is a folder", field=field, value=path)


@contextmanager
def paid_already(hint: str) -> Iterator[None]:
    """While the block runs, every error says how to get what was paid for."""
    try:
        yield
    except TacitaError as error:
        error.advise(hint)
        raise
    except OSError as error:
        value = f"{error.filename}: {error.strerror}"
        raise InvalidInput("cannot be written", field="output", value=value, hint=hint) from None

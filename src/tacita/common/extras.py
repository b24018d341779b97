"""Packages that come with an extra: an error that states how to install them where they are missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from tacita.errors import InvalidInput

__all__ = ["load_module", "needs_extra"]


@contextmanager
def needs_extra(extra: str, what: str, field: str = "extra") -> Iterator[None]:
    """Refuse with the command to type when an import in the block fails.

    Args:
        extra: The extra of this package.
        what: What needs it, as the subject of a sentence.
        field: Which input asked for it.
    """
    try:
        yield
    except ImportError as error:
        package = (error.name or "").split(".", maxsplit=1)[0]
        if package == "tacita":
            raise
        hint = f'Install them with: pip install "tacita[{extra}]"'
        raise InvalidInput(
            f"{what} needs packages that are not installed", field=field, value=package, hint=hint
        ) from None


def load_module(module: str, *, extra: str, what: str, field: str = "extra") -> Any:
    """Import an optional module."""
    with needs_extra(extra, what, field):
        return import_module(module)

"""Packages whose names load on first use. Standard library only."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib import import_module
from typing import Any

__all__ = ["load_name"]


def load_name(package: str, homes: Mapping[str, str], name: str, rooms: Collection[str] = ()) -> Any:
    """Load a public name of a package from the module that holds it.

    Args:
        package: The package, as `__name__` there.
        homes: For each public name, its module, relative to the package.
        name: The name that was asked for.
        rooms: Public submodules of the package.
    """
    if name in rooms:
        return import_module(f"{package}.{name}")
    if name not in homes:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    return getattr(import_module(f"{package}.{homes[name]}"), name)

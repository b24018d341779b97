"""Import of torch, which is an extra: loaded when a network is trained, and not before."""

from __future__ import annotations

import importlib.util
from typing import Any

from tacita.errors import InvalidInput

__all__ = ["check_installed", "load_torch", "pick_device"]


def check_installed() -> None:
    """Refuse to plan what cannot run: a plan is charged before it runs."""
    try:
        found = importlib.util.find_spec("torch")
    except ValueError:  # it has been tried, and failed
        found = None
    if found is None:
        raise _missing()


def load_torch() -> Any:
    """The module `torch`."""
    try:
        import torch
    except ImportError:
        raise _missing() from None
    return torch


def _missing() -> InvalidInput:
    return InvalidInput(
        "networks need torch, which is not installed", field="method", hint="Run: pip install tacita[nets]"
    )


def pick_device(torch: Any) -> Any:
    """A graphics processor when there is one, else the processor."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")

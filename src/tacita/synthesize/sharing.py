"""The words that say how holders share, for those who only pass them on."""

from __future__ import annotations

from typing import Literal

__all__ = ["Fit", "Overlap", "Sharing"]

Sharing = Literal["SL1", "SL2", "SL3"]
Overlap = Literal["none", "possible"]
Fit = Literal["auto", "network", "mixture"]

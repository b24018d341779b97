"""Names of the methods and options of federated synthesis, for requests and clients."""

from __future__ import annotations

from typing import Literal

__all__ = ["Fit", "Overlap", "Sharing"]

Sharing = Literal["SL1", "SL2", "SL3"]
Overlap = Literal["none", "possible"]
Fit = Literal["auto", "network", "mixture"]

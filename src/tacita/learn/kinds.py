"""The words that say which model: for those who only pass them on."""

from __future__ import annotations

from typing import Literal

__all__ = ["ModelKind"]

ModelKind = Literal["linear", "logistic", "trees", "bayes", "network"]

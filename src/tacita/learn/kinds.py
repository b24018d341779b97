"""The words that say which model: for those who only pass them on."""

from __future__ import annotations

from typing import Literal

__all__ = ["ModelChoice", "ModelKind"]

ModelKind = Literal["linear", "logistic", "trees", "bayes", "network"]
ModelChoice = Literal["auto", "linear", "logistic", "trees", "bayes", "network"]
"""A kind, or the one that fits the target."""

"""The words that say which function, in which form and how calibrated: for those who only pass them on."""

from __future__ import annotations

from typing import Literal

__all__ = ["Calibration", "Form", "FunctionKind"]

Calibration = Literal["analytic", "classical"]
Form = Literal["path", "features"]
FunctionKind = Literal["histogram", "density", "gaussian-process", "svm"]

"""Names of methods and options of synthesis, for modules that only pass them on."""

from __future__ import annotations

from typing import Literal

__all__ = ["FitOn", "Given", "ImputedKind", "Method", "Missing", "TrainOn"]

Method = Literal["quality", "privbayes", "mst", "aim", "pairs", "independent", "gan", "wgan", "pate-gan"]
ImputedKind = Literal["partial", "frame", "all"]
FitOn = Literal["original", "synthetic_prefix"]
TrainOn = Literal["auto", "replaced", "all", "unreplaced"]
Missing = Literal["keep", "impute"]
Given = Literal["others", "before"]

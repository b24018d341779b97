"""Methods of synthesis: one line for each. A new method is one file, and one line here.

This module imports no method, so that clients and request models can list them; `SynthesisMethod.recipe` loads one.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

__all__ = [
    "METHODS",
    "QUALITY",
    "TARGETED",
    "FitOn",
    "Given",
    "ImputedKind",
    "Method",
    "Missing",
    "Numbers",
    "Quantity",
    "SynthesisMethod",
    "TrainOn",
    "method_help",
]


@dataclass(frozen=True, kw_only=True)
class SynthesisMethod:
    """One line of the registry.

    Attributes:
        home: Module in this room, and class of the recipe: `marginals.Pairs`.
        title: Name in words, for forms.
        options: Options that a user may set; see the class.
        shared: Settings of every method that this one takes: `people`, `seconds`, `target`.
        needs: Settings without which it cannot be planned.
        plan_seconds: Time to plan it on one core, where its accounting is slow.
        extra: Whether it needs an extra of the installation.
    """

    home: str
    title: str
    options: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    plan_seconds: float = 0.0
    extra: bool = False

    @property
    def recipe(self) -> Any:
        """The class of the recipe."""
        module, _, name = self.home.rpartition(".")
        return getattr(import_module(f"tacita.synthesize.{module}"), name)


QUALITY = "quality"
"""Name of the automatic choice."""
TARGETED = "targeted"
"""Name of the method that `quality` is where a target is given."""
METHODS: dict[str, SynthesisMethod] = {
    "privbayes": SynthesisMethod(
        home="privbayes.PrivBayes",
        title="Bayesian network (PrivBayes)",
        options=("degree", "theta", "score", "split", "structure"),
        shared=("people",),
    ),
    "mst": SynthesisMethod(home="select.SpanningTree", title="tree of pairs (MST)"),
    "aim": SynthesisMethod(
        home="select.Adaptive", title="selected tables (AIM)", options=("rounds",), shared=("people", "seconds")
    ),
    "pairs": SynthesisMethod(home="marginals.Pairs", title="all pairs", options=("family",), shared=("seconds",)),
    "independent": SynthesisMethod(home="marginals.Independent", title="single attributes", options=("family",)),
    TARGETED: SynthesisMethod(
        home="targeted.Targeted",
        title="tables with one target",
        shared=("people", "seconds", "target"),
        needs=("target",),
    ),
    "gan": SynthesisMethod(
        home="gan.conditional.ConditionalGan",
        title="conditional GAN",
        shared=("seconds",),
        plan_seconds=6.0,
        extra=True,
    ),
    "wgan": SynthesisMethod(
        home="gan.wgan.Wgan", title="Wasserstein GAN", shared=("seconds",), plan_seconds=3.0, extra=True
    ),
    "pate-gan": SynthesisMethod(
        home="gan.pate_gan.PateGan", title="PATE-GAN", shared=("seconds",), plan_seconds=1.0, extra=True
    ),
}


def method_help() -> str:
    """Describe all methods, each by its title."""
    return "Method. quality: automatic choice. " + " ".join(f"{name}: {each.title}." for name, each in METHODS.items())


if TYPE_CHECKING:
    Method = str
else:
    Method = Literal[QUALITY, *METHODS]
"""Name of a method, or of the automatic choice."""

ImputedKind = Literal["partial", "frame", "all"]
FitOn = Literal["original", "synthetic_prefix"]
TrainOn = Literal["auto", "replaced", "all", "unreplaced"]
Missing = Literal["keep", "impute"]
Given = Literal["others", "before"]
Quantity = Literal["share", "count"]
"""What a model is asked for."""
Numbers = Literal["binned", "fine"]
"""Whether numbers are counted in the bins of the schema, or in bins that are found privately and kept as numbers."""

"""A fitted model among the functions: released as parameters, so it answers from them and may be shown.

    form        payload                      what it is
    parameters  the model as JSON            with noise already; may be shown and copied

Privacy:  the model was paid for when it was fitted; all answers are post-processing.
          Claim: docs/claims/functional-perturbation.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from tacita.learn.functions.inputs import rows_of
from tacita.learn.functions.model import Predictions
from tacita.learn.models import Fitted, read_model

__all__ = ["ParametricModel"]


@dataclass(frozen=True, kw_only=True)
class ParametricModel:
    """A model that is stored and asked as functions are."""

    about: Mapping[str, Any]
    fitted: Fitted = field(repr=False)

    service_only: Literal[False] = field(default=False, init=False)

    @classmethod
    def of_fitted(cls, fitted: Fitted) -> ParametricModel:
        """Wrap a fitted model; all of it is public, and this is what is listed."""
        about = {
            "tacita": "model/1",
            "kind": fitted.kind,
            "form": "parameters",
            "features": list(fitted.features),
            "target": fitted.target,
            "classes": None if fitted.classes is None else list(fitted.classes),
            "domain": fitted.domain.project(fitted.features).as_dict(),
            "protects": "rows",
            "unit": str(fitted.unit),
            "neighbours": str(fitted.neighbours),
            "event": fitted.event.as_dict(),
            "recipe": dict(fitted.provenance.recipe),
            "statement": fitted.statement(),
            "noise_std": None,
            "simulated": fitted.provenance.simulated,
        }
        return cls(about=about, fitted=fitted)

    def answer(self, queries: Sequence[Sequence[Any]]) -> Predictions:
        """Predictions for points in the units of the data: numbers, or shares of classes with the likeliest."""
        fitted = self.fitted
        rows = rows_of(fitted.domain, fitted.features, queries)
        predicted = fitted.predict(rows).to_pylist()
        if fitted.classes is None:
            return Predictions(values=tuple(predicted), labels=None, noise_std=None)
        shares = np.asarray(fitted.probabilities(rows))
        shares = np.column_stack([1 - shares, shares]) if shares.ndim == 1 else shares
        return Predictions(
            values=tuple(tuple(row) for row in shares.tolist()), labels=tuple(map(str, predicted)), noise_std=None
        )

    def parameters(self) -> dict[str, Any]:
        """The whole model, as `read_model` takes it."""
        return self.fitted.as_dict()

    # -- bytes --------------------------------------------------------------------------------------------------------

    def payload(self) -> bytes:
        """The model as bytes."""
        return self.fitted.to_json().encode()

    @classmethod
    def of(cls, about: Mapping[str, Any], payload: bytes) -> ParametricModel:
        """The model that `payload` wrote."""
        return cls(about=about, fitted=read_model(payload.decode()))

    def with_charge(self, charge: str | None, dataset: str) -> ParametricModel:
        """The same, naming what paid for it."""
        if not charge:
            return self
        return ParametricModel(about=self.about, fitted=self.fitted.with_charge(charge, dataset or None))

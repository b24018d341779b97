"""Several models over the same attributes, each with a weight: P(x) = sum_j w_j P_j(x).

Privacy: none of its own; it is as private as its models and weights are.
Utility: what a population looks like that falls into parts with a model each. It has no structure of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.models.mixture import Mixture
from tacita.models.network import BayesianNetwork
from tacita.models.pairs.pair_shares import pair_shares
from tacita.tables.cells import Cells

__all__ = ["Blend"]

_ROUNDING = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False)
class Blend:
    """Models and their weights.

    Args:
        models: Networks or mixtures; at least one, all over the same domain.
        weights: One for each; not negative, and sum to 1.
    """

    models: tuple[BayesianNetwork | Mixture, ...] = field(repr=False)
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "models", tuple(self.models))
        object.__setattr__(self, "weights", tuple(float(weight) for weight in self.weights))
        if not self.models or len(self.models) != len(self.weights):
            raise InvalidInput("must be one for each model", field="weights", value=len(self.weights))
        if not all(weight >= 0 for weight in self.weights) or abs(sum(self.weights) - 1) > _ROUNDING:
            raise InvalidInput("must not be negative, and sum to 1", field="weights")
        if any(each.domain.attributes != self.domain.attributes for each in self.models):
            raise InvalidInput("must all be over the same attributes", field="models")

    @property
    def domain(self) -> Domain:
        """The attributes."""
        return self.models[0].domain

    def supports(self, attributes: Iterable[str]) -> bool:
        """Whether all these attributes are here."""
        return self.models[0].supports(attributes)

    def project(self, attributes: Iterable[str]) -> Cells:
        """The table of shares over these attributes."""
        names = tuple(attributes)
        tables = [model.project(names) for model in self.models]
        values = sum(weight * table.values for weight, table in zip(self.weights, tables, strict=True))
        return Cells(tables[0].domain, np.asarray(values))

    def pair_shares(self) -> NDArray[np.float64]:
        """All tables of two attributes, see `pair_shares`."""
        parts = (weight * pair_shares(model) for weight, model in zip(self.weights, self.models, strict=True))
        return np.asarray(sum(parts))

    def sample(self, rows: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Draw the codes of synthetic rows: the number from each model is random, and so is their order."""
        shares = np.array(self.weights) / sum(self.weights)
        counts = rng.multinomial(rows, shares)
        parts = [model.sample(int(count), rng) for model, count in zip(self.models, counts, strict=True)]
        order = rng.permutation(rows)
        return {name: np.concatenate([part[name] for part in parts])[order] for name in self.domain.names}

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        models = [model.as_dict() for model in self.models]
        return {"tacita": "blend/1", "weights": list(self.weights), "networks": models}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Blend:
        """The blend that `as_dict` wrote."""
        if data.get("tacita") != "blend/1":
            raise InvalidInput("must be `blend/1`", field="tacita", value=data.get("tacita"))
        return cls(models=tuple(_read(each) for each in data["networks"]), weights=tuple(data["weights"]))


def _read(data: Mapping[str, Any]) -> BayesianNetwork | Mixture:
    return Mixture.from_dict(data) if data.get("tacita") == "mixture/1" else BayesianNetwork.from_dict(data)

"""A released network of numbers: structure, regressions, and the noisy moments that both were read off."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from tacita.models.continuous.effects import Effect, effects_on
from tacita.models.continuous.gaussian_network import GaussianNetwork
from tacita.models.continuous.noisy_moments import NoisyMoments
from tacita.models.draw import draw_network
from tacita.tables.envelope import Envelope
from tacita.tables.tabular import Tabular

__all__ = ["ReleasedNetwork"]


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedNetwork(Envelope, Tabular):
    """A linear Gaussian network that was learned from noisy moments.

    Attributes:
        network: Structure and regressions.
        moments: Noisy moments; every figure comes from them, at no further cost.
        search: How the structure was found.
    """

    mark: ClassVar[str] = "numeric-network/1"
    released: ClassVar[str] = "The network is"

    network: GaussianNetwork
    moments: NoisyMoments
    search: str

    @property
    def parents(self) -> Mapping[str, tuple[str, ...]]:
        """Parents of each attribute."""
        return self.network.parents

    def effects(self, outcome: str, *, level: float = 0.95) -> list[Effect]:
        """Return the effect of each attribute on an outcome; intervals count sampling and noise."""
        return effects_on(self.moments, self.parents, outcome, level=level)

    def coefficient_std(self, child: str, parent: str) -> float:
        """Return the standard error of a coefficient, of sampling and noise together."""
        moments, parents = self.moments.moments, self.parents[child]
        others = tuple(name for name in parents if name != parent)
        freedom = max(moments.count - len(parents) - 1, 1.0)
        sampling = moments.residual_variance(child, parents) / (freedom * moments.residual_variance(parent, others))
        return math.hypot(math.sqrt(sampling), self.moments.coefficient_std(parent, child, others))

    def links(self) -> Sequence[dict[str, Any]]:
        """Return a row for each attribute and each of its parents; that without a parent has the intercept."""
        rows: list[dict[str, Any]] = []
        for child, line in self.network.lines.items():
            own = {"child": child, "residual_deviation": math.sqrt(line.variance)}
            rows.append(own | {"parent": None, "coefficient": line.intercept, "std": None})
            rows += [
                own | {"parent": parent, "coefficient": each, "std": self.coefficient_std(child, parent)}
                for parent, each in line.coefficients.items()
            ]
        return rows

    def to_arrow(self) -> pa.Table:
        """One row for each column with its intercept, and one for each link with its coefficient."""
        rows = self.links()
        return pa.table(
            {
                "child": [row["child"] for row in rows],
                "parent": [row["parent"] or "(intercept)" for row in rows],
                "coefficient": [row["coefficient"] for row in rows],
                "std": pa.array([row["std"] for row in rows], pa.float64()),
                "residual_deviation": [row["residual_deviation"] for row in rows],
            }
        )

    def chart(self) -> str:
        """Draw the network."""
        return draw_network(self.network.parents)

    def parts(self) -> dict[str, Any]:
        """Fields of the network itself, as plain data."""
        return {"network": self.network.as_dict(), "moments": self.moments.as_dict(), "search": self.search}

    @staticmethod
    def parts_of(data: Mapping[str, Any]) -> dict[str, Any]:
        """The same as arguments again."""
        return {
            "network": GaussianNetwork.from_dict(data["network"]),
            "moments": NoisyMoments.from_dict(data["moments"]),
            "search": str(data["search"]),
        }

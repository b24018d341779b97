"""Base of the full-domain methods: options, and the recoding of the chosen node.

Datafly, Samarati, OLA and Incognito raise all values of an attribute to one level of its hierarchy and suppress
combinations that are still rare. They differ in which node of the lattice they take and how they find it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tacita.anonymize.criteria.conditions import Conditions
from tacita.anonymize.methods.grouping import Labels
from tacita.anonymize.methods.lattice import Lattice, Node
from tacita.anonymize.methods.node_loss import NodeLoss, check_loss
from tacita.anonymize.parameters import described
from tacita.anonymize.quasi import DistinctRows
from tacita.errors import InvalidInput
from tacita.tables.recoding import Recoding

__all__ = ["FullDomain"]


@dataclass(frozen=True, kw_only=True)
class FullDomain(ABC):
    """A method that chooses a node.

    Attributes:
        loss: Measure to minimise, where a method can choose: see `tacita.anonymize.methods.node_loss`.
        labels: `level` writes what all values of an attribute became; `tight` the narrowest label that is true of a
            class, so that the same value may appear in one class and below a node in another.
    """

    method: ClassVar[str]
    summary: ClassVar[str]

    loss: NodeLoss = field(default="gcp", metadata=described("Loss to minimise."))
    labels: Labels = field(default="level", metadata=described("Write one level for a whole column, or tight labels."))

    def __post_init__(self) -> None:
        check_loss(self.loss)
        if self.labels not in ("level", "tight"):
            raise InvalidInput("must be level or tight", field="labels", value=self.labels)

    @property
    def by_appearance(self) -> bool:
        """Values are never numbered as they appear."""
        return False

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"method": self.method, "loss": self.loss, "labels": self.labels}

    def recode(self, distinct: DistinctRows, conditions: Conditions, *, budget: int = 0) -> Recoding:
        """Classes that hold the conditions, with at most `budget` rows suppressed."""
        lattice = Lattice.of(distinct, conditions, budget=budget, loss=self.loss)
        return lattice.recoding(self.choose(lattice), self.labels)

    @abstractmethod
    def choose(self, lattice: Lattice) -> Node:
        """The node to take."""

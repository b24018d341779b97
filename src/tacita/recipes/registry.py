"""All kinds of paid answer. A new kind is one file, and one line here; the command line, REST and clients follow."""

from __future__ import annotations

from typing import Any

from tacita.plans import Plan
from tacita.recipes.bounds import BOUNDS
from tacita.recipes.clusters import CLUSTERS
from tacita.recipes.components import COMPONENTS
from tacita.recipes.kind import RecipeKind, Subject
from tacita.recipes.network import NETWORK
from tacita.recipes.statistics import STATISTICS
from tacita.recipes.tables import TABLES

__all__ = ["RECIPES", "plan_recipe"]

RECIPES: dict[str, RecipeKind[Any]] = {
    kind.name: kind
    for kind in (
        TABLES,
        STATISTICS,
        CLUSTERS,
        COMPONENTS,
        BOUNDS,
        NETWORK,
    )
}


def plan_recipe(name: str, subject: Subject, request: Any) -> Plan[Any]:
    """Plan a request of a kind; by name, so that another process can do it."""
    return RECIPES[name].plan(subject, request)

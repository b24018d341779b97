"""Conditional tables from any source of tables: exact, noisy, published or modelled.

Privacy: post-processing; it looks at tables only.
Utility: what is wrong with a noisy table is repaired in this order:

    negative cells        projected, by `repair`
    margins               scaled to what single attributes say, which are better known than their joint table
    parents without mass  back off to the child's own table: the data says nothing about them
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.models.network import BayesianNetwork
from tacita.tables.cells import Cells
from tacita.tables.consistency import rake

__all__ = ["Tables", "clipped", "fit_network"]

Tables = Callable[[tuple[str, ...]], Cells]
"""Whatever gives the table over some attributes, such as `Releases.project(..).estimate` or `Modelled.project`."""


def clipped(table: Cells) -> Cells:
    """Negative cells set to 0, and the rest scaled to sum to 1. Enough where few are; a projection is better."""
    values = np.maximum(table.values.astype(np.float64), 0.0)
    if not values.sum() > 0:
        raise InvalidInput("must have a positive cell", field="table", value=list(table.attributes))
    return Cells(table.domain, values / values.sum())


def fit_network(
    domain: Domain,
    parents: Mapping[str, tuple[str, ...]],
    tables: Tables,
    *,
    least: float = 0.0,
    repair: Callable[[Cells], Cells] = clipped,
) -> BayesianNetwork:
    """A network with given parents.

    Args:
        domain: The attributes.
        parents: Of each attribute.
        tables: Gives the shares (or counts) over an attribute, and over each attribute with its parents.
        least: A cell of the parents with a share of at most this backs off to the child's own table.
        repair: Makes a distribution of a noisy table.
    """
    if not 0 <= least < 1:
        raise InvalidInput("must be 0 or more and below 1", field="least", value=least)
    singles = {name: repair(tables((name,))) for name in domain.names}
    conditionals = {
        name: _conditional((*parents[name], name), singles, tables, least, repair) if parents[name] else singles[name]
        for name in domain.names
    }
    return BayesianNetwork(domain=domain, parents=parents, conditionals=conditionals)


def _conditional(
    family: tuple[str, ...],
    singles: Mapping[str, Cells],
    tables: Tables,
    least: float,
    repair: Callable[[Cells], Cells],
) -> Cells:
    joint = rake(repair(tables(family)), [singles[name] for name in family])
    mass = joint.values.sum(axis=-1, keepdims=True)
    own = singles[family[-1]].values
    known = mass > least
    rows = np.where(known, joint.values / np.where(known, mass, 1.0), own)
    return Cells(joint.domain, rows / rows.sum(axis=-1, keepdims=True))

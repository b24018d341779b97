"""A network from noisy tables that need not agree: singles are averaged over all tables that hold them, then each joint
table is projected and scaled to them, before conditionals are taken.

Privacy: post-processing of released tables.   Claim: docs/claims/privbayes.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tacita.domain import Domain
from tacita.models.fit import fit_network
from tacita.models.measurement import singles_of
from tacita.models.network import BayesianNetwork
from tacita.models.pairs.stacked import shrink
from tacita.synthesize.estimate import measurements_of
from tacita.tables.cells import Cells
from tacita.tables.release import Release
from tacita.tables.simplex import to_distribution

__all__ = ["network_of"]


def network_of(
    domain: Domain, parents: Mapping[str, tuple[str, ...]], releases: Sequence[Release], *, shrinkage: float = 0.0
) -> BayesianNetwork:
    """The network with these parents that released counts over families, and over singles, give.

    Args:
        domain: The attributes.
        parents: Of each attribute.
        releases: Tables over single attributes and over families.
        shrinkage: Share of James and Stein's shrinkage by which pairs are moved towards independence.
    """
    targets, _, _ = measurements_of(releases)
    singles = singles_of(domain, targets)
    by_set = {frozenset(target.attributes): target for target in targets}

    def table(key: tuple[str, ...]) -> Cells:
        if len(key) == 1:
            return Cells(domain.project(key), singles[key[0]])
        noisy = by_set[frozenset(key)]
        values = noisy.values
        if shrinkage and len(key) == 2:
            one, other = noisy.attributes
            values = shrink(noisy, np.outer(singles[one], singles[other]), share=shrinkage)
        return Cells(domain.project(noisy.attributes), to_distribution(values)).project(key)

    return fit_network(domain, parents, table, repair=lambda cells: cells)

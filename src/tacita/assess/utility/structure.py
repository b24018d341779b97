"""Dependencies between attributes, by trees learnt from the data and from the release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacita.assess.case import Case
from tacita.assess.utility.marginals import coded
from tacita.models.chow_liu import chow_liu

__all__ = ["Structure", "compare_structure"]

_SURE = 3.0
"""Standard errors by which the mutual information of two attributes must exceed chance."""


@dataclass(frozen=True, kw_only=True)
class Structure:
    """Edges of the two best trees."""

    real: frozenset[frozenset[str]]
    released: frozenset[frozenset[str]]

    @property
    def precision(self) -> float:
        """Share of the edges of the release's tree that the data's has."""
        return len(self.real & self.released) / len(self.released) if self.released else 1.0

    @property
    def recall(self) -> float:
        """Share of the edges of the data's tree that the release's has."""
        return len(self.real & self.released) / len(self.real) if self.real else 1.0

    @property
    def differing(self) -> int:
        """Number of edges that only one of them has."""
        return len(self.real ^ self.released)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        edges = {side: sorted(sorted(edge) for edge in getattr(self, side)) for side in ("real", "released")}
        return edges | {"precision": self.precision, "recall": self.recall, "differing": self.differing}


def compare_structure(case: Case, *, least: float = 0.005) -> Structure:
    """Learn a tree from each side; edges of less than `least` bits of mutual information beyond chance are left out."""
    return Structure(real=_edges(case.real, least), released=_edges(case.first, least))


def _edges(frame: Any, least: float) -> frozenset[frozenset[str]]:
    codes, sizes = coded(frame), [attribute.size + 1 for attribute in frame.domain.attributes]

    def bits(a: str, b: str) -> float:
        i, j = frame.place(a), frame.place(b)
        # non-empty cells only: the cells of two attributes with many levels may not fit into memory
        cells, counts = np.unique(codes[:, i] * sizes[j] + codes[:, j], return_counts=True)
        one, other = (np.bincount(codes[:, place]) / len(frame) for place in (i, j))
        shares = counts / len(frame)
        information = float((shares * np.log2(shares / (one[cells // sizes[j]] * other[cells % sizes[j]]))).sum())
        # a finite sample makes attributes look dependent: 2 n ln(2) bits of chance are a chi-square
        freedom = float(np.prod([(law > 0).sum() - 1.0 for law in (one, other)]))
        return float(information - (freedom + _SURE * np.sqrt(2 * freedom)) / (2 * len(frame) * np.log(2)))

    parents = chow_liu(frame.names, bits, least=least)
    return frozenset(frozenset((child, parent)) for child, above in parents.items() for parent in above)

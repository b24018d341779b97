"""Loss of each level of a hierarchy.

For a level with groups of n_c out of N leaves:

    loss       mean of (n_c - 1) / (N - 1): the normalised certainty penalty (NCP) of a cell [Xu et al. 2006]; its mean
               over cells is the global certainty penalty (GCP)
    entropy    H(value | label) / H(value): the share of the information about the value that the label does not carry
               [Gionis and Tassa 2009]

Without rows, leaves count alike: this is public. With rows, values weigh by their rows, and

    smallest   people in the smallest group that occurs
    below      share of the rows in groups of fewer than k people, for this attribute alone

are exact. A release combines several attributes, so its classes are smaller than these groups.

Privacy: guarantee none with rows: for their owner, who chooses a level by them. Without rows nothing private is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita import check
from tacita.anonymize.hierarchies.hierarchy import Hierarchy, TreeMaker
from tacita.anonymize.quasi import DistinctRows, distinct_pairs, read_distinct_rows
from tacita.domain import Domain
from tacita.figures.bars import estimate_bars
from tacita.figures.charts import Interval
from tacita.tables.tabular import Tabular

__all__ = ["LevelLoss", "Preview", "preview_hierarchy", "preview_rows"]

_PUBLIC = "public: computed from the hierarchy, no rows were read"
_EXACT = "none: exact figures of rows, for their owner only"


@dataclass(frozen=True, kw_only=True)
class LevelLoss:
    """One level.

    Attributes:
        level: 0 for values as they are; the highest is the root.
        labels: Number of different labels.
        example: One of them.
        loss, entropy: As the module says, from 0 (nothing lost) to 1.
        occurring: Labels that occur in the rows.
        smallest: People in the smallest of these.
        below: Share of the rows in groups of fewer than k people.
    """

    level: int
    labels: int
    example: str
    loss: float
    entropy: float
    occurring: int | None = None
    smallest: int | None = None
    below: float | None = None


@dataclass(frozen=True, kw_only=True)
class Preview(Tabular):
    """All levels of a hierarchy, from the values to the root.

    Attributes:
        attribute: What it is a hierarchy of.
        levels: One for each level.
        k: What `below` counts against; None without rows.
        rows: Number of rows; None without.
    """

    attribute: str
    levels: tuple[LevelLoss, ...]
    k: int | None = None
    rows: int | None = None

    def __iter__(self) -> Iterator[LevelLoss]:
        return iter(self.levels)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        known = [{name: value for name, value in asdict(each).items() if value is not None} for each in self.levels]
        about = {"attribute": self.attribute, "levels": known, "guarantee": self.facts()["guarantee"]}
        return about | ({} if self.k is None else {"k": self.k, "rows": self.rows})

    def to_arrow(self) -> pa.Table:
        """One row for each level."""
        names = [name for name in LevelLoss.__dataclass_fields__ if getattr(self.levels[0], name) is not None]
        return pa.table({name: [getattr(each, name) for each in self.levels] for name in names})

    def facts(self) -> Mapping[str, str]:
        """Return whether figures are public."""
        return {"guarantee": _PUBLIC if self.k is None else _EXACT}

    def chart(self) -> str:
        """Draw the loss of each level."""
        rows = [Interval(label=f"{each.level}: {each.example}", value=each.loss) for each in self.levels]
        return estimate_bars(rows, title=f"loss of each level of {self.attribute}")


def preview_hierarchy(hierarchy: Hierarchy, attribute: str | None = None) -> Preview:
    """Compute what each level loses over all leaves; public.

    >>> pets = Hierarchy.from_rows("pet", [["cat", "mammal", "*"], ["dog", "mammal", "*"], ["eel", "fish", "*"]])
    >>> [round(each.loss, 3) for each in preview_hierarchy(pets)]
    [0.0, 0.333, 1.0]
    """
    ancestors, labels = _numbered(hierarchy)
    weights = np.ones(len(ancestors))
    found = [
        LevelLoss(level=level, **_public(ancestors[:, -1 - level], labels[-1 - level], weights, len(ancestors)))
        for level in range(hierarchy.levels)
    ]
    return Preview(attribute=attribute or hierarchy.name, levels=tuple(found))


def _numbered(hierarchy: Hierarchy) -> tuple[NDArray[np.int64], list[list[str]]]:
    """Number of each leaf's label on each level, the root first, and the labels of each level."""
    table = np.empty((len(hierarchy.paths), hierarchy.levels), np.int64)
    texts: list[list[str]] = []
    for level in range(hierarchy.levels):
        place: dict[str, int] = {}
        for leaf, path in enumerate(hierarchy.paths):
            table[leaf, level] = place.setdefault(path[level], len(place))
        texts.append(list(place))
    return table, texts


def _public(group: NDArray[np.int64], labels: list[str], weights: NDArray[np.float64], every: int) -> dict[str, Any]:
    sizes = np.bincount(group, minlength=len(labels))
    penalty = (sizes[group] - 1) / max(every - 1, 1)
    return {
        "labels": len(labels),
        "example": labels[len(labels) // 2],
        "loss": float((penalty * weights).sum() / max(weights.sum(), 1)),
        "entropy": _lost(weights, np.asarray(np.bincount(group, weights, minlength=len(labels)), float)),
    }


def _lost(values: NDArray[np.float64], labels: NDArray[np.float64]) -> float:
    """H(value | label) / H(value), which is 1 - H(label) / H(value), as labels follow from values."""
    whole = _entropy(values)
    return float(min(max(1 - _entropy(labels) / whole, 0.0), 1.0)) if whole > 0 else 0.0


def _entropy(weights: NDArray[np.float64]) -> float:
    shares = weights[weights > 0] / max(weights.sum(), 1e-300)
    return float(-(shares * np.log(shares)).sum())


def preview_rows(domain: Domain, table: pa.Table, attribute: str, maker: TreeMaker, *, k: int = 10) -> Preview:
    """Compute what each level loses on some rows; exact, for their owner.

    Args:
        domain: Public description of the rows; its person's key says which rows are one person's.
        table: The rows, with the attribute and the person's key.
        attribute: The attribute.
        maker: A hierarchy, or a rule that makes one of the values that occur.
        k: Least people in a class that a release would need.
    """
    check.whole(k, "k", least=1)
    distinct = read_distinct_rows(domain, table, [attribute], hierarchies={attribute: maker})
    (tree,) = distinct.trees
    assert tree is not None
    paths = maker.hierarchy(distinct.axes[0])._with_missing(distinct.axes[0])
    codes = distinct.codes[:, 0]
    weights, every = distinct.rows.astype(float), int(tree.leaves.max(initial=1))
    found = []
    for level in range(tree.levels):
        nodes = tree.ancestors[codes, -1 - level]
        known, group = np.unique(nodes, return_inverse=True)
        people, rows = _people(distinct, group.astype(np.int64), len(known))
        penalty = (tree.leaves[nodes] - 1) / max(every - 1, 1)
        found.append(
            LevelLoss(
                level=level,
                labels=len({path[-1 - level] for path in paths}),
                example=tree.labels[known[len(known) // 2]] if len(known) else "",
                loss=float((penalty * weights).sum() / max(weights.sum(), 1)),
                entropy=_lost(weights, rows),
                occurring=len(known),
                smallest=int(people.min(initial=distinct.people)) if len(known) else 0,
                below=float(rows[people < k].sum() / max(rows.sum(), 1)),
            )
        )
    return Preview(attribute=attribute, levels=tuple(found), k=k, rows=len(distinct.of_row))


def _people(
    distinct: DistinctRows, group: NDArray[np.int64], groups: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """People and rows of each group of combinations."""
    rows = np.asarray(np.bincount(group, distinct.rows.astype(float), minlength=groups), float)
    if distinct.persons is None:
        return rows.astype(np.int64), rows
    of_row = group[distinct.of_row]
    return np.bincount(distinct_pairs(of_row, distinct.persons)[0], minlength=groups).astype(np.int64), rows

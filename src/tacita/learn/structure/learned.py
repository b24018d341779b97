"""Networks of exact rows, for their owner, through one search for discrete, continuous and mixed columns.

    score   columns                 network
    bic     all numbers             Gaussian
            all levels              discrete
    bge     all numbers             Gaussian
    bdeu    all levels              discrete
    clg     any                     mixed

Privacy: none, which the network states. `tacita release network` releases networks of numbers under a budget, and
`tacita synthesize` releases discrete ones.
Cost: one pass; then that of the search.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

from tacita import check
from tacita.errors import InvalidInput
from tacita.learn.structure.columns import StructureColumns
from tacita.models.continuous import (
    BGe,
    GaussianBIC,
    GaussianNetwork,
    GroupedMoments,
    MixedNetwork,
    MixedScore,
    Moments,
)
from tacita.models.discrete_score import DiscreteCounts, DiscreteScore
from tacita.models.fit import fit_network
from tacita.models.network import BayesianNetwork
from tacita.models.search import Search, total_score
from tacita.tables.cells import Cells

__all__ = ["AnyNetwork", "LearnedNetwork", "ScoreKind", "learn_network"]

ScoreKind = Literal["bic", "bge", "bdeu", "clg"]
AnyNetwork = GaussianNetwork | BayesianNetwork | MixedNetwork

_READERS: dict[str, Any] = {
    "gaussian-network/1": GaussianNetwork,
    "network/1": BayesianNetwork,
    "mixed-network/1": MixedNetwork,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class LearnedNetwork:
    """A network that was learned from exact rows: as sensitive as they are.

    Attributes:
        network: Structure and parameters.
        score: Kind of score.
        value: Score of the structure; higher is better.
        search: Settings of the search.
        rows: Number of rows. left_out: Rows without all values.
    """

    mark: ClassVar[str] = "learned-network/1"
    guarantee: ClassVar[str] = "none"

    network: AnyNetwork
    score: ScoreKind
    value: float
    search: Mapping[str, Any] = field(repr=False)
    rows: int
    left_out: int = 0

    @property
    def parents(self) -> Mapping[str, tuple[str, ...]]:
        """Parents of each attribute."""
        return self.network.parents

    def statement(self) -> str:
        """State the guarantee in words."""
        return "No guarantee: the network was learned from exact rows. Do not release it."

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "tacita": self.mark,
            "guarantee": self.guarantee,
            "statement": self.statement(),
            "network": self.network.as_dict(),
            "score": self.score,
            "value": self.value,
            "search": dict(self.search),
            "rows": self.rows,
            "left_out": self.left_out,
        }

    def to_json(self) -> str:
        """All of it as JSON text."""
        return json.dumps(self.as_dict(), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> LearnedNetwork:
        """Read the output of `to_json`."""
        data = json.loads(text)
        if data.get("tacita") != cls.mark:
            raise InvalidInput(f"must be `{cls.mark}`", field="tacita", value=data.get("tacita"))
        kind = data["network"].get("tacita")
        if kind not in _READERS:
            raise InvalidInput("must be a network", field="network", value=kind)
        return cls(
            network=_READERS[kind].from_dict(data["network"]),
            score=data["score"],
            value=float(data["value"]),
            search=data["search"],
            rows=int(data["rows"]),
            left_out=int(data["left_out"]),
        )


def learn_network(columns: StructureColumns, search: Search, *, score: ScoreKind = "bic") -> LearnedNetwork:
    """Search for the structure with the best score, and fit its parameters.

    Args:
        columns: Complete rows.
        search: Kind of search, with rules.
        score: See the module.
    """
    check.one_of(score, "score", get_args(ScoreKind))
    if columns.rows < 2:
        raise InvalidInput("must have at least two complete rows", field="rows", value=columns.rows)
    local = _score(columns, score)
    parents = search.run(columns.names, local, local.test)
    return LearnedNetwork(
        network=_fit(columns, local, parents),
        score=score,
        value=total_score(local, parents),
        search=_settings(search),
        rows=columns.rows,
        left_out=columns.left_out,
    )


def _score(columns: StructureColumns, score: ScoreKind) -> GaussianBIC | BGe | DiscreteScore | MixedScore:
    if score == "clg" and columns.numbers:
        return MixedScore(grouped=GroupedMoments.of(columns.numbers, columns.sizes, columns.codes))
    if columns.numbers and columns.codes:
        hint = "Use clg; or choose columns of one kind; or take numbers as bins: --binned"
        raise InvalidInput("needs all numbers, or all levels", field="score", value=score, hint=hint)
    if columns.numbers:
        if score == "bdeu":
            raise InvalidInput("needs levels", field="score", value=score, hint="Use bic or bge, or bins: --binned")
        moments = Moments.of(columns.numbers)
        moments.check_regular()
        return BGe(moments=moments) if score == "bge" else GaussianBIC(moments=moments)
    if score == "bge":
        raise InvalidInput("needs numbers", field="score", value=score, hint="Use bic or bdeu")
    counts = DiscreteCounts.of(columns.sizes, columns.codes)
    return DiscreteScore(counts=counts, kind="bdeu" if score == "bdeu" else "bic")


def _fit(columns: StructureColumns, local: Any, parents: Mapping[str, tuple[str, ...]]) -> AnyNetwork:
    if isinstance(local, MixedScore):
        return MixedNetwork.fit(local, parents, columns.levels)
    if isinstance(local, DiscreteScore):
        domain = columns.domain
        assert domain is not None
        return fit_network(domain, parents, lambda key: Cells(domain.project(key), local.counts.table(key)))
    return GaussianNetwork.fit(local.moments, parents)


def _settings(search: Search) -> dict[str, Any]:
    return {
        "kind": search.kind,
        "degree": search.degree,
        "forbidden": sorted(f"{above}:{below}" for above, below in search.rules.forbidden),
        "required": sorted(f"{above}:{below}" for above, below in search.rules.required),
        "restarts": search.restarts,
        "tabu": search.tabu,
        "level": search.level,
        "seed": search.seed,
    }

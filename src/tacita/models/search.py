"""One interface for structure search, whatever the columns are: scores of a child with its parents, and rules on links.

    score(child, parents) -> float      higher is better; the sum over children is maximised; minus infinity forbids

    exact     `exact_search.best_parents`           the optimum, for few attributes
    hill      `hill_climb.hill_climb`               add, remove and turn links, with restarts and a tabu list
    rsmax2    `restricted.restricted_maximum`       tests find the pairs that may have a link, then hill climbing
    brute     `all_structures.best_of_all`          every acyclic structure, for five attributes: a cross-check

Rules change the score only: a set of parents that breaks one scores minus infinity. So every search respects them.

Privacy: none of its own; a structure costs what its scores cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from tacita import check
from tacita.errors import InvalidInput, UnknownName
from tacita.models.all_structures import best_of_all
from tacita.models.exact_search import MOST, best_parents
from tacita.models.hill_climb import hill_climb
from tacita.models.network import topological_order
from tacita.models.restricted import restricted_maximum

__all__ = ["Key", "LinkRules", "Score", "Search", "SearchKind", "Test", "total_score"]

Key = tuple[str, ...]
Score = Callable[[str, Key], float]
Test = Callable[[str, str, Key], float]
"""P-value of independence of two attributes given some others."""
Link = tuple[str, str]
SearchKind = Literal["exact", "hill", "rsmax2", "brute"]


@dataclass(frozen=True, kw_only=True)
class LinkRules:
    """Links (parent, child) that a structure must not have, and links that it must have."""

    forbidden: frozenset[Link] = frozenset()
    required: frozenset[Link] = frozenset()

    @classmethod
    def of(cls, names: Sequence[str], *, forbid: Iterable[str] = (), require: Iterable[str] = ()) -> LinkRules:
        """Read links that are written `parent:child`; a star stands for any attribute.

        >>> sorted(LinkRules.of(["a", "b", "c"], forbid=["c:*"], require=["a:b"]).forbidden)
        [('c', 'a'), ('c', 'b')]
        """
        forbidden = {link for text in forbid for link in _links(names, text, "forbid")}
        rules = cls(
            forbidden=frozenset(forbidden), required=frozenset(_link(names, text, "require") for text in require)
        )
        rules.check(names)
        return rules

    def check(self, names: Sequence[str]) -> None:
        """Refuse links between other attributes, and rules that no structure can follow."""
        for name in (end for link in self.forbidden | self.required for end in link):
            if name not in names:
                raise UnknownName(name, field="links", available=names)
        both = sorted(self.forbidden & self.required)
        if both:
            raise InvalidInput("must not be forbidden and required", field="links", value=":".join(both[0]))
        topological_order(names, self.start(names))

    def start(self, names: Sequence[str]) -> dict[str, Key]:
        """Return the structure of the required links alone."""
        return {name: tuple(above for above in names if (above, name) in self.required) for name in names}

    def apply(self, score: Score) -> Score:
        """Return the score that is minus infinity for parents that break a rule."""
        if not self.forbidden and not self.required:
            return score

        def ruled(child: str, parents: Key) -> float:
            broken = any((above, child) in self.forbidden for above in parents)
            lacking = any(above not in parents for above, below in self.required if below == child)
            return -math.inf if broken or lacking else score(child, parents)

        return ruled


def _links(names: Sequence[str], text: str, field: str) -> list[Link]:
    above, below = _ends(text, field)
    parents = names if above == "*" else [above]
    children = names if below == "*" else [below]
    return [(parent, child) for parent in parents for child in children if parent != child]


def _link(names: Sequence[str], text: str, field: str) -> Link:
    above, below = _ends(text, field)
    for name in (above, below):
        if name not in names:
            raise UnknownName(name, field=field, available=names)
    return above, below


def _ends(text: str, field: str) -> Link:
    above, colon, below = (part.strip() for part in text.partition(":"))
    if not colon or not above or not below or (above == below and above != "*"):
        raise InvalidInput("must be written PARENT:CHILD", field=field, value=text)
    return above, below


@dataclass(frozen=True, kw_only=True)
class Search:
    """Kind of search and its settings.

    Args:
        kind: See the module.
        degree: Most parents of an attribute; any number if None.
        rules: Forbidden and required links.
        restarts: Times that hill climbing starts again from a changed copy of the best structure.
        tabu: Structures that hill climbing remembers and does not visit again; 0 stops at the first summit.
        level: Level of the tests of `rsmax2`.
        seed: Seed of the restarts; public.
    """

    kind: SearchKind = "exact"
    degree: int | None = None
    rules: LinkRules = LinkRules()
    restarts: int = 0
    tabu: int = 0
    level: float = 0.05
    seed: int = 0

    def __post_init__(self) -> None:
        check.one_of(self.kind, "search", get_args(SearchKind))
        check.whole(self.degree, "degree", least=0, optional=True)
        check.whole(self.restarts, "restarts", least=0, most=10_000)
        check.whole(self.tabu, "tabu", least=0, most=10_000)
        check.whole(self.seed, "seed", least=0)
        check.inside(self.level, "level", 0, 1)

    @classmethod
    def automatic(cls, attributes: int, **settings: object) -> Search:
        """Return the exact search where it is possible, otherwise hill climbing with restarts and a tabu list."""
        if attributes <= MOST:
            return cls(kind="exact", **settings)  # type: ignore[arg-type]
        return cls(kind="hill", **{"restarts": 10, "tabu": 10} | settings)  # type: ignore[arg-type]

    def run(self, names: Sequence[str], score: Score, test: Test | None = None) -> dict[str, Key]:
        """Return the parents of each attribute, in the order of names.

        Args:
            names: The attributes.
            score: Of a child and its parents, which come in the order of names.
            test: Needed by `rsmax2`.
        """
        self.rules.check(names)
        degree = len(names) - 1 if self.degree is None else min(self.degree, max(len(names) - 1, 0))
        start = self.rules.start(names)
        most = max((len(above) for above in start.values()), default=0)
        if most > degree:
            raise InvalidInput(f"must be at least {most}, for the required links", field="degree", value=degree)
        ruled = self.rules.apply(score)
        if self.kind == "exact":
            return best_parents(names, ruled, degree=degree)
        if self.kind == "brute":
            return best_of_all(names, ruled, degree=degree)
        climb = {"degree": degree, "restarts": self.restarts, "tabu": self.tabu}
        rng = np.random.default_rng(self.seed)
        if self.kind == "hill":
            return hill_climb(names, ruled, start=start, rng=rng, **climb)
        if test is None:
            raise InvalidInput("needs a test of independence", field="search", value=self.kind)
        return restricted_maximum(names, ruled, test, level=self.level, start=start, rng=rng, **climb)


def total_score(score: Score, parents: Mapping[str, Key]) -> float:
    """Sum the score of a structure over its attributes; parents are brought into the order of the mapping."""
    place = {name: at for at, name in enumerate(parents)}
    return math.fsum(score(name, tuple(sorted(above, key=place.__getitem__))) for name, above in parents.items())

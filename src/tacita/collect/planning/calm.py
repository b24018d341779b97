"""Choice of the views to ask about when many tables over many attributes are wanted.  [after Zhang et al. 2018, CALM]

Asking each wanted table by itself leaves few respondents for each. A view, a table over more attributes, serves all
tables inside it, and the views' shared margins are measured many times over; but its cells are more, and summing them
up adds their noise. So there is a best size, and it depends on the number of people, epsilon and the levels.

The prediction, for a design of m views with n / m respondents each: a table is made of interactions S, one for each
set of its attributes, with d_S = prod (levels - 1) free numbers each. A view V of L cells, estimated with variance
v m / n in every direction, informs about every S inside it; all views that hold S are averaged, so that

    1 / precision(S) = 1 / sum_{V holds S} n / (m v_V L_V)           noise^2 = (1/2)^2 (2 / pi) sum_S d_S / precision(S)

as total variation distance (E|z| = sqrt(2 / pi) for normal noise). v is the variance of one report about a population:
noise of the channel and of sampling people together. An interaction that no view holds is left out by `complete`: that
misses `dependence` for a pair, half of it for a triple, and so on, which is an assumption about populations in general
and is not read off the data. The design with the least weighted mean of sqrt(noise^2 + missed^2) is taken. Singles are
one of the designs: with few people it is best not to ask about pairs at all.

Privacy: that of the channels of the design; each respondent answers about one view. The choice uses no data.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from tacita.collect.channels.oracles import best_oracle
from tacita.collect.channels.protocol import Channel
from tacita.collect.estimating.consistency import complete
from tacita.collect.planning.design import Asked, CollectionDesign
from tacita.collect.planning.planes import ORDERS, plane_lines
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.tables.cells import Cells
from tacita.tables.release import Releases
from tacita.tables.workload import Workload

__all__ = ["ChosenViews", "PredictedTable", "choose_views", "cover", "table_of"]

Key = tuple[str, ...]

_STARTS = 4  # greedy covers tried for each size; the one with the fewest views is kept
_MANY = 300  # tables above which one greedy cover is tried
_LARGEST = 8


@dataclass(frozen=True, kw_only=True)
class PredictedTable:
    """Predicted error of a wanted table, as total variation distance, before anyone is asked.

    Attributes:
        attributes: Of the table. noise: From channel and sampling. missed: Assumed, of interactions that no view holds.
    """

    attributes: Key
    noise: float
    missed: float

    @property
    def error(self) -> float:
        """Both together; never above 1."""
        return min(math.hypot(self.noise, self.missed), 1.0)


@dataclass(frozen=True, kw_only=True)
class ChosenViews:
    """Views to ask about, each of an equal share of the respondents.

    Attributes:
        views: The combinations. size: The most attributes of a view. why: The choice in words.
        predicted: For every wanted table. tried: Mean predicted error of the best design of each size.
    """

    domain: Domain = field(repr=False)
    views: tuple[Key, ...]
    size: int
    respondents: int
    epsilon: float
    why: str
    predicted: tuple[PredictedTable, ...] = field(repr=False)
    tried: dict[int, float] = field(repr=False)

    def design(self) -> CollectionDesign:
        """The design that asks each respondent about one view with the whole epsilon."""
        share = 1 / len(self.views)
        answers = max(round(self.respondents * share), 1)
        questions = tuple(
            Asked(
                attributes=view, channel=best_oracle(self.domain.project(view).size, self.epsilon, answers), share=share
            )
            for view in self.views
        )
        return CollectionDesign(
            domain=self.domain,
            questions=questions,
            epsilon=self.epsilon,
            respondents=self.respondents,
            mode="singles" if self.size == 1 else "tables",
            why=self.why,
        )


def choose_views(
    domain: Domain,
    workload: Workload,
    *,
    respondents: int,
    epsilon: float,
    dependence: float = 0.1,
    most_cells: int = 4096,
) -> ChosenViews:
    """The views with the least predicted error for a workload.

    Args:
        domain: The attributes.
        workload: Which tables are wanted, and how much each matters.
        respondents: How many will answer.
        epsilon: The loss that each accepts.
        dependence: The total variation distance that is missed, by assumption, when a pair is taken as independent.
        most_cells: Most cells of a view; a table that is wanted may be larger.
    """
    workload.check(domain)
    if type(respondents) is not int or respondents < 1:
        raise InvalidInput("must be an integer of 1 or more", field="respondents", value=respondents)
    if not 0 <= dependence <= 1:
        raise InvalidInput("must lie between 0 and 1", field="dependence", value=dependence)
    pricing = _Pricing(domain, workload, respondents, epsilon, dependence)
    best: dict[int, tuple[float, tuple[Key, ...]]] = {}
    for size in range(1, min(len(workload.attributes), _LARGEST) + 1):
        views = cover(domain, workload, size, most_cells=most_cells)
        if size > 1 and max(len(view) for view in views) < size:
            break  # larger ones do not fit into the cells
        parts = [views[:count] for count in _prefixes(len(views))]
        priced = [(pricing.mean(part), part) for part in parts if _holds_all(part, workload)]
        best[size] = min(priced, key=lambda pair: pair[0])
    size = min(best, key=lambda candidate: best[candidate][0])
    error, views = best[size]
    predicted = tuple(pricing.tables(views))
    held = sum(1 for table in predicted if not table.missed)
    others = ", ".join(f"{tried}: {mean:.3f}" for tried, (mean, _) in best.items() if tried != size)
    why = f"{len(views)} views of up to {size} attributes, predicted mean error {error:.3f}; "
    why += f"{held} of {len(workload)} tables inside a view; by size of view {others}"
    return ChosenViews(
        domain=domain,
        views=views,
        size=size,
        respondents=respondents,
        epsilon=epsilon,
        why=why,
        predicted=predicted,
        tried={tried: mean for tried, (mean, _) in best.items()},
    )


def _prefixes(count: int) -> list[int]:
    """Numbers of views of a cover to try: all of them, and ever fewer, which leaves tables out."""
    return sorted({max(1, round(count / 2 ** (step / 2))) for step in range(9)})


def _holds_all(views: Iterable[Key], workload: Workload) -> bool:
    return set(workload.attributes) <= {name for view in views for name in view}


class _Pricing:
    """The predicted error of designs, for one workload and one number of people."""

    def __init__(self, domain: Domain, workload: Workload, respondents: int, epsilon: float, dependence: float) -> None:
        self.domain, self.workload, self.respondents = domain, workload, respondents
        self.epsilon, self.dependence = epsilon, dependence
        self.order = max(len(key) for key in workload)
        self.variance = cache(self._variance)

    def _variance(self, cells: int) -> float:
        """Of one report in one direction, all cells being equally frequent; the total, which is known, left out."""
        channel: Channel = best_oracle(cells, self.epsilon, self.respondents)
        covariance = channel.covariance(np.full(cells, 1 / cells), respondents=1, about="population")
        along_total = covariance.of(np.full(cells, 1 / math.sqrt(cells)))
        return float(covariance.variance().sum() - along_total) / (cells - 1)

    def mean(self, views: tuple[Key, ...]) -> float:
        """Weighted mean over the wanted tables."""
        errors = [table.error for table in self.tables(views)]
        return float(np.average(errors, weights=self.workload.weights))

    def tables(self, views: Sequence[Key]) -> Iterator[PredictedTable]:
        """Every wanted table."""
        precision = self._precision(views)
        for key in self.workload:
            noise = missed = 0.0
            for inside in _subsets(key, len(key)):
                known = precision.get(inside, 0.0)
                if known:
                    noise += math.prod(self.domain[name].size - 1 for name in inside) / known
                else:
                    missed += (self.dependence / 2 ** (len(inside) - 2)) ** 2
            yield PredictedTable(attributes=key, noise=0.5 * math.sqrt(2 / math.pi * noise), missed=math.sqrt(missed))

    def _precision(self, views: Sequence[Key]) -> dict[frozenset[str], float]:
        each = self.respondents / len(views)
        found: dict[frozenset[str], float] = {}
        for view in views:
            cells = math.prod(self.domain[name].size for name in view)
            known = each / (self.variance(cells) * cells)
            for inside in _subsets(view, self.order):
                found[inside] = found.get(inside, 0.0) + known
        return found


def _subsets(key: Sequence[str], most: int) -> Iterator[frozenset[str]]:
    """Every set of 1 to `most` of these attributes."""
    for size in range(1, min(most, len(key)) + 1):
        yield from map(frozenset, itertools.combinations(key, size))


def cover(domain: Domain, workload: Workload, size: int, *, most_cells: int = 4096, seed: int = 0) -> tuple[Key, ...]:
    """Views of at most `size` attributes that hold every wanted table, or every part of `size` attributes of it.

    Greedy: a view starts with what is still missing and takes in, one by one, the attribute that completes most of what
    is missing. Several random orders are tried, and the cover with the fewest views is kept. Where all pairs of some
    attributes are wanted, the lines of an affine plane are one of the covers (`planes`).

    Args:
        domain: The attributes. workload: The tables wanted. size: Most attributes of a view.
        most_cells: Most cells of a view, unless the wanted table has more. seed: Of the orders tried.
    """
    targets = sorted(
        {tuple(sorted(part)) for key in workload for part in itertools.combinations(key, min(size, len(key)))}
    )
    wanted = [frozenset(target) for target in targets]
    orders = [
        np.random.default_rng(seed + start).permutation(len(wanted))
        for start in range(_STARTS if len(wanted) <= _MANY else 1)
    ]
    covers = [_greedy(domain, [wanted[i] for i in order], size, most_cells) for order in orders]
    fewest = min([*covers, *_planes(domain, wanted, size, most_cells)], key=len)
    place = {name: number for number, name in enumerate(domain.names)}
    return tuple(tuple(sorted(view, key=place.__getitem__)) for view in _most_first(fewest))


def _planes(
    domain: Domain, wanted: Sequence[frozenset[str]], size: int, most_cells: int
) -> Iterator[list[frozenset[str]]]:
    """The lines of the affine plane of this order, where it has room for all pairs of the attributes."""
    names = sorted({name for target in wanted for name in target}, key=domain.names.index)
    if size not in ORDERS or size**2 < len(names) or any(len(target) != 2 for target in wanted):
        return
    lines = [frozenset(line) for line in plane_lines(names, size)]
    fits = all(math.prod(domain[name].size for name in line) <= most_cells for line in lines)
    if fits and set(wanted) == {frozenset(pair) for pair in itertools.combinations(names, 2)}:
        yield lines


def _greedy(domain: Domain, wanted: Sequence[frozenset[str]], size: int, most_cells: int) -> list[frozenset[str]]:
    left = dict.fromkeys(wanted)
    names = list(dict.fromkeys(name for target in wanted for name in sorted(target)))
    views = []
    while left:
        view = next(iter(left))
        while len(view) < size:
            cells = math.prod(domain[name].size for name in view)
            gains = {
                name: sum(1 for target in left if name in target and target <= view | {name})
                for name in names
                if name not in view and cells * domain[name].size <= most_cells
            }
            # where nothing is completed, the attribute that most is still missing of leads on
            ties = {name: sum(1 for target in left if name in target and target & view) for name in gains}
            best = max(gains, key=lambda name: (gains[name], ties[name]), default=None)
            if best is None or not (gains[best] or ties[best]):
                break
            view |= {best}
        views.append(view)
        left = {target: None for target in left if not target <= view}
    return views


def _most_first(views: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    """All attributes as soon as possible, then as they were found."""
    left, seen, ordered = list(views), frozenset[str](), []
    while left:
        best = max(left, key=lambda view: len(view - seen))
        left.remove(best)
        ordered.append(best)
        seen |= best
    return ordered


def table_of(releases: Releases, domain: Domain) -> Cells:
    """A wanted table from consistent views: summed out of the smallest that holds it, else completed.

    What is completed uses the largest margins that the views know, each from the smallest view that has it.

    Args:
        releases: Of the views, after `consistent`.
        domain: Attributes of the table.
    """
    margins: dict[frozenset[str], Cells] = {}
    for release in sorted(releases.values(), key=lambda release: release.domain.size):
        shared = frozenset(domain.names) & frozenset(release.attributes)
        if shared and shared not in margins:
            margins[shared] = release.estimate.project(name for name in domain.names if name in shared)
    if frozenset(domain.names) in margins:
        return margins[frozenset(domain.names)]
    largest = [table for key, table in margins.items() if not any(key < other for other in margins)]
    return complete(largest, domain, rounds=100, tolerance=1e-6)

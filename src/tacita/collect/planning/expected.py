"""Expected error of a design after post-processing, in closed form, over a range of dependence.

A wanted table T is the sum of parts, one for each set S of its attributes (`estimating.interactions`). Questions that
hold S measure it together with a precision: of each question, answers / (v L) with L its cells and v the variance of
one report in a free direction: L / (L - 1) times that of a cell, because shares sum to 1. As squared total variation
distance of the table, the noise of a part with d free numbers is

    N_S = (1/2)^2 (2 / pi) d / precision(S)

and the part itself has the size t_S: for a pair the squared dependence that is expected, for each further attribute a
quarter of it. What is published is shrunk: a part that was measured with noise N is missed by t N / (t + N), the mean
squared error of the best linear estimate [Efron, Morris 1973]; one that was not measured by t. Where one trait stands
behind all attributes, latent classes need few numbers for all pairs, and the noise is smaller by the ratio of the two;
where pairs depend each in its own way it is not. Populations are of both kinds, so the mean of both is taken:

    error(T)^2 = sum of N_S over single attributes + sum over larger S of 1/2 (t N / (t + N) + t r N / (t + r N))

No one knows the dependence beforehand. A design is judged by its regret: its error over the least error of all designs,
averaged over dependences from none to twice what the owner expects. A design that is good only for one guess loses.

Privacy: reads the schema, a budget and a public number of people; never data.
Utility: measured beside the errors of whole collections by `bench/ldp_pairs.py`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tacita.collect.channels.protocol import Channel
from tacita.collect.planning.design import Asked, CollectionDesign
from tacita.domain import Domain
from tacita.tables.workload import Workload

__all__ = ["Judged", "expected_error", "judge", "part_precisions", "report_variance"]

_RANGE = (0.0, 0.25, 0.5, 1.0, 2.0)
"""Dependences at which designs are judged, as multiples of the expected one."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """Designs and their expected errors.

    Attributes:
        errors: For each design, the expected mean total variation distance at each dependence.
        dependences: The dependences.
        regrets: For each design, the mean of its error over the least error.
    """

    errors: Mapping[str, tuple[float, ...]]
    dependences: tuple[float, ...]
    regrets: Mapping[str, float]

    @property
    def best(self) -> str:
        """The design with the least regret."""
        return min(self.regrets, key=lambda way: self.regrets[way])

    def middle(self, way: str) -> float:
        """The error of a design at the dependence that the owner expects."""
        return self.errors[way][_RANGE.index(1.0)]


def judge(designs: Mapping[str, CollectionDesign], workload: Workload, *, dependence: float) -> Judged:
    """Expected errors of some designs, and their regrets.

    Args:
        designs: By name.
        workload: The tables wanted, and how much each matters.
        dependence: Expected total variation distance of pairs from independence.
    """
    dependences = tuple(min(factor * dependence, 1.0) for factor in _RANGE)
    errors = {way: tuple(_errors(design, workload, dependences).tolist()) for way, design in designs.items()}
    table = np.maximum(np.array(list(errors.values())), 1e-12)
    regrets = (table / table.min(axis=0)).mean(axis=1)
    return Judged(
        errors=errors,
        dependences=dependences,
        regrets={way: float(regret) for way, regret in zip(errors, regrets, strict=True)},
    )


def expected_error(design: CollectionDesign, workload: Workload, *, dependence: float) -> float:
    """Expected mean total variation distance of the wanted tables at one dependence."""
    return float(_errors(design, workload, (dependence,))[0])


def _errors(design: CollectionDesign, workload: Workload, dependences: Sequence[float]) -> np.ndarray:
    domain = design.domain
    order = max(len(key) for key in workload)
    known = part_precisions(domain, design.questions, design.respondents, order)
    ratio = _sharing(domain, [part for part in known if len(part) == 2])
    expected = np.asarray(dependences, float) ** 2
    noises = {part: _noise(domain, part, precision) for part, precision in known.items()}
    found = np.zeros((len(workload), expected.size))
    for row, key in enumerate(workload):
        for size in range(1, len(key) + 1):
            for part in map(frozenset, itertools.combinations(key, size)):
                if size == 1:
                    found[row] += min(noises.get(part, 1.0), 1.0)
                    continue
                true = expected / 4 ** (size - 2)
                if part not in noises:
                    found[row] += true
                    continue
                for noise in (noises[part], ratio * noises[part]):
                    found[row] += 0.5 * true * noise / (true + noise)
    errors = np.minimum(np.sqrt(found), 1.0)
    return np.asarray(np.average(errors, axis=0, weights=workload.weights))


def part_precisions(
    domain: Domain, questions: Sequence[Asked], respondents: int, order: int
) -> dict[frozenset[str], float]:
    """The precision with which some questions measure every part of at most `order` attributes."""
    found: dict[frozenset[str], float] = {}
    variances: dict[tuple[type, int], float] = {}
    for asked in questions:
        channel = asked.oracle
        cells, kind = channel.levels, (type(channel), channel.levels)
        if kind not in variances:
            variances[kind] = report_variance(channel)
        known = max(respondents * asked.share, 1e-9) / (variances[kind] * cells)
        for size in range(1, min(order, len(asked.attributes)) + 1):
            for part in map(frozenset, itertools.combinations(asked.attributes, size)):
                found[part] = found.get(part, 0.0) + known
    return found


def report_variance(channel: Channel) -> float:
    """Variance of one report in a free direction, all cells being equally frequent."""
    cells = channel.levels
    found = np.mean(channel.covariance(np.full(cells, 1 / cells), respondents=1).variance())
    return float(found) * cells / max(cells - 1, 1)


def _noise(domain: Domain, part: frozenset[str], precision: float) -> float:
    free = math.prod(domain[name].size - 1 for name in part)
    return 0.25 * 2 / math.pi * free / precision


def _sharing(domain: Domain, pairs: Sequence[frozenset[str]]) -> float:
    """Numbers of one further class over those of all measured pairs, 1 at most."""
    names = {name for pair in pairs for name in pair}
    free = sum(math.prod(domain[name].size - 1 for name in pair) for pair in pairs)
    return min(1.0, sum(domain[name].size - 1 for name in names) / free) if free else 1.0

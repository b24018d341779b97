"""The second phase of a campaign: questions for the remaining respondents, chosen from the reports of the first ones.

The first respondents answer a design that asks for all pairs. Their reports show, up to noise, which pairs depend. The
second block asks where a further report is worth most: pairs that are near independent need no further table, because
single attributes suffice, and the dependent ones get the respondents that this frees.

The measured dependence of a pair is x = (its part) - (the product of the parts of its single attributes), with parts as
in `estimating.interactions`. What is not known of it after the first block is

    u = p V + p (1 - p) m^2,    V = d T N / (T + N),    m^2 = (T / (T + N))^2 |x|^2

with N the noise in each of its d free numbers, p its probability to be more than noise and T its variance then, by the
law of all pairs (`estimating.empirical`). A second block that measures the pair with noise N' leaves u N' / (u + N');
where one trait stands behind all attributes, less is left (`expected`), and again the mean of both kinds of population
is taken. So the expected error of the wanted tables is a function of the shares of the questions. Several sets of
questions are tried: those of the first block, all pairs, and larger views of the pairs that are uncertain; each with
single attributes, and with the shares of least expected error (exponentiated gradient). The best set is asked.

An eighth of the second block is asked the questions of the first, whatever was found: every table is measured in both
blocks, and intervals weigh the blocks without regard to what was found (`estimating.pooled.combine_phases`).

Privacy: each respondent answers one question of one block with the same epsilon. The second design is a function of the
first block's reports, which were randomised before they were sent. It costs no one anything, and is the same whenever
it is computed: no clock is read, and the second block begins when enough have answered.
Utility: `bench/two_phase.py`.   Claim page: docs/claims/two-phase.md.   Flags: unvetted.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tacita.collect.estimating.empirical import TwoGroups, shrink_singles
from tacita.collect.estimating.evidence import Evidence
from tacita.collect.estimating.interactions import Interactions
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.calm import cover
from tacita.collect.planning.design import FEWEST, UNIT, Asked, CollectionDesign, best_for
from tacita.collect.planning.expected import part_precisions, report_variance
from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.tables.workload import Workload

__all__ = [
    "FIRST",
    "KEPT",
    "Beliefs",
    "SecondDesign",
    "check_phases",
    "expected_gain",
    "in_two_phases",
    "second_design",
    "simulate_phases",
]

Array = NDArray[np.float64]
Key = tuple[str, ...]
Part = frozenset[str]

FIRST = 0.3
"""Usual share of the respondents in the first block."""
KEPT = 1 / 8
"""Share of the second block that is asked the questions of the first."""
_STEPS, _RATE = 150, 0.5
"""Of the exponentiated gradient."""
_SIZES = (3, 4, 5, 6)
"""Of views that are tried."""
_COVERED = (0.98, 0.9, 0.8)
"""Shares of the uncertainty of all pairs that the views hold, that are tried."""
_MANY = 500
"""Pairs above which no views are tried: each cover takes as long as all pairs squared."""
_MOST_CELLS = 1024
_ORDER = 3
"""Most attributes of a part that is looked at."""
_UNIT = 0.25 * 2 / math.pi
"""Squared total variation distance of one free number with precision 1 (`expected`)."""
_DRAWS = 2
_TIMES = 2.0
"""Dependence of a pair over the expected mean, in populations where each attribute depends on one other."""


@dataclass(frozen=True, kw_only=True)
class Beliefs:
    """Knowledge from the first block of the parts of the wanted tables.

    Attributes:
        uncertain: Of each pair, the squared total variation distance that is not known.
        precision: With which each part was measured, of single attributes too.
    """

    uncertain: Mapping[Part, float]
    precision: Mapping[Part, float]

    @classmethod
    def of(cls, tally: Tally) -> Beliefs:
        """Read off the reports of the first block how uncertain the dependence of each pair is."""
        domain = tally.design.domain
        measured = Interactions.of(Evidence.of(tally))
        names, singles = measured.domain.names, shrink_singles(measured).singles
        precision: dict[Part, float] = {}
        for name, block in zip(names, measured.blocks, strict=True):
            precision[frozenset([name])] = float(measured.single_precision[block].mean()) / domain[name].size
        squares: dict[Part, float] = {}
        for a, b in measured.measured_pairs:
            at, pair = (measured.blocks[a], measured.blocks[b]), frozenset([names[a], names[b]])
            known, rest = measured.pair_precision[at], measured.pairs[at] - np.outer(*(singles[block] for block in at))
            precision[pair] = float(known.mean()) / rest.size
            squares[pair] = rest.size * float((known * rest**2).sum() / known.mean())
        return cls.given(domain, squares, precision)

    @classmethod
    def given(cls, domain: Domain, squares: Mapping[Part, float], precision: Mapping[Part, float]) -> Beliefs:
        """The same from the measured squares of all pairs, each times its cells."""
        if not squares:
            return cls(uncertain={}, precision=precision)
        groups = TwoGroups.fit(
            list(squares.values()), [_free(domain, pair) for pair in squares], [1 / precision[pair] for pair in squares]
        )
        uncertain = dict(zip(squares, (_UNIT * groups.uncertain).tolist(), strict=True))
        return cls(uncertain=uncertain, precision=precision)


@dataclass(frozen=True, kw_only=True)
class SecondDesign:
    """The questions of the second block.

    Attributes:
        questions: With their channels and shares. why: The choice in words.
        error: Expected mean total variation distance of the wanted tables, of both blocks together.
        again: The same if the second block asked what the first did.
    """

    questions: tuple[Asked, ...] = field(repr=False)
    why: str
    error: float
    again: float


def check_phases(design: CollectionDesign) -> None:
    """Refuse two phases where the first shows no dependence, or one respondent answers several questions."""
    if design.mode != "tables" or not any(len(question.attributes) > 1 for question in design.questions):
        hint = "Ask in one phase, or plan with mode='tables'"
        raise InvalidInput("needs a first block that asks for tables", field="phases", hint=hint)
    if any(len(view) > 1 for view in design.views):
        raise InvalidInput("needs one question for each respondent", field="phases", hint="answers='one'")
    if any(question.asks_mean or question.asks_margins for question in design.questions):
        raise InvalidInput("needs questions about tables throughout", field="phases", hint="channel='auto'")


def second_design(tally: Tally, *, respondents: int) -> SecondDesign:
    """The design of the second block, from the reports of the first.

    Args:
        tally: Of the first block; only tables that may be published, because the design reveals which of them depend.
        respondents: How many are still expected.
    """
    design = tally.design
    wanted = Workload(design.wanted or tuple(question.attributes for question in design.questions))
    first = {question.attributes: question.share for question in design.questions if question.block == 1}
    beliefs = Beliefs.of(tally) if any(True for _ in tally) else Beliefs(uncertain={}, precision={})
    found, again = _best(design.domain, wanted, beliefs, first, max(respondents, 1), design.epsilon)
    questions = tuple(
        Asked(
            attributes=key,
            channel=best_for(design.domain.project(key), design.epsilon, max(round(respondents * share), 1)),
            share=share,
            block=2,
        )
        for key, share in found.shares.items()
    )
    alone = sum(share for key, share in found.shares.items() if len(key) == 1)
    why = (
        f"block 2 asks for {found.name}, {alone:.0%} of it for single attributes: expected error {found.error:.4f}, "
        f"and {again:.4f} if the first block's questions were asked again"
    )
    return SecondDesign(questions=questions, why=why, error=found.error, again=again)


def expected_gain(design: CollectionDesign, workload: Workload, *, first: float, dependence: float) -> float:
    """Expected error in two phases over that in one, averaged over kinds of populations. Reads no data.

    Populations: all pairs depend as expected; or as many pairs as there are attributes, each twice as much, and all
    others not at all. For each, the first block's measurements are drawn at the precision that it will have.
    """
    domain, rng = design.domain, np.random.default_rng(0)
    people = max(round(design.respondents * first), 1)
    precision = part_precisions(domain, design.questions, people, order=2)
    pairs = sorted((part for part in precision if len(part) == 2), key=sorted)
    shares = {question.attributes: question.share for question in design.questions}
    ratios = []
    for sparse, strength in ((False, 1.0), (True, _TIMES)) * _DRAWS:
        count = min(len(workload.attributes), len(pairs)) if sparse else len(pairs)
        depend = {pairs[place] for place in rng.choice(len(pairs), count, replace=False)}
        squares = {}
        for pair in pairs:
            signal = min(strength * dependence, 1.0) ** 2 / _UNIT if pair in depend else 0.0
            free, noise = _free(domain, pair), 1 / precision[pair]
            squares[pair] = noise * float(rng.noncentral_chisquare(free, signal / noise))
        beliefs = Beliefs.given(domain, squares, precision)
        found, again = _best(domain, workload, beliefs, shares, design.respondents - people, design.epsilon, few=True)
        ratios.append(found.error / again)
    return float(np.mean(ratios))


# -- the shares of the questions -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Found:
    name: str
    shares: dict[Key, float]
    error: float


def _best(
    domain: Domain,
    workload: Workload,
    beliefs: Beliefs,
    first: Mapping[Key, float],
    respondents: int,
    epsilon: float,
    *,
    few: bool = False,
) -> tuple[_Found, float]:
    """The set of questions with the least expected error, and the error of asking the first block's questions again."""
    errors = _Errors(domain, workload, beliefs, list(first), respondents, epsilon)
    again = _Found(name="the first block's questions", shares=dict(first), error=errors(np.array([*first.values()]))[0])
    best = again
    for name, keys in _candidates(domain, workload, beliefs, first, few).items():
        found = _shared(domain, workload, beliefs, first, respondents, epsilon, name, keys)
        if found is not None and found.error < best.error:
            best = found
    return best, again.error


def _shared(
    domain: Domain,
    workload: Workload,
    beliefs: Beliefs,
    first: Mapping[Key, float],
    respondents: int,
    epsilon: float,
    name: str,
    keys: Sequence[Key],
) -> _Found | None:
    """The best shares for some questions, beside those that are kept; none with too few answers."""
    asked = {frozenset(key): key for key in (*keys, *first)}  # a table has the name that the first block gave it
    every = list(asked.values())
    kept = np.array([KEPT * first.get(key, 0.0) for key in every])
    ours = {frozenset(key) for key in keys}
    start = np.array([1.0 if frozenset(key) in ours else 0.0 for key in every])
    errors = _Errors(domain, workload, beliefs, every, respondents, epsilon)
    shares = _descend(errors, start / start.sum(), kept)
    shares = np.where((1 - KEPT) * shares * respondents < FEWEST, 0.0, shares)
    if not shares.any():
        return None
    total = kept + (1 - KEPT) * shares / shares.sum()
    total = total / total.sum()
    held = {key: float(share) for key, share in zip(every, total, strict=True) if share > 0}
    return _Found(name=name, shares=held, error=errors(total)[0])


def _descend(errors: _Errors, shares: Array, kept: Array) -> Array:
    """Shares of least error, of what is left beside a part that is kept."""
    best = math.inf, shares
    for _ in range(_STEPS):
        error, slope = errors(kept + (1 - KEPT) * shares)
        best = min(best, (error, shares), key=lambda pair: pair[0])
        shares = shares * np.exp(-_RATE * slope / max(float(np.abs(slope).max()), 1e-300))
        shares = shares / shares.sum()
    return best[1]


def _candidates(
    domain: Domain, workload: Workload, beliefs: Beliefs, first: Mapping[Key, float], few: bool
) -> dict[str, list[Key]]:
    """Sets of questions, by their names."""
    singles = [(name,) for name in workload.attributes]
    uncertain = sorted(beliefs.uncertain, key=lambda pair: (-beliefs.uncertain[pair], sorted(pair)))
    pairs: list[Key] = [tuple(sorted(pair, key=domain.names.index)) for pair in uncertain]
    pairs = [pair for pair in pairs if domain.project(pair).size <= _MOST_CELLS]
    found = {"the first block's questions in other shares": [*first, *singles], "pairs": [*singles, *pairs]}
    sums = np.cumsum([beliefs.uncertain[frozenset(pair)] for pair in pairs])
    for part in () if few or len(pairs) > _MANY else _COVERED:
        chosen = pairs[: int(np.searchsorted(sums, part * sums[-1])) + 1] if pairs else []
        for size in _SIZES if len(chosen) > 1 else ():
            views = cover(domain, Workload(tuple(chosen)), size, most_cells=_MOST_CELLS)
            if max(len(view) for view in views) < size:
                break
            found[f"{len(views)} views of up to {size} attributes that hold {len(chosen)} pairs"] = [*singles, *views]
    return found


class _Errors:
    """Expected error of the wanted tables as a function of the shares of some questions of the second block."""

    def __init__(
        self,
        domain: Domain,
        workload: Workload,
        beliefs: Beliefs,
        asked: Sequence[Key],
        respondents: int,
        epsilon: float,
    ) -> None:
        parts = {part: place for place, part in enumerate(dict.fromkeys(p for key in workload for p in _parts(key)))}
        self._tables = np.zeros((len(workload), len(parts)))
        for row, key in enumerate(workload):
            self._tables[row, [parts[part] for part in _parts(key)]] = 1.0
        self._weights = np.asarray(workload.weights) / sum(workload.weights)
        self._alone = np.array([len(part) == 1 for part in parts])
        self._unit = _UNIT * np.array([_free(domain, part) for part in parts], float)
        self._before = np.array([beliefs.precision.get(part, 0.0) for part in parts])
        usual = float(np.mean(list(beliefs.uncertain.values()))) if beliefs.uncertain else 1.0
        self._uncertain = np.array([beliefs.uncertain.get(p, usual / 4 ** max(len(p) - 2, 0)) for p in parts])
        free = sum(_free(domain, pair) for pair in beliefs.uncertain)
        names = {name for pair in beliefs.uncertain for name in pair}
        self._sharing = min(1.0, sum(domain[name].size - 1 for name in names) / free) if free else 1.0
        self._gain = np.zeros((len(parts), len(asked)))
        known: dict[int, float] = {}
        for column, key in enumerate(asked):
            table = domain.project(key)
            if table.size not in known:
                channel = best_for(table, epsilon, max(respondents // len(asked), 1))
                known[table.size] = respondents / (report_variance(channel) * table.size)
            for part in _parts(key):
                if part in parts:
                    self._gain[parts[part], column] = known[table.size]

    def __call__(self, shares: Array) -> tuple[float, Array]:
        """The error, and its slope by the shares."""
        known = self._gain @ shares
        left, slope = np.zeros_like(known), np.zeros_like(known)
        at, unit = self._alone, self._unit
        left[at] = np.minimum(unit[at] / np.maximum(self._before[at] + known[at], 1e-300), 1.0)
        slope[at] = -(left[at] ** 2) / unit[at]
        at, uncertain = ~at, self._uncertain[~at]
        for ratio in (1.0, self._sharing):
            scaled = 1 + uncertain * known[at] / (unit[at] * ratio)
            left[at] += 0.5 * uncertain / scaled
            slope[at] -= 0.5 * uncertain**2 / (unit[at] * ratio) / scaled**2
        errors = np.sqrt(self._tables @ left) + 1e-12
        by_part = (self._weights / (2 * errors)) @ self._tables
        return float(self._weights @ errors), np.asarray(self._gain.T @ (by_part * slope))


def _parts(key: Sequence[str]) -> list[Part]:
    sizes = range(1, min(len(key), _ORDER) + 1)
    return [frozenset(names) for size in sizes for names in itertools.combinations(key, size)]


def _free(domain: Domain, part: Part) -> int:
    return math.prod(domain[name].size - 1 for name in part)


def in_two_phases(design: CollectionDesign, first: float) -> CollectionDesign:
    """The same design as the first phase of two."""
    check_phases(design)
    later = f"after {first:.0%} of the respondents a second block asks what their reports show to be worth asking"
    return replace(design, first=first, why=f"{design.why}; {later}" if design.why else later)


def simulate_phases(design: CollectionDesign, engine: Engine, source: SeededSource) -> Tally:
    """Run a collection in two phases over the rows of an engine, as if each were a respondent."""
    UNIT.check(engine.domain)
    names = sorted({name for asked in design.questions for name in asked.attributes})
    seed = int(source.words(1)[0])

    def phase(tally: Tally, block: int) -> Tally:
        lot = np.random.default_rng(seed)
        for batch in engine.rows(names):
            codes = engine.domain.encode(batch, names)
            early = lot.random(len(next(iter(codes.values())))) < (design.first or 1.0)
            chosen = {name: column[early if block == 1 else ~early] for name, column in codes.items()}
            tally.add(respond(tally.design, chosen, source, seed=int(source.words(1)[0]), block=block))
        return tally

    first = phase(Tally(design), 1)
    second = second_design(first, respondents=max(design.respondents - design.first_respondents, 1))
    return phase(first.continued(replace(design, questions=(*design.questions, *second.questions), views=())), 2)

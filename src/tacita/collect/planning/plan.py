"""Planning a collection: several ways of asking are compared by their expected errors, and the best one is taken.

Ways: single attributes only; the wanted tables, with a share of the respondents for single attributes; fewer, larger
views that hold the wanted tables, with such a share or without. Their errors are expected in closed form over a range
of dependence (`expected`), so that no single guess decides. The chosen design is rehearsed once, for the error to
expect.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

from tacita import check
from tacita.collect.channels.following import optimal_for
from tacita.collect.channels.fourier import fourier_for
from tacita.collect.channels.protocol import Randomizer
from tacita.collect.channels.wiring import make_channel
from tacita.collect.device.channels import ChannelName, Penalty
from tacita.collect.planning.calm import choose_views, cover
from tacita.collect.planning.design import (
    FEWEST,
    LEAST_FIRST,
    SINGLES_SHARE,
    Asked,
    CollectionDesign,
    Oracle,
    ask,
    best_for,
    scaled,
)
from tacita.collect.planning.expected import judge
from tacita.collect.planning.phases import FIRST, check_phases, expected_gain, in_two_phases
from tacita.collect.planning.rehearse import MOST_PEOPLE, rehearse
from tacita.collect.planning.views import packed_views
from tacita.collect.planning.waves import check_waves, in_one_wave
from tacita.domain import Domain, Numeric
from tacita.errors import InvalidInput
from tacita.tables.workload import Workload

__all__ = ["DEPENDENCE", "Phases", "plan_collection", "planning_seconds"]

DEPENDENCE = 0.1
"""How far tables are taken to lie from the product of their margins (total variation), if the owner does not say."""

_MANY_ATTRIBUTES = 6  # from here on larger views are worth a look
_LARGEST_VIEW = 6
_MOST_CELLS = 1024
"""Of a view."""
Phases = Literal["auto", "one", "two"]
_FEWEST_FIRST = 100
"""Answers to a question of the first phase below which `auto` does not take two: they are not published by default."""
_WORTH = 0.95
"""Expected error over that of one phase from which on two are taken."""
_SHARES = (0.0, 0.2, 0.4)
"""Shares of the respondents who are asked one attribute, that are tried: margins come cheap and help every table."""


def plan_collection(
    domain: Domain,
    workload: Workload,
    *,
    respondents: int,
    epsilon: float,
    mode: Literal["auto", "singles", "tables", "views"] = "auto",
    answers: Literal["one", "view"] = "one",
    channel: ChannelName = "auto",
    dependence: float = DEPENDENCE,
    penalty: Penalty = "distance",
    floor: float = 0.5,
    phases: Phases = "one",
    first: float = FIRST,
    waves: int = 1,
    turns: int = 1,
) -> CollectionDesign:
    """Plan a collection: which questions, through which channel, of how many; with the error to expect.

    Args:
        domain: What may be asked; all of it public.
        workload: The tables that matter.
        respondents: How many are expected to answer.
        epsilon: What each may spend; in a series of waves, in all of them together.
        mode: "tables" asks for the tables themselves, "singles" only for single attributes whose tables are then
            multiplied, "views" for fewer, larger tables that hold those wanted (`choose_views`); "auto" takes what
            is expected to come nearest to the truth over a range of dependence (`expected`).
        answers: "one" question for each respondent with the whole epsilon, or a "view" of several about different
            attributes, each with a share of it. The first is nearly always better: `compare_budgets`.
        channel: "auto" for the best for each question; "mixed" for records of several kinds, whose numbers are asked
            for their means (hybrid) and all else for its tables; or a kind of `wiring.REGISTRY` throughout: "rr",
            which rounds need, another frequency oracle, "wave" for the distribution of a number, or "duchi",
            "piecewise", "hybrid" for its mean; "fourier" asks yes-or-no attributes together for a random parity;
            "optimal" fits a matrix to the penalty, and in blocks refits it to what was learnt.
        dependence: How far from independent the tables are expected to be, as total variation. A guess of the owner's,
            not a fact from data; designs are judged at dependences from 0 to twice of it.
        penalty: For "optimal", and for "matrix" in blocks: what it costs to report one cell for another.
        floor: For "optimal": least share of plain randomized response in the matrix.
        phases: "two" asks these questions of a first share of the respondents, and of the others what the reports of
            the first show to be worth asking (`phases`); "auto" does so where the expected error is smaller by a
            twentieth or more.
        first: With two phases, the share of the respondents in the first.
        waves: The same questions are asked in so many waves of a series (`waves`); 1 for one campaign.
        turns: Number of the waves in which each respondent answers, by lot. The design is that of one wave: epsilon
            is divided by the turns, and the respondents are those whose turn it is.
    """
    domain.require_public()
    workload.check(domain)
    if isinstance(respondents, bool) or not isinstance(respondents, int) or respondents < 1:
        raise InvalidInput("must be a whole number of at least 1", field="respondents", value=respondents)
    check_waves(waves, turns, phases)
    respondents, epsilon = in_one_wave(respondents, epsilon, waves=waves, turns=turns)
    if not 0 <= dependence <= 1:
        raise InvalidInput("must lie between 0 and 1", field="dependence", value=dependence)
    if mode not in ("auto", "singles", "tables", "views"):
        raise InvalidInput("must be auto, singles, tables or views", field="mode", value=mode)
    if answers not in ("one", "view"):
        raise InvalidInput("must be one or view", field="answers", value=answers)
    if channel not in get_args(ChannelName):
        raise InvalidInput(f"must be {', '.join(get_args(ChannelName))}", field="channel", value=channel)
    if mode == "views" and answers == "one" and channel != "auto":
        raise InvalidInput("must be auto where views are chosen", field="channel", value=channel)
    check.one_of(phases, "phases", get_args(Phases))
    if phases != "one":
        if channel != "auto":
            raise InvalidInput("must be auto where there are two phases", field="channel", value=channel)
        check.inside(first, "first", LEAST_FIRST, 1 - LEAST_FIRST)
    oracle = _oracle(channel, penalty, floor)
    if channel == "fourier":
        return replace(_fourier(domain, workload, respondents, epsilon), waves=waves, turns=turns)
    if channel == "mixed" and answers == "one":
        return replace(_mixed(domain, workload, respondents, epsilon, oracle), waves=waves, turns=turns)
    found = _planned(domain, workload, respondents, epsilon, mode, answers, oracle, dependence)
    found = replace(found, wanted=tuple(workload), penalty=penalty, waves=waves, turns=turns)
    if phases == "two":
        return in_two_phases(found, first)
    return _phased(found, workload, first, dependence) if phases == "auto" else found


def _phased(design: CollectionDesign, workload: Workload, first: float, dependence: float) -> CollectionDesign:
    """Two phases, where they are expected to be nearer to the truth; else the design as it is, and why."""
    try:
        check_phases(design)
    except InvalidInput as reason:
        return replace(design, why=f"{design.why}; one phase, because two {reason.rule.replace('needs', 'need')}")
    if min(design.expected(question) * first for question in design.questions) < _FEWEST_FIRST:
        few = f"one phase, because some question would get fewer than {_FEWEST_FIRST} answers in the first of two"
        return replace(design, why=f"{design.why}; {few}")
    ratio = expected_gain(design, workload, first=first, dependence=dependence)
    said = f"expected error in two phases over that in one: {ratio:.2f}"
    if ratio > _WORTH:
        return replace(design, why=f"{design.why}; {said}")
    return in_two_phases(replace(design, why=f"{design.why}; {said}"), first)


def _planned(
    domain: Domain,
    workload: Workload,
    respondents: int,
    epsilon: float,
    mode: str,
    answers: str,
    oracle: Oracle,
    dependence: float,
) -> CollectionDesign:
    if answers == "view":
        return _split(domain, workload, respondents, epsilon, oracle)
    singles = [(name,) for name in workload.attributes]
    wide = [key for key in workload if len(key) > 1]
    single = CollectionDesign(
        domain=domain,
        questions=tuple(ask(domain, singles, epsilon, respondents, oracle=oracle)),
        epsilon=epsilon,
        respondents=respondents,
        mode="singles",
    )
    if mode == "views":
        return choose_views(domain, workload, respondents=respondents, epsilon=epsilon, dependence=dependence).design()
    if not wide:
        return replace(single, why="only single attributes are asked for")
    tables = _tables(domain, wide, single, SINGLES_SHARE, oracle)
    if mode != "auto":
        return replace(single if mode == "singles" else tables, why="chosen by the owner")
    return _best(_candidates(domain, workload, wide, single, oracle), workload, dependence)


def _tables(
    domain: Domain, keys: Sequence[tuple[str, ...]], single: CollectionDesign, share: float, oracle: Oracle
) -> CollectionDesign:
    """Questions about tables, and for a share of the respondents about single attributes."""
    people, epsilon = single.respondents, single.epsilon
    questions = scaled(ask(domain, keys, epsilon, people, oracle=oracle), 1 - share)
    if share:
        held = {frozenset(key) for key in keys}
        alone = [question.attributes for question in single.questions if frozenset(question.attributes) not in held]
        questions += scaled(ask(domain, alone, epsilon, people, oracle=oracle), share)
    return replace(single, questions=tuple(questions), views=(), mode="tables")


def _candidates(
    domain: Domain, workload: Workload, wide: Sequence[tuple[str, ...]], single: CollectionDesign, oracle: Oracle
) -> dict[str, CollectionDesign]:
    """Ways of asking, by their names."""
    found = {"multiplying single attributes": single}
    covers: dict[str, Sequence[tuple[str, ...]]] = {"tables": wide}
    if len(workload.attributes) >= _MANY_ATTRIBUTES and oracle is best_for:
        for size in range(max(len(key) for key in wide) + 1, _LARGEST_VIEW + 1):
            views = cover(domain, workload, size, most_cells=_MOST_CELLS)
            if max(len(view) for view in views) < size:
                break  # larger ones do not fit into the cells
            covers[f"{len(views)} views of up to {size} attributes"] = views
    for name, keys in covers.items():
        for share in _SHARES:
            way = f"asking for {name}" + (f" with {share:.0%} for single attributes" if share else "")
            found[way] = _tables(domain, keys, single, share, oracle)
    return found


def planning_seconds(
    domain: Domain, workload: Workload, *, respondents: int, mode: str = "auto", answers: str = "one"
) -> float:
    """Estimate how many seconds `plan_collection` computes; the order of magnitude, measured on one core.

    The rehearsal fits a model to all tables: its time grows with the tables and their cells. Choosing views tries
    covers of all tables.
    """
    wide = [key for key in workload if len(key) > 1]
    if answers == "view" or not wide or mode in ("singles", "tables"):
        return 0.001 * len(workload)
    if mode == "views":
        return 0.01 * len(wide)
    cells = float(sum(math.prod(domain[name].size for name in key) for key in workload))
    return 0.35 + 0.006 * len(wide) + 1e-4 * cells + 1e-6 * min(respondents, MOST_PEOPLE)


def _oracle(channel: ChannelName, penalty: Penalty, floor: float) -> Oracle:
    """The best for each table, means of numbers, or one kind throughout."""
    check.one_of(penalty, "penalty", get_args(Penalty))
    if channel == "auto":
        return best_for
    if channel == "optimal":
        return lambda table, epsilon, _answers: optimal_for(table, epsilon, penalty=penalty, floor=floor)
    if channel == "mixed":
        return _mean_or_table
    return lambda table, epsilon, _answers: make_channel(channel, table, epsilon)


def _fourier(domain: Domain, workload: Workload, respondents: int, epsilon: float) -> CollectionDesign:
    """One question about all attributes; the device draws the set whose parity it sends."""
    names, order = tuple(workload.attributes), max(len(key) for key in workload)
    channel = fourier_for(domain.project(names), epsilon, order)
    return CollectionDesign(
        domain=domain,
        questions=(Asked(attributes=names, channel=channel, share=1.0),),
        epsilon=epsilon,
        respondents=respondents,
        mode="tables",
        why=f"one parity of each respondent gives all tables of up to {order} attributes",
        wanted=tuple(workload),
    )


def _mean_or_table(table: Domain, epsilon: float, answers: int) -> Randomizer:
    """The hybrid for the mean of one number without buckets, else the best oracle."""
    attribute = table[table.names[0]]
    if len(table.names) == 1 and isinstance(attribute, Numeric) and 2 <= attribute.size == len(attribute.labels):
        return make_channel("hybrid", table, epsilon)
    return best_for(table, epsilon, answers)


def _mixed(domain: Domain, workload: Workload, respondents: int, epsilon: float, oracle: Oracle) -> CollectionDesign:
    """Each respondent is given one question of the record by lot, with the whole epsilon: k = 1 of all attributes.

    [Wang et al. 2019] sample k = max(1, min(d, floor(epsilon / 2.5))) attributes: one, for all that a stock device
    allows.
    """
    return CollectionDesign(
        domain=domain,
        questions=tuple(ask(domain, list(workload), epsilon, respondents, oracle=oracle)),
        epsilon=epsilon,
        respondents=respondents,
        mode="tables" if any(len(key) > 1 for key in workload) else "singles",
        why="tables of one number are asked for their mean, all others as tables",
        wanted=tuple(workload),
    )


def _split(domain: Domain, workload: Workload, respondents: int, epsilon: float, oracle: Oracle) -> CollectionDesign:
    """Every respondent answers all combinations of one view, each with the same share of epsilon."""
    questions: list[Asked] = []
    views: list[tuple[int, ...]] = []
    packed = packed_views(tuple(workload))
    weights = [sum(domain.project(key).size for key in view) for view in packed]
    for view, weight in zip(packed, weights, strict=True):
        asked = ask(domain, view, epsilon / len(view), respondents, oracle=oracle)
        views.append(tuple(range(len(questions), len(questions) + len(view))))
        questions += [replace(question, share=weight / sum(weights)) for question in asked]
    return CollectionDesign(
        domain=domain,
        questions=tuple(questions),
        epsilon=epsilon,
        respondents=respondents,
        mode="tables" if any(len(key) > 1 for key in workload) else "singles",
        views=tuple(views),
        why="chosen by the owner: all questions of a view, with a share of epsilon each",
    )


def _best(candidates: dict[str, CollectionDesign], workload: Workload, dependence: float) -> CollectionDesign:
    """The design with the least regret, without those whose questions get too few answers; rehearsed once."""
    fair = {
        way: design
        for way, design in candidates.items()
        if design.mode == "singles" or min(design.expected(question) for question in design.questions) >= FEWEST
    }
    if len(fair) == 1:
        (only,) = fair.values()
        return replace(only, why=f"some table would get fewer than {FEWEST} answers")
    judged = judge(fair, workload, dependence=dependence)
    best, low, high = judged.best, judged.dependences[0], judged.dependences[-1]
    order = sorted(judged.regrets, key=lambda way: judged.regrets[way])
    others = [way for way in order if fair[way].mode != fair[best].mode][:1] or order[1:2]
    missed = [f"{way} misses by {judged.errors[way][0]:.3f} to {judged.errors[way][-1]:.3f}" for way in (best, *others)]
    why = f"with tables {low:g} to {high:g} away from independent, {' and '.join(missed)}"
    return replace(fair[best], why=why, rehearsed=rehearse(fair[best], workload, dependence=dependence, runs=1))

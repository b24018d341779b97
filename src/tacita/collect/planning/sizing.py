"""Number of respondents that a whole design needs until its wanted tables are accurate enough.

    wanted_tables         the tables that must be accurate: those that the owner asked for
    half_widths           the half-width of each table's intervals, at a number of respondents
    respondents_planned   the number of respondents that a stop rule is expected to take
    plan_stop             a stop rule whose looks are planned around that number

The plan is for pooled estimates, because the stop rule looks at those: a table gains from every question that holds its
attributes. Their covariance is a function of the channels and of the numbers of reports, so it is known before anyone
is asked. Unknown shares are taken to be even, and the variance is raised by how much the worst share of a cell exceeds
it.

Privacy: nothing is spent; no report is used.   Claim page: docs/claims/sequential-stopping.md.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tacita.collect.estimating.evidence import Evidence, Key, Source
from tacita.collect.estimating.pooled import Pooling
from tacita.collect.planning.design import CollectionDesign
from tacita.collect.planning.stopping import StopRule, worst_variance
from tacita.tables.cells import Cells
from tacita.tables.uncertainty import Correlated, normal_quantile

__all__ = ["half_widths", "plan_stop", "respondents_planned", "wanted_tables"]

_MANY = 1_000_000
"""Respondents at which variances are evaluated: they fall as 1 / n."""
_PLANNED_LOOK = 4
"""The look whose size is the planned number."""


def wanted_tables(design: CollectionDesign) -> tuple[Key, ...]:
    """The tables that the owner asked for, as far as some question holds them; all questions where none was named.

    Where only single attributes are asked, the single attributes of a wanted table stand for it.
    """
    asked = list(dict.fromkeys(question.attributes for question in design.questions))
    found: dict[Key, None] = {}
    for key in design.wanted or asked:
        held = any(set(key) <= set(other) for other in asked)
        found |= dict.fromkeys([key] if held else [(name,) for name in key])
    return tuple(found)


def _variances(design: CollectionDesign) -> dict[Key, float]:
    """Variance of the worst cell of every wanted table, for one respondent."""
    sources: dict[Key, Source] = {}
    first = min(question.block for question in design.questions)
    for question in design.questions:
        if question.block == first:
            reports = max(1, round(_MANY * question.share))
            sources[question.attributes] = Source((question.oracle,), (reports,))
    even = {key: np.full(s, 1 / math.prod(s)) for key in sources for s in [design.domain.project(key).shape]}
    evidence = Evidence(domain=design.domain, values=even, sources=sources)
    pooling, found = Pooling(evidence, even), {}
    for wanted in wanted_tables(design):
        holding = [key for key in sources if set(wanted) <= set(key)]
        found[wanted] = min(_worst(pooling, sources, key, wanted) for key in holding)
    return found


def _worst(pooling: Pooling, sources: dict[Key, Source], key: Key, wanted: Key) -> float:
    table = pooling.cells(key)
    margin = table.project(wanted)
    error = Correlated(covariance=pooling.covariances[key]).project(table.domain, wanted)
    channel = sources[key].channels[0]
    raised = worst_variance(channel) / worst_variance(channel, 1 / channel.levels)
    return float(np.max(error.std(Cells(margin.domain, margin.values)) ** 2)) * raised * _MANY


def half_widths(design: CollectionDesign, respondents: int, *, level: float = 0.95) -> dict[Key, float]:
    """Half the width of the widest interval of every wanted table, each by itself, at the worst shares."""
    z = normal_quantile(level)
    return {key: z * math.sqrt(variance / respondents) for key, variance in _variances(design).items()}


def respondents_planned(design: CollectionDesign, rule: StopRule) -> int:
    """Number of respondents that a stop rule takes with this design, at the worst shares, with its planned looks."""
    variances = _variances(design)
    cells = sum(design.domain.project(key).size for key in variances)
    z = normal_quantile(replace(rule, planned=1).level_at(_PLANNED_LOOK, cells))
    return max(1, math.ceil(z * z * max(variances.values()) / rule.half_width**2))


def plan_stop(design: CollectionDesign, rule: StopRule, *, least: int = 1) -> StopRule:
    """The rule with its tables and with looks around the number of respondents that it should take.

    Args:
        design: What is asked.
        rule: How well the tables must be known.
        least: Look at no fewer respondents.
    """
    if rule.planned is not None:
        return rule
    return replace(rule, planned=max(respondents_planned(design, rule), least), tables=wanted_tables(design))

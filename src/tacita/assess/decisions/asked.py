"""The questions of this room with plain arguments and plain answers, for commands and routes.

    ask_test         private test of independence, with its power
    ask_flip         probability that the true table would be decided otherwise
    ask_stability    share of draws in which each link of a network occurs
    read_tables      released tables from the JSON that a command or a route wrote

Privacy: post-processing of releases and tallies; free.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from tacita import check
from tacita.assess.decisions.flip import Decide, posterior_flip
from tacita.assess.decisions.links import LinkStability, link_stability
from tacita.assess.decisions.paper import paper_flip
from tacita.assess.decisions.private_test import Way, private_test
from tacita.assess.decisions.relearn import Search
from tacita.assess.decisions.rule import Rule, Statistic
from tacita.collect.analysis.hypothesis import Hypothesis
from tacita.collect.estimating.tally import Tally
from tacita.errors import InvalidInput
from tacita.tables.release import Release, Releases

__all__ = ["Mode", "Source", "ask_flip", "ask_stability", "ask_test", "read_tables"]

Source = Releases | Tally
Mode = Literal["same", "private", "paper"]


def read_tables(data: object) -> Releases:
    """Released tables from parsed JSON: one table or several.

    Raises:
        InvalidInput: It is something else.
    """
    kind = data.get("tacita") if isinstance(data, Mapping) else None
    try:
        if kind == "release/1" and isinstance(data, Mapping):
            return Releases([Release.from_dict(data)])
        if kind == "releases/1" and isinstance(data, Mapping):
            return Releases.from_dict(data)
    except (KeyError, TypeError, ValueError, AttributeError):
        pass
    hint = "`tacita query -o tables.json` and `tacita collect tables --published raw --json` write them"
    raise InvalidInput("must be released tables", field="tables", hint=hint)


def _hypothesis(by: Sequence[str], given: Sequence[str]) -> Hypothesis:
    return Hypothesis.of(*by, given=list(given))


def ask_test(
    source: Source,
    *,
    by: Sequence[str],
    given: Sequence[str] = (),
    alpha: float = 0.05,
    people: int | None = None,
    way: Way = "noise-aware",
    simulations: int = 999,
    seed: int = 0,
) -> dict[str, Any]:
    """Test whether attributes are independent, and say what the test could find.

    Args:
        source: Released tables or a tally. by, given: Names: these are independent of each other, given those.
        alpha: Level. people: Number of rows, where public. way: "noise-aware" or "paper".
        simulations: For the threshold. seed: Of the simulations.
    """
    return private_test(
        source, _hypothesis(by, given), alpha=alpha, people=people, way=way, simulations=simulations, seed=seed
    ).as_dict()


def ask_flip(
    source: Source,
    *,
    by: Sequence[str],
    given: Sequence[str] = (),
    statistic: Statistic = "g2",
    alpha: float = 0.05,
    df: int | None = None,
    decide: Mode = "same",
    people: int | None = None,
    draws: int = 10_000,
    seed: int = 0,
) -> dict[str, Any]:
    """Probability that the true table would be decided otherwise than the released one.

    Args:
        source: Released tables or a tally. by, given: As in `ask_test`.
        statistic, alpha, df: The decision on a table; degrees of freedom of the hypothesis by default.
        decide: The decision on the release: "same", as if it were exact; "private", by the test that knows the noise;
            or "paper", for the published integral beside the right probability (two by two with Laplace noise).
        people: Number of rows, where public, for "private". draws: Of the true table. seed: Of the draws.
    """
    check.one_of(decide, "decide", ("same", "private", "paper"))
    asked, rng = _hypothesis(by, given), np.random.default_rng(seed)
    if decide == "paper":
        if isinstance(source, Tally) or asked.given:
            raise InvalidInput("must be two by two counts with Laplace noise", field="decide", value=decide)
        return paper_flip(source.project(asked.attributes), draws=draws, rng=rng).as_dict()
    called = None
    if decide == "private":
        called = private_test(source, asked, alpha=alpha, people=people, power_draws=0, seed=seed).reject
    rule = Rule(statistic=statistic, alpha=alpha, df=df)
    mode: Decide = decide
    found = posterior_flip(source, asked, rule=rule, called=called, draws=draws, rng=rng)
    return found.as_dict() | {"decide": mode}


def ask_stability(
    source: Source,
    *,
    search: Search = "auto",
    degree: int | None = None,
    parents: Mapping[str, Sequence[str]] | None = None,
    draws: int = 200,
    seed: int = 0,
) -> LinkStability:
    """Share of draws with each link of the network; `as_dict` makes plain data of it, `picture` an SVG.

    Args:
        source: Released tables or a tally. search, degree, parents: As in `link_stability`.
        draws: Of the true tables. seed: Of the draws.
    """
    rng = np.random.default_rng(seed)
    return link_stability(source, search=search, degree=degree, parents=parents, draws=draws, rng=rng)

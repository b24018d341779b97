"""Make the releases of a plan, assess them in the same way, find the Pareto front, recommend one in plain words.

    interval    of a release's risk, at 95 % for all attacks together; one release is safer than another when its
                interval lies below, and they tie when the intervals overlap
    front       releases that no other beats: safer and keeping as much, or a tie and keeping more, by 0.02 at least
    recommended among releases whose risk stays below the plan's limit, guarantees first: the smallest epsilon whose
                tables are as good as the best, to within 0.02; without guarantees, the one that keeps most. Releases
                whose whole interval stays below the limit come before those of which only the estimate does

Two references are assessed too: a copy of the rows, which keeps all and protects no one, and single columns shuffled,
which keep no dependence.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from tacita.assess.assessment import Assessment, assess
from tacita.assess.case import read_case
from tacita.assess.compare.makers import Material, ReleaseSpec, SimulatedRelease, make
from tacita.assess.compare.plan import ComparePlan
from tacita.assess.utility.estimates import CombiningKind
from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.engines.connect import connect
from tacita.engines.labelled import check_values
from tacita.errors import InvalidInput, TacitaError
from tacita.figures.charts import Point, scatter
from tacita.tables.tabular import Tabular

__all__ = ["Comparison", "Result", "compare"]

Progress = Callable[[float, str], None]
_LEAST = 200
_LOOKED_AT = 1000  # rows that are read to detect labels of a release
_AS_GOOD = 0.02
_LARGE = 5.0
"""An epsilon above this allows an intruder odds of more than a hundred."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """One release, made and assessed; or the reason why it could not be made."""

    name: str
    way: str
    made: SimulatedRelease | None
    assessment: Assessment | None
    seconds: float
    error: str = ""

    @property
    def guarantee(self) -> bool:
        """Whether the release has a guarantee that holds for any knowledge of an intruder."""
        return self.made is not None and self.made.epsilon is not None

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        plain: dict[str, Any] = {
            "name": self.name,
            "way": self.way,
            "seconds": self.seconds,
            "error": self.error or None,
        }
        if self.made is not None and self.assessment is not None:
            plain |= {
                "promise": self.made.promise,
                "epsilon": self.made.epsilon,
                "delta": self.made.delta,
                "trust": self.made.trust,
                "assessment": self.assessment.as_dict(),
            }
        return plain


def _found(result: Result) -> Assessment:
    """The assessment of a release that could be made."""
    assert result.assessment is not None
    return result.assessment


def _safer(one: Result, other: Result) -> bool:
    """Whether the whole interval of one's risk lies below the other's."""
    return _found(one).interval[1] < _found(other).interval[0]


def _ties(one: Result, other: Result) -> bool:
    return not _safer(one, other) and not _safer(other, one)


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison(Tabular):
    """All releases of a plan, side by side."""

    plan: ComparePlan
    results: tuple[Result, ...]
    references: tuple[Result, ...]
    people: int
    control: int

    def to_arrow(self) -> pa.Table:
        """One row for each release: risk with its interval, utility, epsilon, and what is recommended."""
        best = self.recommended
        rows = [
            {
                "release": each.name,
                "risk": _found(each).risk,
                "low": _found(each).interval[0],
                "high": _found(each).interval[1],
                "kept": _found(each).kept,
                "epsilon": None if each.made is None else each.made.epsilon,
                "recommended": each is best,
            }
            for each in self.good
        ]
        kinds = [pa.string(), *[pa.float64()] * 5, pa.bool_()]
        names = ("release", "risk", "low", "high", "kept", "epsilon", "recommended")
        schema = pa.schema(list(zip(names, kinds, strict=True)))
        return pa.Table.from_pylist(rows, schema=schema)

    def facts(self) -> dict[str, str]:
        """Return who may see it, and the recommendation with its reasons."""
        return {
            "guarantee": "none: figures come from exact rows, for their owner",
            "statement": " ".join(self.reasons()),
            "people": f"{self.people:,} used, {self.control:,} held back",
        }

    def chart(self) -> str:
        """Draw risk against utility, with the Pareto front."""
        front = {each.name for each in self.front}
        points = [
            Point(label=each.name, x=_found(each).risk, y=_found(each).kept, best=each.name in front)
            for each in self.good
        ]
        return scatter(points, across="risk", up="kept", title="Risk and what is kept")

    @property
    def good(self) -> tuple[Result, ...]:
        """Those that could be made."""
        return tuple(each for each in self.results if each.assessment is not None)

    @property
    def ranking(self) -> tuple[tuple[Result, ...], ...]:
        """Releases by growing risk, in groups of ties: their intervals overlap with that of the group's first."""
        groups: list[list[Result]] = []
        for each in sorted(self.good, key=lambda one: (_found(one).interval[1], _found(one).risk)):
            if groups and not _safer(groups[-1][0], each):
                groups[-1].append(each)
            else:
                groups.append([each])
        return tuple(tuple(group) for group in groups)

    @property
    def front(self) -> tuple[Result, ...]:
        """Those that no other beats, by growing risk."""

        def beaten(one: Result, by: Result) -> bool:
            more = _found(by).kept - _found(one).kept
            return (_safer(by, one) and more >= -_AS_GOOD) or (not _safer(one, by) and more > _AS_GOOD)

        best = [each for each in self.good if not any(beaten(each, other) for other in self.good if other is not each)]
        return tuple(sorted(best, key=lambda each: _found(each).risk))

    @property
    def recommended(self) -> Result | None:
        """The recommended release, if there is one."""
        allowed = [each for each in self.good if _found(each).risk <= self.plan.most_risk]
        for some in (
            [each for each in allowed if each.guarantee and self._surely(each)],
            [each for each in allowed if each.guarantee],
        ):
            if some:
                most = max(_found(each).kept for each in some)
                as_good = [each for each in some if _found(each).kept >= most - _AS_GOOD]
                return min(as_good, key=lambda each: (each.made.epsilon or 0.0) if each.made else 0.0)
        known = [each for each in allowed if self._surely(each)]
        return max(known or allowed, key=lambda each: _found(each).kept, default=None)

    def _surely(self, each: Result) -> bool:
        """Return whether the whole interval of its risk stays below the plan's limit."""
        return _found(each).interval[1] <= self.plan.most_risk

    def reasons(self) -> tuple[str, ...]:
        """Reasons of the recommendation, in plain words."""
        best = self.recommended
        failed = [each.name for each in self.results if each.assessment is None]
        if not self.good:
            return (f"Nothing could be made: {'; '.join(each.error for each in self.results)}",)
        if best is None or best.assessment is None or best.made is None:
            words = [f"No release stays below a risk of {self.plan.most_risk:g}."]
            low = min(self.good, key=lambda each: each.assessment.risk if each.assessment else 1.0, default=None)
            if low is not None and low.assessment is not None:
                words.append(
                    f"The least risky is {low.name}, with {low.assessment.risk:.2f} by {low.assessment.worst}. "
                    f"More than chance is {low.assessment.shown:.2f} of it. Protect more, release fewer attributes, "
                    "or release nothing."
                )
            return (*words, *self._missing(failed))
        found = best.assessment
        words = [
            f"Take {best.name}. Of what attacks achieve beyond guessing, the most is {found.risk:.2f} "
            f"({found.worst}), and pairs of attributes are off by {1 - found.kept:.3f} on average."
        ]
        least, most = found.interval
        if not self._surely(best):
            words.append(
                f"With these trials and people the risk lies between {least:.2f} and {most:.2f}: that it stays below "
                f"{self.plan.most_risk:g} is not shown."
            )
        tied = [each.name for each in self.good if each is not best and _ties(each, best)]
        if tied:
            words.append(f"Its risk ties with that of {', '.join(tied)}: their intervals overlap.")
        if best.guarantee:
            words.append(f"It has a guarantee that does not depend on what an intruder knows: {best.made.promise}.")
            if (best.made.epsilon or 0.0) > _LARGE:
                words.append(
                    "So large an epsilon promises little by itself: that attacks found little is the better news."
                )
        else:
            words.append(
                "It has no guarantee: the attacks that were tried found little, and others may find more. No release "
                "with a guarantee stayed below the risk that you allow."
            )
        for other in self.good:
            if other is best or other.assessment is None:
                continue
            gap = other.assessment.kept - found.kept
            if gap > 0.005 and other.assessment.risk > self.plan.most_risk:
                words.append(
                    f"{other.name} keeps more ({gap:+.3f}) and gives away too much: {other.assessment.risk:.2f} by "
                    f"{other.assessment.worst}."
                )
            elif gap > 0.005 and best.guarantee and not other.guarantee:
                words.append(f"{other.name} keeps more ({gap:+.3f}) without a guarantee.")
            elif gap > 0.005:
                words.append(f"{other.name} keeps a little more ({gap:+.3f}) for a weaker promise.")
        if found.learned is not None and found.learned.lost > 0.02:
            words.append(
                f"For one known task, training on the real rows under privacy is worth a look: classifiers of "
                f"{found.learned.target} lose {found.learned.lost:.3f} of accuracy on it."
            )
        return (*words, *self._missing(failed))

    def _missing(self, failed: list[str]) -> list[str]:
        return [f"Not assessed, because they could not be made: {', '.join(failed)}."] if failed else []

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, for the owner: the figures come from exact rows."""
        best = self.recommended
        return {
            "tacita": "comparison/1",
            "for": "the owner of the data: figures were read off exact rows",
            "people": self.people,
            "control": self.control,
            "most_risk": self.plan.most_risk,
            "trials": self.plan.trials,
            "results": [each.as_dict() for each in self.results],
            "references": [each.as_dict() for each in self.references],
            "ranking": [[each.name for each in group] for group in self.ranking],
            "front": [each.name for each in self.front],
            "recommended": best.name if best else None,
            "reasons": list(self.reasons()),
        }


def compare(
    plan: ComparePlan, *, source: tuple[Domain, Engine] | None = None, progress: Progress | None = None
) -> Comparison:
    """Run a plan. A release that cannot be made is reported, and the others continue.

    Args:
        plan: The plan.
        source: The schema and the source of the rows, instead of the files that the plan names.
        progress: Called with the share done, between 0 and 1, and the name of the next step.
    """
    notify = progress or (lambda share, what: None)
    notify(0.0, plan.trials)
    domain = Domain.read(plan.schema) if source is None else source[0]
    engine = connect(str(plan.data), domain) if source is None else source[1]
    names = domain.check_countable(plan.attributes or domain.countable)
    domain = domain.project(names)  # attributes that are not released: engines and attacks never read them
    table = pa.Table.from_batches(list(engine.rows(names)))
    check_values(domain, table.slice(0, _LOOKED_AT))
    rng = np.random.default_rng(plan.seed)
    order = rng.permutation(len(table))
    held = round(plan.control * len(table))
    if min(held, len(table) - held) < _LEAST:
        raise InvalidInput(f"needs at least {_LEAST} rows to use and to hold back", field="data", value=len(table))
    control, rows = table.take(pa.array(order[:held])), table.take(pa.array(order[held:]))
    for field, given in (
        ("quasi", plan.quasi),
        ("sensitive", plan.sensitive),
        ("target", (plan.target,)),
        ("group", (plan.group,)),
    ):
        for name in given:
            if name is not None and name not in names:
                raise InvalidInput("must be among what is released", field=field, value=name)
    if plan.scenario is not None:
        plan.scenario.check(domain)
    sensitive = plan.sensitive or tuple(n for n in names if domain[n].role == "sensitive") or names[-1:]
    quasi = plan.quasi or tuple(name for name in names if name not in sensitive)
    material = Material(domain=domain, rows=rows, names=names, quasi=quasi, sensitive=sensitive, seed=plan.seed)
    jobs: list[tuple[ReleaseSpec | None, str, Callable[[], SimulatedRelease]]] = [
        (wanted, wanted.name, partial(make, wanted, material)) for wanted in plan.releases
    ]
    jobs += [(None, name, maker) for name, maker in _references(material, rng)]
    found: list[Result] = []
    for place, (wanted, name, maker) in enumerate(jobs):
        notify(place / len(jobs), name)
        way = "reference" if wanted is None else wanted.way
        found.append(_one(name, way, maker, plan, material, control))
    notify(1.0, "done")
    return Comparison(
        plan=plan,
        results=tuple(each for each in found if each.way != "reference"),
        references=tuple(each for each in found if each.way == "reference"),
        people=len(rows),
        control=len(control),
    )


def _one(
    name: str, way: str, maker: Callable[[], SimulatedRelease], plan: ComparePlan, material: Material, control: pa.Table
) -> Result:
    start = time.monotonic()
    try:
        made = maker()
        rng = np.random.default_rng(plan.seed + 1)
        case = read_case(
            material.domain, real=material.rows, released=made.tables, control=control, names=None, rng=rng
        )
        case = case.only([each for each in material.names if each in case.names])
        # rows that belong to no one cannot be matched with a person; the page states for which releases this holds
        scenario = None if made.belongs is None else plan.scenario
        kind: CombiningKind = made.kind if len(made.tables) > 1 else "plain"
        options = replace(plan.options, scenario=scenario, kind=kind)
        assessed = assess(case, rng, options=options, belongs=made.belongs)
        return Result(name=name, way=way, made=made, assessment=assessed, seconds=time.monotonic() - start)
    except TacitaError as error:
        return Result(
            name=name, way=way, made=None, assessment=None, seconds=time.monotonic() - start, error=str(error)
        )


def _references(material: Material, rng: np.random.Generator) -> list[tuple[str, Callable[[], SimulatedRelease]]]:
    rows = material.rows.select(list(material.names))
    shuffled = pa.table({name: rows[name].take(pa.array(rng.permutation(len(rows)))) for name in rows.column_names})
    return [
        (
            "a copy of the rows",
            lambda: SimulatedRelease(tables=(rows,), promise="nothing: these are the rows", epsilon=None),
        ),
        (
            "columns, shuffled",
            lambda: SimulatedRelease(tables=(shuffled,), promise="nothing: real values, moved", epsilon=None),
        ),
    ]

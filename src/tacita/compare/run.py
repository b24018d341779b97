"""Make the releases of a plan, assess them alike, find the front, recommend one in plain words.

    front       releases that no other beats: less risk and more kept
    recommended among releases whose risk stays below what the plan allows, guarantees first: the smallest epsilon whose
                tables are as good as the best, to within 0.02; without guarantees, the one that keeps most

Two references stand beside them: a copy of the rows, which keeps all and protects nobody, and single columns shuffled,
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
from tacita.assess.utility.estimates import Kind
from tacita.compare.makers import Made, Material, Wanted, make
from tacita.compare.plan import ComparePlan
from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.engines.connect import connect
from tacita.errors import InvalidInput, TacitaError

__all__ = ["Comparison", "Result", "compare"]

Progress = Callable[[float, str], None]
_LEAST = 200
_AS_GOOD = 0.02
_LARGE = 5.0
"""An epsilon above this allows an intruder odds of more than a hundred."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """One release, made and assessed; or why it could not be made."""

    name: str
    way: str
    made: Made | None
    assessment: Assessment | None
    seconds: float
    error: str = ""

    @property
    def guarantee(self) -> bool:
        """Whether it holds whatever an intruder knows."""
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


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """All releases of a plan, side by side."""

    plan: ComparePlan
    results: tuple[Result, ...]
    references: tuple[Result, ...]
    people: int
    control: int

    @property
    def good(self) -> tuple[Result, ...]:
        """Those that could be made."""
        return tuple(each for each in self.results if each.assessment is not None)

    @property
    def front(self) -> tuple[Result, ...]:
        """Those that no other beats, by growing risk."""

        def beaten(one: Result, other: Result) -> bool:
            a, b = one.assessment, other.assessment
            assert a is not None
            assert b is not None
            return b.risk <= a.risk and b.kept >= a.kept and (b.risk < a.risk or b.kept > a.kept)

        best = [each for each in self.good if not any(beaten(each, other) for other in self.good)]
        return tuple(sorted(best, key=lambda each: each.assessment.risk if each.assessment else 0.0))

    @property
    def recommended(self) -> Result | None:
        """What the plan's owner should take, if anything."""
        allowed = [each for each in self.good if each.assessment and each.assessment.risk <= self.plan.most_risk]
        sure = [each for each in allowed if each.guarantee]
        best = max((each.assessment.kept for each in sure or allowed if each.assessment), default=0.0)
        if not sure:
            return next((each for each in allowed if each.assessment and each.assessment.kept == best), None)
        as_good = [each for each in sure if each.assessment and each.assessment.kept >= best - _AS_GOOD]
        return min(as_good, key=lambda each: (each.made.epsilon or 0.0) if each.made else 0.0, default=None)

    def reasons(self) -> tuple[str, ...]:
        """Why that one, in plain words."""
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
        return [f"Not looked at, because they could not be made: {', '.join(failed)}."] if failed else []

    def as_dict(self) -> dict[str, Any]:
        """Plain data. For the owner: figures were read off exact rows."""
        best = self.recommended
        return {
            "tacita": "comparison/1",
            "for": "the owner of the data: figures were read off exact rows",
            "people": self.people,
            "control": self.control,
            "most_risk": self.plan.most_risk,
            "results": [each.as_dict() for each in self.results],
            "references": [each.as_dict() for each in self.references],
            "front": [each.name for each in self.front],
            "recommended": best.name if best else None,
            "reasons": list(self.reasons()),
        }


def compare(
    plan: ComparePlan, *, source: tuple[Domain, Engine] | None = None, progress: Progress | None = None
) -> Comparison:
    """Do what a plan says. What cannot be made is told, and the others go on.

    Args:
        plan: What to compare.
        source: The schema and where the rows are, instead of the files that the plan names.
        progress: Told how far it is, between 0 and 1, and what is next.
    """
    tell = progress or (lambda share, what: None)
    tell(0.0, "reading")
    domain = Domain.read(plan.schema) if source is None else source[0]
    engine = connect(str(plan.data), domain) if source is None else source[1]
    names = domain.check_countable(plan.attributes or domain.countable)
    table = pa.Table.from_batches(list(engine.rows(names)))
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
    jobs: list[tuple[Wanted | None, str, Callable[[], Made]]] = [
        (wanted, wanted.name, partial(make, wanted, material)) for wanted in plan.releases
    ]
    jobs += [(None, name, maker) for name, maker in _references(material, rng)]
    found: list[Result] = []
    for place, (wanted, name, maker) in enumerate(jobs):
        tell(place / len(jobs), name)
        way = "reference" if wanted is None else wanted.way
        found.append(_one(name, way, maker, plan, material, control))
    tell(1.0, "done")
    return Comparison(
        plan=plan,
        results=tuple(each for each in found if each.way != "reference"),
        references=tuple(each for each in found if each.way == "reference"),
        people=len(rows),
        control=len(control),
    )


def _one(
    name: str, way: str, maker: Callable[[], Made], plan: ComparePlan, material: Material, control: pa.Table
) -> Result:
    start = time.monotonic()
    try:
        made = maker()
        rng = np.random.default_rng(plan.seed + 1)
        case = read_case(
            material.domain, real=material.rows, released=made.tables, control=control, names=None, rng=rng
        )
        case = case.only([each for each in material.names if each in case.names])
        # rows that belong to nobody cannot be matched with anybody; the page says for which releases that is so
        scenario = None if made.belongs is None else plan.scenario
        kind: Kind = made.kind if len(made.tables) > 1 else "plain"
        wishes = replace(plan.wishes, scenario=scenario, kind=kind)
        assessed = assess(case, rng, wishes=wishes, belongs=made.belongs)
        return Result(name=name, way=way, made=made, assessment=assessed, seconds=time.monotonic() - start)
    except TacitaError as error:
        return Result(
            name=name, way=way, made=None, assessment=None, seconds=time.monotonic() - start, error=str(error)
        )


def _references(material: Material, rng: np.random.Generator) -> list[tuple[str, Callable[[], Made]]]:
    rows = material.rows.select(list(material.names))
    shuffled = pa.table({name: rows[name].take(pa.array(rng.permutation(len(rows)))) for name in rows.column_names})
    return [
        ("a copy of the rows", lambda: Made(tables=(rows,), promise="nothing: these are the rows", epsilon=None)),
        ("columns, shuffled", lambda: Made(tables=(shuffled,), promise="nothing: real values, moved", epsilon=None)),
    ]

"""Make the releases of a plan in trials, assess them in the same way, and stop when the recommendation is settled.

    trial 1         all attacks and measures on every release, and on two references: a copy of the rows, which keeps
                    all and protects no one, and single columns shuffled, which keep no dependence
    trials 2, 3, .. a new split and new noise, the same for all releases: attacks, and tables of pairs
    looks           after 6, 10, 16, .. trials (`trials.look_sizes`): releases that matter for the recommendation and
                    are not settled (`Comparison.unsettled`) go on, until none is left or the maximum is reached

Nothing depends on a clock: the number of trials follows from the figures, which follow from rows and seed.

Privacy: none; works on exact rows and with repeatable noise, for the owner. Nothing is charged, and nothing that is
made may be released: trials cost time, not budget.
Claim: docs/claims/comparison.md.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa

from tacita.assess.assessment import Assessment, assess
from tacita.assess.case import read_case
from tacita.assess.compare.comparison import Comparison, Result
from tacita.assess.compare.makers import Material, ReleaseSpec, SimulatedRelease, make
from tacita.assess.compare.plan import ComparePlan
from tacita.assess.compare.trials import PairedTrials, look_sizes
from tacita.assess.utility.estimates import CombiningKind
from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.engines.connect import connect
from tacita.engines.labelled import check_values
from tacita.errors import DataError, InvalidInput, TacitaError

__all__ = ["Comparison", "Result", "compare"]

Progress = Callable[[float, str], None]
_LEAST = 200
_LOOKED_AT = 1000  # rows that are read to detect labels of a release
_FIRST = 0.5  # share of the progress that the first trial takes


@dataclass(frozen=True, kw_only=True, eq=False)
class _Trial:
    """One split of the rows, with the seed of all noise and guesses."""

    material: Material
    control: pa.Table

    @classmethod
    def split(cls, table: pa.Table, blank: Material, held: int, rng: np.random.Generator, seed: int) -> _Trial:
        """Hold some rows back, at random."""
        order = rng.permutation(len(table))
        control, rows = table.take(pa.array(order[:held])), table.take(pa.array(order[held:]))
        return cls(material=replace(blank, rows=rows, seed=seed), control=control)


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
    held = round(plan.control * len(table))
    if min(held, len(table) - held) < _LEAST:
        raise InvalidInput(f"needs at least {_LEAST} rows to use and to hold back", field="data", value=len(table))
    blank = _material(plan, domain, names, table)
    rng = np.random.default_rng(plan.seed)
    first = _Trial.split(table, blank, held, rng, plan.seed)
    jobs: list[tuple[ReleaseSpec | None, str, Callable[[], SimulatedRelease]]] = [
        (wanted, wanted.name, partial(make, wanted, first.material)) for wanted in plan.releases
    ]
    jobs += [(None, name, maker) for name, maker in _references(first.material, rng)]
    found: list[Result] = []
    alone = plan.most_trials == 1
    for place, (wanted, name, maker) in enumerate(jobs):
        notify((1.0 if alone else _FIRST) * place / len(jobs), name)
        way = "reference" if wanted is None else wanted.way
        found.append(_one(name, way, maker, plan, first))
    comparison = Comparison(
        plan=plan,
        results=tuple(each for each in found if each.way != "reference"),
        references=tuple(each for each in found if each.way == "reference"),
        people=len(first.material.rows),
        control=len(first.control),
    )
    if not alone:
        comparison = _repeat(comparison, lambda place: _again(plan, table, blank, held, place), notify)
    notify(1.0, "done")
    return comparison


def _material(plan: ComparePlan, domain: Domain, names: tuple[str, ...], table: pa.Table) -> Material:
    """Return all rows with the roles of attributes; refuse roles of attributes that are not released."""
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
    return Material(domain=domain, rows=table, names=names, quasi=quasi, sensitive=sensitive, seed=plan.seed)


def _again(plan: ComparePlan, table: pa.Table, blank: Material, held: int, place: int) -> _Trial:
    """Return the trial with this number, from a seed of its own."""
    seeds = np.random.SeedSequence([plan.seed, place])
    return _Trial.split(table, blank, held, np.random.default_rng(seeds), int(seeds.generate_state(1)[0]))


def _repeat(first: Comparison, trial: Callable[[int], _Trial], notify: Progress) -> Comparison:
    """Add trials, look by look, until no release is unsettled or the maximum is reached."""
    plan = first.plan
    specs = {each.name: each for each in plan.releases}
    figures = {each.name: [_figures(each.assessment)] for each in first.good if each.assessment}
    faults: dict[str, str] = {}
    going: Iterable[str] = tuple(figures)
    comparison, reached = first, 0
    for size in look_sizes(plan.most_trials):
        for place in range(1, size):
            late = [name for name in going if len(figures[name]) == place and name not in faults]
            if not late:
                continue
            reached = max(reached, place)  # a release that was settled for a while catches up
            notify(_FIRST + (1 - _FIRST) * reached / plan.most_trials, f"trial {place + 1}: {', '.join(late)}")
            now = trial(place)
            for name in late:
                try:
                    made = make(specs[name], now.material)
                    figures[name].append(_figures(_assess(made, plan, now, ("margins",))))
                except TacitaError as error:
                    faults[name] = f"in trial {place + 1}: {error}"
        comparison = replace(
            first,
            results=tuple(
                replace(each, made=None, assessment=None, error=faults[each.name]) if each.name in faults else each
                for each in first.results
            ),
            trials=PairedTrials(
                figures={name: np.array(rows, float) for name, rows in figures.items() if name not in faults},
                releases=len(plan.releases),
                most=plan.most_trials,
            ),
        )
        going = comparison.unsettled
        if not going:
            break
    return comparison


def _figures(found: Assessment) -> tuple[float, float]:
    """Return what a release keeps and its risk."""
    if not math.isfinite(found.kept):
        raise DataError("its tables cannot be compared with those of the rows", field="releases")
    return found.kept, found.risk


def _one(name: str, way: str, maker: Callable[[], SimulatedRelease], plan: ComparePlan, trial: _Trial) -> Result:
    start = time.monotonic()
    try:
        made = maker()
        assessed = _assess(made, plan, trial, None)
        _figures(assessed)
        return Result(name=name, way=way, made=made, assessment=assessed, seconds=time.monotonic() - start)
    except TacitaError as error:
        return Result(
            name=name, way=way, made=None, assessment=None, seconds=time.monotonic() - start, error=str(error)
        )


def _assess(made: SimulatedRelease, plan: ComparePlan, trial: _Trial, measures: tuple[str, ...] | None) -> Assessment:
    """Attack a release and measure its utility, or some measures of it."""
    material = trial.material
    rng = np.random.default_rng(material.seed + 1)
    case = read_case(
        material.domain, real=material.rows, released=made.tables, control=trial.control, names=None, rng=rng
    )
    case = case.only([each for each in material.names if each in case.names])
    # rows that belong to no one cannot be matched with a person; the page states for which releases this holds
    scenario = None if made.belongs is None else plan.scenario
    kind: CombiningKind = made.kind if len(made.tables) > 1 else "plain"
    options = replace(plan.options, scenario=scenario, kind=kind, measures=measures)
    return assess(case, rng, options=options, belongs=made.belongs)


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

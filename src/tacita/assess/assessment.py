"""All attacks and utility measures on one release: its risk, its utility, and the measures that could not be computed.

    risk      the largest success of an attack beyond a control group, between 0 and 1
    shown     the largest lower end of the attacks' intervals: the part that is more than chance
    interval  of the risk, at 95 % for all attacks together: each one's at 1 - 0.05 / attacks
    kept      1 - mean total variation over all pairs of attributes

With few people the largest of several noisy figures is large by chance alone: `risk` is an estimate, `shown` is a lower
bound. An attack that made fewer than `LEAST_GUESSES` guesses has too wide an interval for a risk or an upper end: 2
right guesses of 3 are no risk of 0.667. Its lower end counts, and `skipped` names it.

Both are summaries; the sections give the details. A small risk is a finding of these attacks, not a guarantee.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tacita.assess.attacks.attack import Attack, Outcome, Result, Skipped
from tacita.assess.attacks.copies import Nearness
from tacita.assess.attacks.registry import select
from tacita.assess.attacks.roc import Membership
from tacita.assess.case import Case
from tacita.assess.disclosure import Belongs, Disclosure, disclosure_risk
from tacita.assess.frame import Frame
from tacita.assess.options import AssessmentOptions
from tacita.assess.rates import Leak, Risk, guesses_for
from tacita.assess.sample import Sampled, sentence_of
from tacita.assess.utility.association import Associations
from tacita.assess.utility.estimates import Compared
from tacita.assess.utility.learning import Learned
from tacita.assess.utility.marginals import Margins
from tacita.assess.utility.propensity import Propensity
from tacita.assess.utility.registry import MEASURES
from tacita.assess.utility.structure import Structure
from tacita.assess.utility.travel import Travelled
from tacita.assess.utility.workload import QueryError
from tacita.errors import TacitaError
from tacita.figures.charts import Interval, interval_bars
from tacita.tables.tabular import Tabular

__all__ = ["LEAST_GUESSES", "Assessment", "AssessmentOptions", "Risk", "Tried", "assess"]

Progress = Callable[[float, str], None]
_ATTACKS = 0.55
"""Share of the work that attacks take."""
LEAST_GUESSES = guesses_for(0.1)
"""Least guesses of an attack that counts towards the risk: its success is then known to within 0.1."""


class Tried(NamedTuple):
    """An attack of the registry that was run, or the reason why it was not."""

    name: str
    title: str
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"name": self.name, "title": self.title, "ran": not self.reason, "reason": self.reason or None}


def _words_of_risk(risk: float) -> str:
    if risk < 0.02:
        return "next to nothing"
    if risk < 0.1:
        return "little"
    return "something" if risk < 0.3 else "much"


@dataclass(frozen=True, kw_only=True, eq=False)
class Assessment(Tabular):
    """Result of an assessment.

    `leaks`, `memberships`, `nearness` and `disclosure` are results of attacks by their type, `further` those of any
    other type. `attacks` has a line for each attack of the registry: that it ran, or why not. `skipped` names the
    measures that could not be computed, each with the reason. `samples` has the tables of which not all rows were used.
    """

    rows: int
    people: int
    control: int
    releases: int
    leaks: tuple[Leak, ...]
    memberships: tuple[Membership, ...]
    nearness: Nearness | None
    disclosure: Disclosure | None
    margins: Margins | None
    associations: Associations | None
    propensity: Propensity | None
    queries: QueryError | None
    learned: Learned | None
    means: tuple[Compared, ...]
    regression: tuple[Compared, ...]
    structure: Structure | None
    travel: Travelled | None = None
    skipped: tuple[tuple[str, str], ...] = field(default=())
    further: tuple[Result, ...] = ()
    attacks: tuple[Tried, ...] = ()
    samples: tuple[Sampled, ...] = ()

    @property
    def results(self) -> tuple[Result, ...]:
        """The results of all attacks."""
        alone = (each for each in (self.nearness, self.disclosure) if each is not None)
        return (*self.leaks, *self.memberships, *alone, *self.further)

    @property
    def not_tried(self) -> tuple[Tried, ...]:
        """The attacks that did not apply or were not selected, except those that `skipped` names."""
        named = {what for what, _ in self.skipped}
        return tuple(each for each in self.attacks if each.reason and each.title not in named)

    @property
    def risks(self) -> tuple[Risk, ...]:
        """Each attack with its success beyond the control group and its 95 % interval, all between 0 and 1."""
        return self.risks_at(0.95)

    def risks_at(self, level: float) -> tuple[Risk, ...]:
        """Return each attack with its success beyond the control group and its interval of this confidence."""
        return tuple(risk for result in self.results for risk in result.risks_at(level))

    def _counted(self, risks: tuple[Risk, ...]) -> tuple[Risk, ...]:
        """Return the risks with enough guesses; all of them if none has enough."""
        return tuple(each for each in risks if each.guesses >= LEAST_GUESSES) or risks

    @property
    def risk(self) -> float:
        """The largest risk of an attack with enough guesses."""
        return max((each.value for each in self._counted(self.risks)), default=0.0)

    @property
    def shown(self) -> float:
        """The largest lower end of the intervals, with each attack's own confidence: the part beyond chance."""
        return max((each.low for each in self.risks), default=0.0)

    @cached_property
    def interval(self) -> tuple[float, float]:
        """The interval of the risk, at 95 % for all attacks together."""
        risks = self.risks_at(1 - 0.05 / max(1, len(self.risks)))
        low = max((each.low for each in risks), default=0.0)
        return low, max((each.high for each in self._counted(risks)), default=1.0)

    @property
    def evident(self) -> tuple[Risk, ...]:
        """The attacks that beat guessing and whose interval lies above 0, the worst first."""
        found = [each for each in self.risks if each.strong and each.low > 0]
        return tuple(sorted(found, key=lambda each: -each.value))

    @property
    def headline(self) -> str:
        """Summary of the attacks in one or two sentences, consistent with the rows below them."""
        if not self.risks:
            return "No attack could be tried: it is unknown what the release reveals."
        largest = max(self._counted(self.risks), key=lambda each: each.value)
        name, value, low, high, *_ = self.evident[0] if self.evident else largest
        figure = f"{value:.2f} of 1 ({low:.2f} to {high:.2f})"
        unknown = " No one was held back, so this may be what anyone could guess about people who are not in the data."
        if not self.evident:
            found = (
                "No attack did better than guessing beyond chance on the people in the data. The largest estimate is "
                f"{figure}, by {name}."
            )
        elif not self.control:
            found = f"Attacks succeed with {figure} at most, by {name}."
        else:
            found = (
                f"The attacks that were tried learn {_words_of_risk(value)} about the people in the data beyond what "
                f"anyone could guess: {figure} at most, by {name}."
            )
        return found + ("" if self.control else unknown)

    @property
    def worst(self) -> str:
        """The attack with the largest risk."""
        return max(self._counted(self.risks), key=lambda each: each.value).name if self.risks else "none"

    @property
    def kept(self) -> float:
        """1 - mean total variation of pairs (of single attributes, if there is only one); NaN without released rows."""
        if self.margins is None:
            return math.nan
        return 1 - self.margins.mean(2 if self.margins.pairs else 1)

    def to_arrow(self) -> pa.Table:
        """One row for each attack: its success beyond a guess or a control group, and the interval."""
        rows = [each[:4] for each in self.risks]
        columns = list(zip(*rows, strict=True)) if rows else [()] * 4
        kinds = (pa.string(), pa.float64(), pa.float64(), pa.float64())
        names = ("attack", "risk", "low", "high")
        return pa.table({n: pa.array(c, k) for n, c, k in zip(names, columns, kinds, strict=True)})

    def facts(self) -> dict[str, str]:
        """Return who may see it, and the findings in words."""
        kept = {} if self.margins is None else {"kept": f"{self.kept:.3f}"}
        return {
            "guarantee": "none: figures come from exact rows, for their owner",
            "statement": " ".join(filter(None, (self.headline, sentence_of(self.samples)))),
            "risk": f"{self.risk:.3f}, {self.interval[0]:.3f} to {self.interval[1]:.3f}",
        } | kept

    def chart(self) -> str:
        """Draw the risk by attack."""
        rows = [Interval(label=each.name, value=each.value, low=each.low, high=each.high) for each in self.risks]
        return interval_bars(rows, title="Risk by attack")

    def as_dict(self) -> dict[str, Any]:
        """Return plain data without any person's row. The figures come from exact rows: for their owner only."""

        def plain(value: Any) -> Any:
            return None if value is None else value.as_dict()

        return {
            "tacita": "assessment/1",
            "for": "the owner of the data: figures were read off exact rows",
            "rows": self.rows,
            "people": self.people,
            "control": self.control,
            "releases": self.releases,
            "risk": self.risk,
            "shown": self.shown,
            "interval": list(self.interval),
            "worst": self.worst,
            "headline": self.headline,
            "risks": [dict(zip(("name", "risk", "low", "high"), each[:4], strict=True)) for each in self.risks],
            "kept": None if self.margins is None else self.kept,
            "leaks": [leak.as_dict() for leak in self.leaks],
            "membership": [attack.as_dict() for attack in self.memberships],
            "nearness": plain(self.nearness),
            "disclosure": plain(self.disclosure),
            "margins": plain(self.margins),
            "associations": plain(self.associations),
            "propensity": plain(self.propensity),
            "queries": plain(self.queries),
            "learned": plain(self.learned),
            "means": [each.as_dict() for each in self.means],
            "regression": [each.as_dict() for each in self.regression],
            "structure": plain(self.structure),
            "travel": plain(self.travel),
            "skipped": [list(each) for each in self.skipped],
            "further": [each.as_dict() for each in self.further],
            "attacks": [each.as_dict() for each in self.attacks],
        } | ({"samples": [each.as_dict() for each in self.samples]} if self.samples else {})


def assess(
    case: Case,
    rng: np.random.Generator,
    *,
    options: AssessmentOptions | None = None,
    belongs: Belongs | None = None,
    population: Frame | None = None,
    samples: Sequence[Sampled] = (),
    progress: Progress | None = None,
) -> Assessment:
    """Run all attacks and measures that the case allows.

    Args:
        case: The people, the release, and people who were not used.
        rng: For guesses and subsets.
        options: Options of the assessment.
        belongs: For a scenario: the real row that each released row belongs to; a scenario is refused without it.
        population: For a scenario with unknown membership: the whole population, the people in the data first.
        samples: How the tables of the case were sampled.
        progress: Called with the share done, between 0 and 1, and the name of the next step.
    """
    case = replace(case, belongs=belongs, population=population)
    wanted = (options or AssessmentOptions()).settled(case)
    chosen = select(wanted.attacks)
    if wanted.scenario is not None and belongs is None:  # refused before the work starts
        disclosure_risk(wanted.scenario, case.real, case.released, belongs=None)
    notify = progress or (lambda share, what: None)
    skipped: list[Skipped] = []
    if case.control is None:
        without = "There is none: an attack may succeed by what anyone could guess, which is no leak."
        skipped.append(Skipped("control group", without))
    results: list[Result] = []
    attacks: list[Tried] = []
    every = select()
    for place, (attack, own) in enumerate(zip(every, rng.spawn(len(every)), strict=True)):
        notify(_ATTACKS * place / len(every), attack.title)
        reason = attack.applies(case, wanted) if attack in chosen else "It was not selected."
        outcomes = [] if reason else _outcomes(attack, case, wanted, rng if attack.shared else own)
        if reason and attack in chosen and wanted.attacks:
            skipped.append(Skipped(attack.title, reason))
        found = [each for each in outcomes if not isinstance(each, Skipped)]
        failed = [each for each in outcomes if isinstance(each, Skipped)]
        results += found
        skipped += failed
        attacks.append(Tried(attack.name, attack.title, reason or ("" if found or not failed else failed[0].why)))
    measured: dict[str, Any] = {}
    for measure in MEASURES:
        notify(measure.begins, measure.title)
        measured[measure.key] = measure.empty
        asked = wanted.measures is None or measure.key in wanted.measures
        try:
            if case.released and asked:
                measured[measure.key] = measure.run(case, wanted, rng)
        except TacitaError as error:
            skipped.append(Skipped(measure.title, str(error)))
    for few in (each for each in results if not isinstance(each, Disclosure)):
        for guesses in (risk.guesses for risk in few.risks_at(0.95) if risk.guesses < LEAST_GUESSES):
            words = f"It could make {guesses} guesses only, and needs {LEAST_GUESSES} to count: see its interval."
            skipped.append(Skipped(few.name, words))
    notify(1.0, "done")
    return Assessment(
        rows=len(case.first) if case.released else 0,
        people=len(case.real),
        control=0 if case.control is None else len(case.control),
        releases=len(case.released),
        **_by_type(results),
        **measured,
        skipped=tuple(skipped),
        attacks=tuple(attacks),
        samples=tuple(each for each in samples if not each.is_all),
    )


def _outcomes(attack: Attack, case: Case, options: AssessmentOptions, rng: np.random.Generator) -> list[Outcome]:
    """Run an attack; keep its results until a refusal."""
    outcomes: list[Outcome] = []
    try:
        for each in attack.run(case, options, rng):
            outcomes.append(each)
    except TacitaError as error:
        outcomes.append(Skipped(attack.title, str(error)))
    return outcomes


def _by_type(results: Sequence[Result]) -> dict[str, Any]:
    """Sort results into the fields of an assessment."""
    known = (Leak, Membership, Nearness, Disclosure)
    return {
        "leaks": tuple(each for each in results if isinstance(each, Leak)),
        "memberships": tuple(each for each in results if isinstance(each, Membership)),
        "nearness": next((each for each in results if isinstance(each, Nearness)), None),
        "disclosure": next((each for each in results if isinstance(each, Disclosure)), None),
        "further": tuple(each for each in results if not isinstance(each, known)),
    }

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

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from tacita.assess.attacks.copies import Nearness, exact_copies, nearness
from tacita.assess.attacks.inference import inference
from tacita.assess.attacks.linkability import linkability
from tacita.assess.attacks.membership_tables import density_ratio, distance_attack
from tacita.assess.attacks.roc import Membership
from tacita.assess.attacks.singling_out import singling_out
from tacita.assess.case import Case
from tacita.assess.disclosure import Belongs, Disclosure, disclosure_risk
from tacita.assess.frame import Frame
from tacita.assess.rates import Leak, guesses_for
from tacita.assess.scenario import Scenario
from tacita.assess.utility.association import Associations, associations
from tacita.assess.utility.estimates import Compared, Kind, compare_means, compare_regression
from tacita.assess.utility.learning import Learned, train_on_release
from tacita.assess.utility.marginals import Margins, margins
from tacita.assess.utility.propensity import Propensity, propensity
from tacita.assess.utility.structure import Structure, compare_structure
from tacita.assess.utility.workload import QueryError, query_error
from tacita.errors import InvalidInput, TacitaError

__all__ = ["LEAST_GUESSES", "Assessment", "AssessmentOptions", "Risk", "assess"]

Progress = Callable[[float, str], None]
_LEAST = 50
LEAST_GUESSES = guesses_for(0.1)
"""Least guesses of an attack that counts towards the risk: its success is then known to within 0.1."""


class Risk(NamedTuple):
    """Success of one attack beyond a control group, with an interval, and the number of guesses that it made."""

    name: str
    value: float
    low: float
    high: float
    guesses: int


@dataclass(frozen=True, kw_only=True)
class AssessmentOptions:
    """Options of an assessment; all defaults follow from the schema.

    Attributes:
        attempts: Trials of each attack.
        secrets: Attributes that an intruder tries to infer; by default the sensitive ones, or the last attribute.
        linked: Two disjoint sets of known attributes, for linking; by default two halves of the other attributes.
        target: The attribute that classifiers predict; by default the first secret.
        group: An attribute whose levels are compared for fairness.
        number: An ordered attribute for a regression; by default the first one.
        scenario: An intruder scenario, for releases whose rows belong to people.
        kind: How several releases are combined.
    """

    attempts: int = 1000
    secrets: tuple[str, ...] = ()
    linked: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    target: str | None = None
    group: str | None = None
    number: str | None = None
    scenario: Scenario | None = None
    kind: Kind = "plain"

    def settled(self, case: Case) -> AssessmentOptions:
        """Fill in all defaults; refuse options that do not fit the case."""
        names = case.names
        if type(self.attempts) is not int or self.attempts < _LEAST:
            raise InvalidInput(f"must be a whole number of at least {_LEAST}", field="attempts", value=self.attempts)
        if self.scenario is not None:
            self.scenario.check(case.domain)
        for field_name in ("secrets", "target", "group", "number"):
            given = getattr(self, field_name)
            for name in given if isinstance(given, tuple) else [given] if given else []:
                if name not in names:
                    raise InvalidInput(
                        f"must be among {', '.join(names)}", field=field_name, value=name, hint="Is it in the release?"
                    )
        roles = tuple(each.name for each in case.domain.attributes if each.role == "sensitive")
        secrets = self.secrets or roles or names[-1:]
        others = [name for name in names if name not in secrets] or list(names)
        half = (len(others) + 1) // 2
        halves = (tuple(others[:half]), tuple(others[half:]))
        ordered = [name for name, line in zip(names, case.real.ordered, strict=True) if line]
        return AssessmentOptions(
            attempts=self.attempts,
            secrets=secrets,
            linked=self.linked or (halves if all(halves) else None),
            target=self.target or secrets[0],
            group=self.group,
            number=self.number or (ordered[0] if ordered else None),
            scenario=self.scenario,
            kind=self.kind,
        )


def _words_of_risk(risk: float) -> str:
    if risk < 0.02:
        return "next to nothing"
    if risk < 0.1:
        return "little"
    return "something" if risk < 0.3 else "much"


@dataclass(frozen=True, kw_only=True, eq=False)
class Assessment:
    """Result of an assessment. `skipped` names the measures that could not be computed, each with the reason."""

    rows: int
    people: int
    control: int
    releases: int
    leaks: tuple[Leak, ...]
    memberships: tuple[Membership, ...]
    nearness: Nearness | None
    disclosure: Disclosure | None
    margins: Margins
    associations: Associations | None
    propensity: Propensity | None
    queries: QueryError | None
    learned: Learned | None
    means: tuple[Compared, ...]
    regression: tuple[Compared, ...]
    structure: Structure | None
    skipped: tuple[tuple[str, str], ...] = field(default=())

    @property
    def risks(self) -> tuple[Risk, ...]:
        """Each attack with its success beyond the control group and its 95 % interval, all between 0 and 1."""
        return self.risks_at(0.95)

    def risks_at(self, level: float) -> tuple[Risk, ...]:
        """Return each attack with its success beyond the control group and its interval of this confidence."""
        found = [Risk(leak.name, *leak.risk_at(level), leak.guesses) for leak in self.leaks]
        for attack in self.memberships:
            value, least, most = (max(0.0, 2 * each - 1) for each in (attack.auc, *attack.auc_interval(level)))
            found.append(Risk(f"membership, {attack.name}", value, least, most, attack.guesses))
        if self.disclosure is not None:
            rate = self.disclosure.true_rate
            found.append(Risk("match in the scenario", rate.share, *rate.exact(level), rate.trials))
        return tuple(found)

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
        weak = {leak.name for leak in self.leaks if not leak.strong}
        found = [each for each in self.risks if each.name not in weak and each.low > 0]
        return tuple(sorted(found, key=lambda each: -each.value))

    @property
    def headline(self) -> str:
        """Summary of the attacks in one or two sentences, consistent with the rows below them."""
        if not self.risks:
            return "No attack could be tried: it is unknown what the release reveals."
        largest = max(self._counted(self.risks), key=lambda each: each.value)
        name, value, low, high, _ = self.evident[0] if self.evident else largest
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
        """1 - mean total variation of pairs (of single attributes, if there is only one)."""
        return 1 - self.margins.mean(2 if self.margins.pairs else 1)

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
            "kept": self.kept,
            "leaks": [leak.as_dict() for leak in self.leaks],
            "membership": [attack.as_dict() for attack in self.memberships],
            "nearness": plain(self.nearness),
            "disclosure": plain(self.disclosure),
            "margins": self.margins.as_dict(),
            "associations": plain(self.associations),
            "propensity": plain(self.propensity),
            "queries": plain(self.queries),
            "learned": plain(self.learned),
            "means": [each.as_dict() for each in self.means],
            "regression": [each.as_dict() for each in self.regression],
            "structure": plain(self.structure),
            "skipped": [list(each) for each in self.skipped],
        }


def assess(
    case: Case,
    rng: np.random.Generator,
    *,
    wishes: AssessmentOptions | None = None,
    belongs: Belongs | None = None,
    population: Frame | None = None,
    progress: Progress | None = None,
) -> Assessment:
    """Run all attacks and measures that the case allows.

    Args:
        case: The people, the release, and people who were not used.
        rng: For guesses and subsets.
        wishes: Options.
        belongs: For a scenario: the real row that each released row belongs to; a scenario is refused without it.
        population: For a scenario with unknown membership: the whole population, the people in the data first.
        progress: Called with the share done, between 0 and 1, and the name of the next step.
    """
    wanted = (wishes or AssessmentOptions()).settled(case)
    if wanted.scenario is not None and belongs is None:  # refused before the work starts
        disclosure_risk(wanted.scenario, case.real, case.released, belongs=None)
    skipped: list[tuple[str, str]] = []
    tell = progress or (lambda share, what: None)

    def tried(what: str, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except TacitaError as error:
            skipped.append((what, str(error)))
            return None

    if case.control is None:
        skipped.append(
            ("control group", "There is none: an attack may succeed by what anyone could guess, which is no leak.")
        )
    tell(0.0, "attacks")
    leaks = [tried("singling out", lambda: singling_out(case, rng, attempts=wanted.attempts, columns=_columns(case)))]
    leaks.append(tried("singling out, one attribute", lambda: _univariate(case, rng, wanted.attempts)))
    if wanted.linked is not None:
        linked = wanted.linked
        leaks.append(tried("linkability", lambda: linkability(case, linked, rng, attempts=wanted.attempts)))
    for secret in wanted.secrets:
        if len(case.names) > 1:
            infer = partial(inference, case, secret, rng, attempts=wanted.attempts)
            leaks.append(tried(f"inference of {secret}", infer))
    leaks.append(tried("exact copies", lambda: exact_copies(case, rng)))
    tell(0.35, "membership")
    members = [tried(what, partial(attack, case, rng, people=wanted.attempts)) for what, attack in _MEMBERSHIP]
    near = tried("nearest rows", lambda: nearness(case, rng, rows=wanted.attempts))
    found = None
    if wanted.scenario is not None:
        scenario = wanted.scenario
        found = tried(
            "scenario",
            lambda: disclosure_risk(scenario, case.real, case.released, belongs=belongs, population=population),
        )
    tell(0.55, "tables")
    tables = margins(case, rng)
    paired = tried("associations", lambda: associations(case))
    apart = tried("distinguishing rows", lambda: propensity(case, rng))
    asked = tried("random questions", lambda: query_error(case, rng))
    tell(0.7, "learning")
    target, number = wanted.target, wanted.number
    learned = tried("learning", lambda: train_on_release(case, str(target), rng, group=wanted.group))
    tell(0.9, "estimates")
    means = tried("means", lambda: compare_means(case, kind=wanted.kind)) or ()
    coefficients = ()
    if number is not None and len(case.names) > 1:
        coefficients = tried("regression", lambda: compare_regression(case, number, kind=wanted.kind)) or ()
    structure = tried("structure", lambda: compare_structure(case))
    for few in (each for each in (*leaks, *members) if each is not None and each.guesses < LEAST_GUESSES):
        words = f"It could make {few.guesses} guesses only, and needs {LEAST_GUESSES} to count: see its interval."
        skipped.append((few.name, words))
    tell(1.0, "done")
    return Assessment(
        rows=len(case.first),
        people=len(case.real),
        control=0 if case.control is None else len(case.control),
        releases=len(case.released),
        leaks=tuple(leak for leak in leaks if leak is not None),
        memberships=tuple(attack for attack in members if attack is not None),
        nearness=near,
        disclosure=found,
        margins=tables,
        associations=paired,
        propensity=apart,
        queries=asked,
        learned=learned,
        means=means,
        regression=coefficients,
        structure=structure,
        skipped=tuple(skipped),
    )


_MEMBERSHIP: tuple[tuple[str, Callable[..., Membership]], ...] = (
    ("membership by distance", distance_attack),
    ("membership by density", density_ratio),
)


def _columns(case: Case) -> int:
    return min(4, len(case.names))


def _univariate(case: Case, rng: np.random.Generator, attempts: int) -> Leak:
    return singling_out(case, rng, attempts=attempts, columns=1, mode="univariate")

"""Releases of a plan side by side: their order, the Pareto front, and the one that is recommended.

    risk, kept  of a release: means over trials with intervals (`trials`); of a single trial, the figures of its
                assessment, with the interval of the risk
    safer       one release than another: the interval of the difference of their risks, paired by trial, lies below 0;
                with a single trial, the interval of its risk lies below the other's. Otherwise they tie
    front       releases that no other beats: safer and keeping as much, or a tie and keeping more, by the indifference
                of the plan at least
    contenders  releases whose risk stays below the plan's limit, guarantees first; those whose whole interval stays
                below it come before those of which only the estimate does
    recommended among contenders with a guarantee the smallest epsilon that keeps as much as the best: estimated to
                within the indifference, or not distinguishable; without guarantees, the one that keeps most
    unsettled   releases that need more trials: contenders that are neither distinguished from the one that keeps most
                nor certainly as good to within the indifference, and releases of which it is not known whether their
                risk stays below the limit

Privacy: none; for the owner of the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tacita.assess.assessment import Assessment
from tacita.assess.compare import reasons
from tacita.assess.compare.makers import SimulatedRelease
from tacita.assess.compare.plan import ComparePlan
from tacita.assess.compare.trials import FIGURES, LEVEL, Estimate, Figure, PairedTrials
from tacita.figures.charts import Point, scatter
from tacita.tables.tabular import Tabular

__all__ = ["Comparison", "Result"]


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


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison(Tabular):
    """All releases of a plan, side by side; `trials` is None if each was made once."""

    plan: ComparePlan
    results: tuple[Result, ...]
    references: tuple[Result, ...]
    people: int
    control: int
    trials: PairedTrials | None = None

    def estimate(self, each: Result, figure: Figure) -> Estimate:
        """Return a figure of a release that could be made, with its interval; unknown where there is one trial."""
        assert each.assessment is not None
        if self.trials is not None and each.name in self.trials.figures:
            return self.trials.estimate(each.name, figure)
        if figure == "risk":
            return Estimate(each.assessment.risk, *each.assessment.interval, 1)
        return Estimate(each.assessment.kept, 0.0, 1.0, 1)

    def difference(self, one: Result, other: Result, figure: Figure) -> Estimate | None:
        """Return how much more one release has than another, paired by trial; None where there is one trial."""
        return None if self.trials is None else self.trials.difference(one.name, other.name, figure)

    def risk(self, each: Result) -> float:
        """The estimated risk of a release."""
        return self.estimate(each, "risk").value

    def kept(self, each: Result) -> float:
        """The estimate of what a release keeps."""
        return self.estimate(each, "kept").value

    def safer(self, one: Result, other: Result) -> bool:
        """Return whether one release has certainly less risk than another."""
        gap = self.difference(one, other, "risk")
        if gap is not None:
            return gap.high < 0
        return self.estimate(one, "risk").high < self.estimate(other, "risk").low

    def tie(self, one: Result, other: Result) -> bool:
        """Return whether the risks of two releases cannot be distinguished."""
        return not self.safer(one, other) and not self.safer(other, one)

    def to_arrow(self) -> pa.Table:
        """One row for each release: risk and utility with intervals, trials, epsilon, and what is recommended."""
        best = self.recommended
        rows = []
        for each in self.good:
            risk, kept = self.estimate(each, "risk"), self.estimate(each, "kept")
            rows.append(
                {
                    "release": each.name,
                    "risk": risk.value,
                    "low": risk.low,
                    "high": risk.high,
                    "kept": kept.value,
                    "kept_low": kept.low if kept.trials > 1 else None,
                    "kept_high": kept.high if kept.trials > 1 else None,
                    "epsilon": None if each.made is None else each.made.epsilon,
                    "trials": risk.trials,
                    "recommended": each is best,
                }
            )
        names = ("release", "risk", "low", "high", "kept", "kept_low", "kept_high", "epsilon", "trials", "recommended")
        kinds = [pa.string(), *[pa.float64()] * 7, pa.int64(), pa.bool_()]
        return pa.Table.from_pylist(rows, schema=pa.schema(list(zip(names, kinds, strict=True))))

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
            Point(label=each.name, x=self.risk(each), y=self.kept(each), best=each.name in front) for each in self.good
        ]
        return scatter(points, across="risk", up="kept", title="Risk and what is kept")

    @property
    def good(self) -> tuple[Result, ...]:
        """Those that could be made."""
        return tuple(each for each in self.results if each.assessment is not None)

    @property
    def ranking(self) -> tuple[tuple[Result, ...], ...]:
        """Releases by growing risk, in groups of ties: they cannot be distinguished from the group's first."""
        end = self.trials is None
        groups: list[list[Result]] = []
        for each in sorted(self.good, key=lambda one: (self.estimate(one, "risk").high if end else 0, self.risk(one))):
            if groups and not self.safer(groups[-1][0], each):
                groups[-1].append(each)
            else:
                groups.append([each])
        return tuple(tuple(group) for group in groups)

    @property
    def front(self) -> tuple[Result, ...]:
        """Those that no other beats, by growing risk."""

        def beaten(one: Result, by: Result) -> bool:
            more, least = self.kept(by) - self.kept(one), self.plan.indifference
            gap = self.difference(by, one, "kept")
            surely = gap is None or gap.low > 0
            return (self.safer(by, one) and more >= -least) or (not self.safer(one, by) and more > least and surely)

        best = [each for each in self.good if not any(beaten(each, other) for other in self.good if other is not each)]
        return tuple(sorted(best, key=self.risk))

    @property
    def contenders(self) -> tuple[Result, ...]:
        """The releases that the recommended one is chosen from, those that keep most first."""
        allowed = [each for each in self.good if self.risk(each) <= self.plan.most_risk]
        sure = [each for each in allowed if self.surely(each)]
        promised = [each for each in allowed if each.guarantee]
        some = [each for each in promised if each in sure] or promised or sure or allowed
        return tuple(sorted(some, key=lambda each: -self.kept(each)))

    @property
    def recommended(self) -> Result | None:
        """The recommended release, if there is one."""
        if not self.contenders:
            return None
        leader = self.contenders[0]
        if not leader.guarantee:
            return leader
        as_good = [each for each in self.contenders if each is leader or self._as_good(leader, each)]
        return min(as_good, key=lambda each: (each.made.epsilon or 0.0) if each.made else 0.0)

    def _as_good(self, leader: Result, each: Result) -> bool:
        gap = self.difference(leader, each, "kept")
        near = self.kept(leader) - self.kept(each) <= self.plan.indifference
        return near or (gap is not None and gap.low <= 0 <= gap.high)

    def surely(self, each: Result) -> bool:
        """Return whether the whole interval of its risk stays below the plan's limit."""
        return self.estimate(each, "risk").high <= self.plan.most_risk

    @property
    def unsettled(self) -> tuple[str, ...]:
        """Names of the releases that more trials are for; empty once they would change nothing."""
        near, limit = self.plan.indifference, self.plan.most_risk
        promised = any(each.guarantee and self.risk(each) <= limit for each in self.good)
        names = []
        for each in self.good:
            low, high = self.estimate(each, "risk")[1:3]
            if (each.guarantee or not promised) and low <= limit < high and max(limit - low, high - limit) > near:
                names.append(each.name)
        for each in self.contenders[1:]:
            gap = self.difference(self.contenders[0], each, "kept")
            if gap is not None and gap.low <= 0 and not gap.within(near):
                names += [self.contenders[0].name, each.name]
        return tuple(dict.fromkeys(names))

    def verdicts(self) -> tuple[reasons.Verdict, ...]:
        """The best release by each figure, with those that cannot be distinguished from it."""
        return reasons.verdicts(self)

    def reasons(self) -> tuple[str, ...]:
        """Reasons of the recommendation, in plain words."""
        return reasons.explain(self)

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
            "results": [each.as_dict() | self._plain(each) for each in self.results],
            "references": [each.as_dict() for each in self.references],
            "repeated": self._repeated(),
            "verdicts": [each.as_dict() for each in self.verdicts()],
            "differences": self._differences(),
            "ranking": [[each.name for each in group] for group in self.ranking],
            "front": [each.name for each in self.front],
            "recommended": best.name if best else None,
            "reasons": list(self.reasons()),
        }

    def _plain(self, each: Result) -> dict[str, Any]:
        if each.assessment is None:
            return {}
        kept, risk = self.estimate(each, "kept"), self.estimate(each, "risk")
        alone = {} if kept.trials > 1 else {"low": None, "high": None}
        return {"kept": kept.as_dict() | alone, "risk": risk.as_dict()}

    def _repeated(self) -> dict[str, Any]:
        return {
            "trials": 1 if self.trials is None else self.trials.trials,
            "most": self.plan.most_trials,
            "looks": [1] if self.trials is None else list(self.trials.looks),
            "level": None if self.trials is None else LEVEL,
            "indifference": self.plan.indifference,
            "enough": self.trials is not None and not self.unsettled,
        }

    def _differences(self) -> list[dict[str, Any]]:
        if self.trials is None:
            return []
        pairs = [(one, other) for place, one in enumerate(self.good) for other in self.good[place + 1 :]]
        return [
            {"figure": figure, "one": one.name, "other": other.name}
            | self.trials.difference(one.name, other.name, figure).as_dict()
            for figure in FIGURES
            for one, other in pairs
        ]

"""A comparison in plain words: which release is best by each figure, and why one is recommended.

    verdicts   by what is kept, among the releases to choose from; by risk, among all: the best one, or those that
               cannot be distinguished from it, with the interval of the difference and the number of trials
    explain    the recommendation, its reasons, and whether more trials could change it

Privacy: none; for the owner of the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacita.assess.compare.trials import Estimate, Figure

if TYPE_CHECKING:
    from tacita.assess.compare.comparison import Comparison, Result

__all__ = ["Verdict", "explain", "verdicts"]

_LARGE = 5.0
"""An epsilon above this allows an intruder odds of more than a hundred."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The best release by one figure.

    Attributes:
        figure: `kept` or `risk`.
        best: The release with the best estimate, then those that cannot be distinguished from it.
        trials: Trials of the releases in `best`.
        words: The same as a sentence, with the intervals of differences.
    """

    figure: Figure
    best: tuple[str, ...]
    trials: int
    words: str

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"figure": self.figure, "best": list(self.best), "trials": self.trials, "words": self.words}


def verdicts(found: Comparison) -> tuple[Verdict, ...]:
    """Return a verdict for each figure; none where each release was made once, or none could be made."""
    if found.trials is None:
        return ()
    fields: list[tuple[Figure, Sequence[Result]]] = [
        ("kept", found.contenders),
        ("risk", sorted(found.good, key=found.risk)),
    ]
    return tuple(_verdict(found, figure, field) for figure, field in fields if field)


def _verdict(found: Comparison, figure: Figure, field: Sequence[Result]) -> Verdict:
    """Judge releases that are sorted by their estimates, the best first."""
    leader, *others = field
    own = found.estimate(leader, figure)
    level = f"{own.value:.3f}, {own.words}"
    if not others:
        only = "is the only release to choose from" if len(found.good) > 1 else "is the only release"
        what = "keeps" if figure == "kept" else "has a risk of"
        words = f"{leader.name} {only}: it {what} {level}, in {own.trials} trials."
        return Verdict(figure=figure, best=(leader.name,), trials=own.trials, words=words)
    gaps = {each.name: _gap(found, leader, each, figure) for each in others}
    tied = {name: gap for name, gap in gaps.items() if gap.low <= 0}
    near = found.plan.indifference
    if tied:
        alike = all(gap.within(near) for gap in tied.values())
        trials = min(gap.trials for gap in tied.values())
        by = "what they keep" if figure == "kept" else "risk"
        shown = next(iter(tied.values())).words if len(tied) == 1 else _listed(tied, leader.name)
        noun = "difference" if len(tied) == 1 else "differences"
        words = f"{_joined([leader.name, *tied])} cannot be distinguished by {by} ({noun} {shown}; {trials} trials)" + (
            f", and a difference below {near:g} does not matter." if alike else "."
        )
        return Verdict(figure=figure, best=(leader.name, *tied), trials=trials, words=words)
    second = others[0]
    gap = gaps[second.name]
    more = "more" if figure == "kept" else "less"
    words = (
        f"{leader.name} is best by {'what it keeps' if figure == 'kept' else 'risk'}: {level}, and {gap.words} {more} "
        f"than {second.name} ({gap.trials} trials)"
    )
    words += f", which is less than the {near:g} that matters." if gap.high < near else "."
    return Verdict(figure=figure, best=(leader.name,), trials=gap.trials, words=words)


def _gap(found: Comparison, leader: Result, other: Result, figure: Figure) -> Estimate:
    """Return by how much the leader is better."""
    pair = (leader, other) if figure == "kept" else (other, leader)
    gap = found.difference(*pair, figure)
    assert gap is not None
    return gap


def _joined(names: Sequence[str]) -> str:
    return f"{'; '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def _listed(gaps: dict[str, Estimate], leader: str) -> str:
    return f"from {leader}: " + "; ".join(f"{name} {gap.words}" for name, gap in gaps.items())


def explain(found: Comparison) -> tuple[str, ...]:
    """Return the reasons of the recommendation."""
    best = found.recommended
    failed = [each.name for each in found.results if each.assessment is None]
    missing = [f"Not assessed, because they could not be made: {', '.join(failed)}."] if failed else []
    if not found.good:
        return (f"Nothing could be made: {'; '.join(each.error for each in found.results)}",)
    tail = (*(each.words for each in verdicts(found)), *_trials(found), *missing)
    if best is None:
        low = min(found.good, key=found.risk)
        assert low.assessment is not None
        risk = found.estimate(low, "risk")
        return (
            f"No release stays below a risk of {found.plan.most_risk:g}.",
            f"The least risky is {low.name}, with {risk.value:.2f} by {low.assessment.worst}. "
            f"More than chance is {low.assessment.shown if found.trials is None else risk.low:.2f} of it. Protect "
            "more, release fewer attributes, or release nothing.",
            *tail,
        )
    return (*_recommendation(found, best), *_others(found, best), *tail)


def _trials(found: Comparison) -> list[str]:
    """State whether more trials could change the recommendation."""
    if found.trials is None:
        return ["Each release was made once: whether differences of what is kept are chance is not known."]
    count, near = found.trials.trials, found.plan.indifference
    if not found.unsettled:
        return [f"{count} trials were enough: more would not change what is recommended by more than {near:g}."]
    return [f"The most of {count} trials was reached: more trials could change what is recommended."]


def _recommendation(found: Comparison, best: Result) -> list[str]:
    assert best.assessment is not None
    assert best.made is not None
    risk, kept = found.estimate(best, "risk"), found.estimate(best, "kept")
    words = [
        f"Take {best.name}. Of what attacks achieve beyond guessing, the most is {risk.value:.2f} "
        f"({best.assessment.worst}), and pairs of attributes are off by {1 - kept.value:.3f} on average."
    ]
    if not found.surely(best):
        words.append(
            f"With these trials and people the risk lies between {risk.low:.2f} and {risk.high:.2f}: that it stays "
            f"below {found.plan.most_risk:g} is not shown."
        )
    tied = [each.name for each in found.good if each is not best and found.tie(each, best)]
    if tied and found.trials is None:
        words.append(f"Its risk ties with that of {', '.join(tied)}: their intervals overlap.")
    if best.guarantee:
        words.append(f"It has a guarantee that does not depend on what an intruder knows: {best.made.promise}.")
        if (best.made.epsilon or 0.0) > _LARGE:
            words.append("So large an epsilon promises little by itself: that attacks found little is the better news.")
    else:
        words.append(
            "It has no guarantee: the attacks that were tried found little, and others may find more. No release "
            "with a guarantee stayed below the risk that you allow."
        )
    return words


def _others(found: Comparison, best: Result) -> list[str]:
    """Name the releases that keep more, and why they are not recommended."""
    words = []
    for other in found.good:
        if other is best or other.assessment is None:
            continue
        gap, sure = found.kept(other) - found.kept(best), found.difference(other, best, "kept")
        if gap <= 0.005 or (sure is not None and sure.low <= 0):
            continue
        shown = f"{gap:+.3f}" if sure is None else f"{sure.words} more"
        if found.risk(other) > found.plan.most_risk:
            words.append(
                f"{other.name} keeps more ({shown}) and gives away too much: {found.risk(other):.2f} by "
                f"{other.assessment.worst}."
            )
        elif best.guarantee and not other.guarantee:
            words.append(f"{other.name} keeps more ({shown}) without a guarantee.")
        else:
            words.append(f"{other.name} keeps a little more ({shown}) for a weaker promise.")
    learned = None if best.assessment is None else best.assessment.learned
    if learned is not None and learned.lost > 0.02:
        words.append(
            f"For one known task, training on the real rows under privacy is worth a look: classifiers of "
            f"{learned.target} lose {learned.lost:.3f} of accuracy on it."
        )
    return words

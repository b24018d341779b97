"""HTML pages about an assessment and about a comparison: first the meaning, then the figures.

The pages are self-contained and can be printed. They are for the owner of the data: figures come from exact rows.
"""

from __future__ import annotations

from pathlib import Path

from tacita.assess.assessment import Assessment
from tacita.assess.compare.comparison import Comparison, Result
from tacita.assess.compare.trials import LEVEL
from tacita.assess.sample import sentence_of
from tacita.assess.utility.marginals import Margins
from tacita.common.whole import write_text
from tacita.figures.charts import Interval, Point, heatmap, interval_bars, scatter, twin_bars
from tacita.report.report import Section, render

__all__ = ["assessment_sections", "comparison_sections", "write_assessment", "write_comparison"]

_FOR = "For the owner of the data: the figures were read off exact rows, and should not be published as they are."


def assessment_sections(found: Assessment, *, promise: str = "") -> list[Section]:
    """Build the sections about risk and utility of a release, the most asked-for first."""
    lead = f"{found.headline} {_lost(found.margins)}A small risk is what these attacks found; it is not a guarantee."
    if found.releases > 1:
        lead += f" Of the {found.releases} tables, most attacks look at the first."
    if found.samples:
        lead += f" {sentence_of(found.samples)}"
    if promise:
        lead += f" What is promised: {promise}."
    facts = [
        ("people in the data", f"{found.people:,}"),
        (
            "released rows",
            (f"{found.rows:,}" if found.releases else "none")
            + (f" in each of {found.releases}" if found.releases > 1 else ""),
        ),
        (
            "people held back",
            f"{found.control:,}" if found.control else "none: leaks cannot be distinguished from guesses",
        ),
    ]
    sections = [Section(title="In short", text=lead, facts=facts), _risks(found)]
    if found.disclosure is not None:
        sections.append(_scenario(found))
    if found.margins is not None:
        sections += [_tables(found.margins), *_more(found)]
    if found.skipped:
        sections.append(Section(title="What could not be computed", facts=[(what, why) for what, why in found.skipped]))
    if found.not_tried:
        reasons = dict.fromkeys(each.reason for each in found.not_tried)
        absent = {why: ", ".join(each.title for each in found.not_tried if each.reason == why) for why in reasons}
        facts = [(titles, why) for why, titles in absent.items()]
        sections.append(Section(title="Attacks that were not tried", facts=facts))
    return sections


def _lost(margins: Margins | None) -> str:
    """Describe how far tables of released rows are off; nothing where no rows are released."""
    if margins is None:
        return ""
    ways = 2 if margins.pairs else 1
    return (
        f"{'Pairs of' if ways == 2 else 'Single'} attributes are off by {margins.mean(ways):.3f} on average, where "
        f"{margins.floor[ways - 1]:.3f} would be chance. "
    )


def _risks(found: Assessment) -> Section:
    bars = [Interval(label=each.name, value=each.value, low=each.low, high=each.high) for each in found.risks]
    rows = [fact for each in found.results if each is not found.disclosure for fact in each.facts]
    text = "0 is what anyone could guess, 1 is certainty. Lines are 95 % intervals."
    picture = interval_bars(bars, title="What attacks achieve beyond a control group")
    return Section(title="What it gives away", text=text, picture=picture, facts=rows)


def _scenario(found: Assessment) -> Section:
    assert found.disclosure is not None
    return Section(title="The intruder scenario", facts=list(found.disclosure.facts))


def _tables(margins: Margins) -> Section:
    bars = [(each.attributes[0], each.variation, each.js) for each in margins.singles]
    facts = [
        ("single attributes", f"{margins.mean(1):.4f} (chance {margins.floor[0]:.4f})"),
        ("pairs", f"{margins.mean(2):.4f} (chance {margins.floor[1]:.4f})"),
        *((f"worst: {' and '.join(each.attributes)}", f"{each.variation:.4f}") for each in margins.worst(3)),
    ]
    picture = twin_bars(bars, names=("total variation", "Jensen-Shannon, bits"), title="Single attributes")
    text = "Total variation: the share of people who would have to change. 0 is the same table."
    return Section(title="What it keeps: tables", text=text, picture=picture, facts=facts)


def _more(found: Assessment) -> list[Section]:
    sections = []
    if found.associations is not None and len(found.associations.names) > 1:
        both = found.associations
        gap = abs(both.real - both.released)
        facts = [("mean gap", f"{both.gaps.mean():.3f}"), ("largest gap", f"{both.gaps.max():.3f}")]
        picture = heatmap(both.names, gap.tolist(), title="Gaps of associations")
        text = "How much the association of each pair differs: the stronger the colour, the worse."
        sections.append(Section(title="What it keeps: associations", text=text, facts=facts, picture=picture))
    if found.learned is not None:
        sections.append(_learning(found))
    facts = []
    if found.queries is not None:
        asked = found.queries
        facts.append(
            ("random questions", f"off by {asked.mean:.4f} of the people on average, {asked.p95:.4f} at worst of 20")
        )
    if found.propensity is not None:
        fit = found.propensity
        facts.append(
            ("distinguishing rows", f"pMSE {fit.ratio:.2f} times what chance gives; AUC {fit.auc:.3f} of a classifier")
        )
    if found.structure is not None:
        tree = found.structure
        facts.append(
            (
                "dependencies",
                f"{tree.recall:.0%} of the data's are in the release, {tree.precision:.0%} of the release's are real",
            )
        )
    for each in [*found.means[:6], *found.regression[:8]]:
        facts.append(
            (
                each.name,
                f"{each.real:.4g} real, {each.released:.4g} released; intervals overlap {each.overlap:.2f} "
                f"(widths {each.widths[0]:.3g} and {each.widths[1]:.3g})"
                + ("" if each.same_finding else "; the finding is another"),
            )
        )
    sections.append(Section(title="What it keeps: estimates", facts=facts))
    return sections


def _learning(found: Assessment) -> Section:
    assert found.learned is not None
    learned = found.learned
    bars = [(name, learned.real[name].accuracy, learned.released[name].accuracy) for name in learned.real]
    facts = [("majority class", f"{learned.majority:.3f}")]
    for name in learned.real:
        area = learned.released[name].auc
        facts.append(
            (
                name,
                f"macro F1 {learned.real[name].macro_f1:.3f} real, {learned.released[name].macro_f1:.3f} released"
                + ("" if area is None else f"; AUC {learned.real[name].auc or 0:.3f} real, {area:.3f} released"),
            )
        )
    for label, (real, released, size) in learned.groups.items():
        facts.append((f"group {label}", f"accuracy {real:.3f} real, {released:.3f} released; {size:,} people"))
    text = f"Classifiers of {learned.target}, trained on real rows and on the release, tested on people held back."
    picture = twin_bars(bars, names=("trained on real rows", "trained on the release"), most=1.0, title="Accuracy")
    return Section(
        title="What it keeps: learning",
        text=text,
        facts=[*facts, *(("note", each) for each in learned.notes)],
        picture=picture,
    )


def comparison_sections(found: Comparison) -> list[Section]:
    """Build the sections with the recommendation, the Pareto front, and one line for each release."""
    front = {each.name for each in found.front}
    numbered = {each.name: f"{place}" for place, each in enumerate((*found.results, *found.references), start=1)}
    points = [_point(found, each, numbered[each.name], "release", each.name in front) for each in found.good]
    points += [
        _point(found, each, numbered[each.name], "reference", False) for each in found.references if each.assessment
    ]
    text = " ".join(found.reasons())
    facts = [
        ("people used", f"{found.people:,}"),
        ("people held back", f"{found.control:,}"),
        ("risk that you allow", f"{found.plan.most_risk:g}"),
        ("trials", found.plan.trials),
        *(
            (f"risk, rank {place}" + (", a tie" if len(group) > 1 else ""), "; ".join(each.name for each in group))
            for place, group in enumerate(found.ranking, start=1)
        ),
    ]
    picture = scatter(points, across="risk", up="kept", title="Risk and what is kept")
    sections = [
        Section(title="What to take", text=text, facts=facts),
        Section(
            title="Side by side",
            text="To the left is safer, up is more useful; the numbers are those of the table below. The line joins "
            "releases that no other beats: where risks cannot be distinguished, the one that keeps more does. Open "
            "circles are references: a copy of the rows, and columns shuffled.",
            picture=picture,
            facts=[
                (f"{numbered[each.name]}  {each.name}", _line(found, each))
                for each in (*found.results, *found.references)
            ],
        ),
        *_intervals(found),
    ]
    for each in found.good:
        assert each.assessment is not None
        assert each.made is not None
        for place, section in enumerate(assessment_sections(each.assessment, promise=each.made.promise)):
            title = each.name if place == 0 else f"{each.name}: {section.title.lower()}"
            note = "Figures of the first trial. " if place == 0 and found.trials is not None else ""
            sections.append(
                Section(title=title, text=f"{note}{section.text}", facts=section.facts, picture=section.picture)
            )
    return sections


def _intervals(found: Comparison) -> list[Section]:
    """Draw what each release keeps, and list the differences from the recommended one; nothing after one trial."""
    if found.trials is None or not found.good:
        return []
    base = found.recommended or found.good[0]
    bars, facts = [], []
    for each in found.good:
        value, low, high, _ = found.estimate(each, "kept")
        bars.append(Interval(label=each.name, value=value, low=low, high=high))
        kept, risk = found.difference(each, base, "kept"), found.difference(each, base, "risk")
        if each is not base and kept is not None and risk is not None:
            words = (
                f"kept {kept.value:+.3f} ({kept.words}), risk {risk.value:+.3f} ({risk.words}); {kept.trials} trials"
            )
            facts.append((f"{each.name}, less {base.name}", words))
    text = (
        f"Means over trials. All intervals, those of the differences in each trial too, hold together with {LEVEL:.0%} "
        "confidence, whenever the trials ended. They are about these rows: other splits and other noise, not other "
        "people. A difference whose interval contains 0 may be chance."
    )
    return [
        Section(title="Trials", text=text, facts=facts, picture=interval_bars(bars, title="What releases keep")),
    ]


def _point(found: Comparison, each: Result, label: str, kind: str, best: bool) -> Point:
    return Point(label=label, x=found.risk(each), y=found.kept(each), kind=kind, best=best)


def _line(found: Comparison, each: Result) -> str:
    if each.assessment is None or each.made is None:
        return f"could not be made: {each.error}"
    assessed, risk, kept = each.assessment, found.estimate(each, "risk"), found.estimate(each, "kept")
    learned = "" if assessed.learned is None else f"; accuracy lost {assessed.learned.lost:.3f}"
    times = f", {kept.words}; {kept.trials} trials" if kept.trials > 1 else ""
    return (
        f"risk {risk.value:.3f}, {risk.words} ({assessed.worst}); kept {kept.value:.3f}{times}{learned}; "
        f"{each.made.promise}; trusts {each.made.trust}; {each.seconds:.0f} s"
    )


def write_assessment(path: Path, found: Assessment, name: str, *, promise: str = "") -> None:
    """Write a page about one release."""
    write_text(path, render(f"Assessment of {name}", _FOR, assessment_sections(found, promise=promise)))


def write_comparison(path: Path, found: Comparison) -> None:
    """Write a page about all releases of a plan."""
    title = f"Which release of {found.plan.data.name}?"
    write_text(path, render(title, f"{_FOR} All noise was simulated.", comparison_sections(found)))

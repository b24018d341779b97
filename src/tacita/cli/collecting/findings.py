"""`tacita collect tables|means|changes|test|network|rules|synthesize`: results of a campaign, at no further cost."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

from tacita.cli.collecting.campaign import CampaignId, campaigns_of
from tacita.cli.collecting.collect import PriorFiles, app, prior_of, show_means
from tacita.cli.parts import show
from tacita.cli.parts.files import ROWS, check_files
from tacita.cli.parts.options import Json, State
from tacita.collect.analysis import findings
from tacita.collect.analysis.changes import Change, find_changes
from tacita.collect.analysis.hypothesis import Hypothesis
from tacita.collect.analysis.rules import find_rules
from tacita.collect.estimating.means import collected_means
from tacita.collect.estimating.tally import Tally
from tacita.common.number_text import number
from tacita.common.whole import write_text
from tacita.models import write_bif
from tacita.synthesize.writing import write_file
from tacita.tables.release import Release, Releases

__all__: list[str] = []

Level = Annotated[float, typer.Option(help="Level of all tests together.")]
Degree = Annotated[int, typer.Option(help="Most parents of an attribute.", min=1, max=4)]


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _influence(found: Mapping[str, Any]) -> str:
    """Describe how far one sender could have moved a table."""
    if found["one_report"] is None:
        kind = "Invited" if found["participation"] == "invited" else "Open"
        return f"{kind}: how far one report moves it is stated for tables as they were counted (--published raw) only."
    one = f"a report can move a share by up to {found['one_report']:.2g}"
    if found["participation"] == "invited":
        return f"Invited: {one}, and each code allows one sheet."
    minute = found["one_minute"]
    faster = "" if minute is None else f"; the {found['reports_a_minute']:,} of one address and minute by {minute:.2g}"
    return f"Open: one sender's influence is not bounded; {one}{faster}."


@app.command()
def tables(
    id: CampaignId,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", "-b", help="Only these tables; they may be larger than any question."),
    ] = None,
    published: Annotated[
        findings.Published,
        typer.Option(
            help="auto: the best of consistent, singles and modelled by estimated error, or an average. pooled: "
            "unbiased, from all reports that hold an attribute. raw: unbiased, each table alone. All have intervals."
        ),
    ] = "auto",
    prior: PriorFiles = None,
    check: Annotated[
        bool,
        typer.Option(help="Show how far false reports could move a share, and test whether the tally looks honest."),
    ] = False,
    state: State = None,
    json: Json = False,
) -> None:
    """Show the tables with their error bars, as far as people have answered: single attributes first."""
    campaigns = campaigns_of(state)
    tally = campaigns.tally(id)
    if not by and not json and all(asked.asks_mean for asked, _ in tally.questions()):
        show_means(collected_means(tally))
        _show_integrity(tally, check)
        return
    known = prior_of(tally.design.domain, prior)
    if by:
        chosen = Releases(findings.table(tally, _names(text), published, prior=known) for text in by)
    elif published == "raw" and known is None:
        chosen = campaigns.releases(id)
    else:
        chosen = findings.published(tally, published, prior=known)
    if json:
        print(chosen.to_json())
        return
    shown = list(chosen.values())
    if not by and published != "raw":
        show.say("Shares of single attributes, unbiased, each from all reports that hold it:\n")
        single = findings.prevalences(tally)
        for release in single.values():
            show.release(release, f"{release.attributes[0]}, from {release.provenance.recipe['reports']:,} reports")
        shown = [release for release in shown if len(release.attributes) > 1 or _is_moved(release)]
    for line in findings.explain(chosen):
        show.say(line)
    for release in shown:
        show.release(release)
        if found := release.provenance.recipe.get("influence"):
            show.say(_influence(found))
    show_means([] if by else collected_means(tally))
    _show_integrity(tally, check)


def _is_moved(release: Release) -> bool:
    """Whether published shares are others than the unbiased ones made possible."""
    return not {"smoothed", "prior"}.isdisjoint(release.provenance.recipe)


def _show_integrity(tally: Tally, check: bool) -> None:
    if not check:
        return
    rows = [
        (
            " x ".join(each.attributes),
            f"{each.reports:,}",
            f"{each.one_report:.2g}",
            f"{each.one_percent:.2g}",
            "not known" if each.p_value is None else f"{each.p_value:.3g}",
        )
        for each in findings.integrity(tally)
    ]
    columns = ("question", ">reports", ">one report moves", ">1 % of them move", ">p of the support")
    show.grid("Effect of false reports on a share, and a test of the tally", columns, rows)


@app.command()
def means(
    id: CampaignId,
    level: Annotated[float, typer.Option(help="Level of each interval.")] = 0.95,
    state: State = None,
    json: Json = False,
) -> None:
    """Show the means of numbers with their error bars, as far as people have answered."""
    found = collected_means(campaigns_of(state).tally(id), level=level)
    if json:
        show.print_json([mean.as_dict() for mean in found])
        return
    if not found:
        show.say("No number was asked by itself.")
    show_means(found)


@app.command()
def changes(
    id: CampaignId,
    since: Annotated[
        int | None, typer.Option(help="Number of the earlier wave; the wave before, if not given.", min=1)
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", "-b", help="Only these tables; otherwise all single attributes, tables and means."),
    ] = None,
    level: Annotated[float, typer.Option(help="Level of each interval.")] = 0.95,
    most: Annotated[int, typer.Option(help="Number of changes shown, the clearest first.", min=1)] = 20,
    state: State = None,
    json: Json = False,
) -> None:
    """Show what has changed between two waves of a series, with error bars."""
    before, after = campaigns_of(state).since(id, since)
    found = find_changes(before, after, by=[_names(text) for text in by or ()], level=level)
    if json:
        show.print_json([change.as_dict() for change in found])
        return
    rows = [_row(change) for change in sorted(found, key=lambda change: change.p_value)[:most]]
    columns = ("what", ">before", ">after", ">change", f">{level:.0%} interval", ">p", ">p of all")
    show.grid("Changes, the clearest first", columns, rows)
    if len(found) > most:
        show.say(f"{len(found) - most:,} more: `--most {len(found)}` shows all.")
    show.say("p of all: the probability that any of these changes would look so clear if nothing had changed.")


def _row(change: Change) -> tuple[str, ...]:
    pairs = [f"{name}={label}" for name, label in zip(change.attributes, change.levels, strict=False)]
    share = bool(change.levels)
    return (
        ", ".join(pairs) or f"mean of {change.attributes[0]}",
        number(change.before, share=share),
        number(change.after, share=share),
        number(change.change, share=share),
        f"{number(change.low, share=share)} to {number(change.high, share=share)}",
        f"{change.p_value:.2g}",
        f"{change.adjusted:.2g}",
    )


@app.command("test")
def independence(
    id: CampaignId,
    by: Annotated[str, typer.Option("--by", "-b", help="Attributes to test for independence: --by smokes,sex.")],
    given: Annotated[str, typer.Option(help="Test within each combination of these attributes.")] = "",
    simulations: Annotated[
        int | None, typer.Option(help="Simulate the protocol this many times; for few reports.")
    ] = None,
    alpha: Annotated[float, typer.Option(help="Level of the test.")] = 0.05,
    state: State = None,
    json: Json = False,
) -> None:
    """Test whether attributes are independent."""
    verdict = findings.independence(
        campaigns_of(state).tally(id), Hypothesis.of(*_names(by), given=_names(given)), simulations=simulations
    )
    if json:
        show.print_json(verdict.as_dict() | {"alpha": alpha, "reject": verdict.reject(alpha)})
        return
    outcome = "[bold]rejected[/]" if verdict.reject(alpha) else "not rejected"
    show.say(f"{verdict.hypothesis}: {outcome} at level {alpha:g}")
    show.say(f"{verdict.method}: statistic {verdict.statistic:.4g}, df {verdict.df}, p = {verdict.p_value:.3g}")
    if verdict.caution:
        show.say(f"Caution: {verdict.caution}")


@app.command()
def network(
    id: CampaignId,
    degree: Degree = 1,
    level: Level = 0.05,
    structure: Annotated[
        str | None,
        typer.Option(metavar="ID", help="A campaign of other people, to learn the structure from."),
    ] = None,
    bif: Annotated[Path | None, typer.Option(help="Write the network to this file.")] = None,
    state: State = None,
    json: Json = False,
) -> None:
    """Learn a Bayesian network of the attributes."""
    campaigns = campaigns_of(state)
    other = None if structure is None else campaigns.tally(structure)
    learned = findings.network(campaigns.tally(id), degree=degree, level=level, structure=other)
    if bif is not None:
        write_text(bif, write_bif(learned.network))
    if json:
        show.print_json(learned.network.as_dict())
        return
    rows = [
        (link.child, ", ".join(link.parents), f"{link.bits:.4f}", f"{link.p_value:.2g}")
        for link in learned.structure.links
    ]
    title = f"Edges, out of {learned.structure.candidates} candidates"
    show.grid(title, ("attribute", "depends on", ">bits, corrected", ">p"), rows)
    for line in learned.structure.near_misses:
        show.say(line)
    alone = [name for name, above in learned.structure.parents.items() if not above]
    show.say(f"Without parents: {', '.join(alone)}.")


@app.command()
def rules(
    id: CampaignId,
    confidence: Annotated[float, typer.Option(help="The confidence must exceed this significantly.")] = 0.0,
    lift: Annotated[float, typer.Option(help="The lift must exceed this significantly.")] = 1.0,
    support: Annotated[float, typer.Option(help="The estimated support must reach this.")] = 0.0,
    level: Level = 0.05,
    state: State = None,
    json: Json = False,
) -> None:
    """List association rules that are not explained by noise."""
    releases = campaigns_of(state).tally(id).releases()
    found = find_rules(releases, confidence=confidence, lift=lift, support=support, level=level)
    if json:
        show.print_json([rule.as_dict() for rule in found])
        return
    rows = [
        (
            str(rule),
            number(rule.support.value, share=True),
            number(rule.confidence.value, share=True),
            f"{rule.lift.value:.2f}",
            f"{rule.lift.low:.2f} … {rule.lift.high:.2f}",
        )
        for rule in found
    ]
    show.grid("Rules", ("rule", ">support", ">confidence", ">lift", ">its interval"), rows)


@app.command()
def synthesize(
    id: CampaignId,
    rows: Annotated[int, typer.Option(help="Number of synthetic rows.", min=1)],
    out: Annotated[Path, typer.Option("--out", "-o", help="A .csv or .parquet file.")],
    by: Annotated[Literal["classes", "network"], typer.Option(help="The model they are drawn from.")] = "classes",
    degree: Degree = 1,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same rows.")] = None,
    state: State = None,
) -> None:
    """Write synthetic rows whose tables are close to the collected ones."""
    check_files(ROWS, out=out)
    tally = campaigns_of(state).tally(id)
    table = findings.synthetic(tally, rows, np.random.default_rng(seed), by=by, degree=degree)
    write_file(out, iter([table]))
    show.say(f"Wrote {rows:,} synthetic rows to {out}.")

"""An HTML page about the disclosure risk of microdata, for the owner."""

from __future__ import annotations

from pathlib import Path

from tacita.assess.risk.measure import Figure
from tacita.assess.risk.microdata import MicrodataRisk
from tacita.common.number_text import number
from tacita.report.report import Section, write

__all__ = ["figure_text", "risk_sections", "write_risk"]


def figure_text(figure: Figure) -> str:
    """A number with its interval, in words."""
    value = number(figure.value, share=figure.share, digits=2)
    if figure.low != figure.low:
        return value
    return f"{value} ({number(figure.low)} to {number(figure.high)})"


def risk_sections(found: MicrodataRisk) -> list[Section]:
    """Build a section for each measure, and one for those that do not apply."""
    facts = [
        ("records", f"{found.rows:,}"),
        ("quasi-identifiers", ", ".join(found.quasi)),
        ("people in the population", "not known" if found.people is None else f"{found.people:,.0f}"),
    ]
    note = "Figures of exact rows, for the owner of the data. No guarantee, and not to be published."
    sections = [Section(title="Records", text=note, facts=facts, picture=found.chart())]
    for measure, result in found.measured:
        lines = [(each.title, figure_text(each)) for each in result.figures]
        sections.append(Section(title=measure.title, text=" ".join((measure.question, *result.notes)), facts=lines))
    if found.skipped:
        absent = [(what, why) for what, why in found.skipped]
        sections.append(Section(title="Measures that do not apply", facts=absent))
    return sections


def write_risk(path: Path, found: MicrodataRisk, title: str) -> None:
    """Write the page."""
    write(path, "Disclosure risk", title, risk_sections(found))

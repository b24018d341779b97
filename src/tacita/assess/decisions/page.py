"""An HTML page about the stability of a network's links: the picture first, then the figures.

The page is made from a release only, so it may be released.
"""

from __future__ import annotations

from pathlib import Path

from tacita.assess.decisions.links import LinkShare, LinkStability
from tacita.report.report import Section, write

__all__ = ["stability_sections", "write_stability"]

_LEAD = (
    "Noise that protects people may hide links and make others up. The share beside a link is how often it occurs in "
    "networks learnt from tables that, given the noise, may be the true ones."
)


def stability_sections(found: LinkStability) -> list[Section]:
    """The picture, the links of the network, links that it lacks, and how it was computed."""
    sections = [
        Section(title="Network", text=_LEAD, picture=found.picture()),
        Section(title="Its links", facts=[_fact(link) for link in found.links if link.learnt]),
    ]
    if others := [_fact(link) for link in found.links if not link.learnt]:
        text = "Linked in some draws, but not in the network."
        sections.append(Section(title="Links that it lacks", text=text, facts=others))
    facts = [
        ("draws with exactly these links", f"{found.same:.0%} of {found.draws:,}"),
        ("structure search", found.search),
        ("noise", found.method),
    ]
    sections.append(Section(title="How it was computed", facts=facts, text=" ".join(found.notes)))
    return sections


def _fact(link: LinkShare) -> tuple[str, str]:
    text = f"linked in {link.linked:.0%} ({link.low:.0%} to {link.high:.0%}); this way round in {link.arrow:.0%}"
    return f"{link.parent} → {link.child}", f"{text}, compelled in {link.compelled:.0%}"


def write_stability(path: Path, found: LinkStability, title: str = "Stability of links") -> None:
    """Write the page."""
    write(
        path,
        title,
        f"{len([link for link in found.links if link.learnt])} links, {found.draws:,} draws.",
        stability_sections(found),
    )

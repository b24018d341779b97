"""An attribute while it is edited: the cells that its bins make, and the coarser groups that anonymized rows may show.

Privacy: computed from the schema alone; a draft's schema is shown to the steward who edits it.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nicegui import ui

from tacita.anonymize.hierarchies.building import HierarchySpec, build_hierarchy
from tacita.console.parts.drafting import Line
from tacita.domain import Domain
from tacita.errors import TacitaError

__all__ = ["AttributePreview", "preview_of", "show_preview"]

_SHOWN = 14
_MOST_LEAVES = 20_000


@dataclass(frozen=True, kw_only=True)
class AttributePreview:
    """Cells and coarser groups of an attribute.

    Attributes:
        cells: Labels of its cells.
        coarser: Labels of each coarser level, the finest first, without the root; empty where there is no rule.
        wrong: What is wrong with the attribute as it is; empty if nothing is.
    """

    cells: tuple[str, ...] = ()
    coarser: tuple[tuple[str, ...], ...] = ()
    wrong: str = ""


def preview_of(line: Line) -> AttributePreview:
    """The cells of an attribute as it is edited, and its coarser groups by the usual rule for its kind."""
    try:
        attribute = {key: value for key, value in line.attribute().items() if key != "derived"}
        domain = Domain.from_dict({"tacita": 1, "attributes": [attribute]})
    except TacitaError as error:
        return AttributePreview(wrong=f"{error.rule}.")
    if line.kind == "identifier":
        return AttributePreview()
    cells = tuple(domain[line.name].all_labels)
    if line.kind not in ("numeric", "date", "ordinal") or line.role != "quasi-identifier":
        return AttributePreview(cells=cells)
    try:
        made = build_hierarchy(domain, HierarchySpec(attribute=line.name))
    except TacitaError:  # no rule fits it
        return AttributePreview(cells=cells)
    if len(made.paths) > _MOST_LEAVES:
        return AttributePreview(cells=cells)
    levels = [tuple(dict.fromkeys(path[level] for path in made.paths)) for level in range(made.levels - 2, 0, -1)]
    return AttributePreview(cells=cells, coarser=tuple(levels))


def show_preview(line: Line) -> Callable[[], None]:
    """Show the preview of an attribute; what is returned shows it again."""
    room = ui.html("", sanitize=False).props("aria-live=polite")

    def again() -> None:
        room.set_content(_html(preview_of(line)))

    again()
    return again


def _html(found: AttributePreview) -> str:
    if found.wrong:
        return f'<p class="soft">{html.escape(found.wrong)}</p>'
    if not found.cells:
        return ""
    many = "1 cell" if len(found.cells) == 1 else f"{len(found.cells):,} cells"
    shown = f'<p class="soft">{many}</p>{_cells(found.cells)}'
    for place, level in enumerate(found.coarser, start=1):
        shown += f'<p class="soft">Coarser by {place}: {len(level):,} groups</p>{_cells(level)}'
    return shown


def _cells(labels: Sequence[str]) -> str:
    """The first labels and the last, side by side."""
    left = len(labels) - _SHOWN
    kept = [*labels[: _SHOWN - 1], f"… {left:,} more …", labels[-1]] if left > 1 else labels
    return f'<div class="preview-cells">{"".join(f"<span>{html.escape(each)}</span>" for each in kept)}</div>'

"""A figure that stands alone: shown by notebooks, written as an SVG file."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from tacita.common.whole import write_text
from tacita.errors import InvalidInput
from tacita.figures.style import LIGHT, RULES

__all__ = ["Picture"]

_SIZE = re.compile(r'<svg viewBox="0 0 ([\d.]+) ([\d.]+)"')
_NAME = "tacita-figure"
_REPLACED = re.compile(r' (?:xmlns|class|width|height)="[^"]*"')


def _rules() -> str:
    parts = [f".{_NAME} {{ {LIGHT} background: var(--bg); font-family: system-ui, sans-serif }}"]
    for selectors, declarations in RULES:
        scoped = ", ".join(f".{_NAME} {each.strip()}" for each in selectors.split(","))
        parts.append(f"{scoped} {{ {declarations} }}")
    return "".join(parts)


@dataclass(frozen=True)
class Picture:
    """One figure. Notebooks show it; `save` writes it.

    Attributes:
        svg: The figure as the charts of this room draw it, without a style.
    """

    svg: str = field(repr=False)

    @property
    def standalone(self) -> str:
        """The figure with its size and its style inside, on a light background."""
        size = _SIZE.match(self.svg)
        if size is None:
            raise InvalidInput("must be a figure of this room", field="svg", value=self.svg[:40])
        width, height = size.groups()
        head, closed, body = self.svg.partition(">")
        kept = _REPLACED.sub("", head.removeprefix("<svg"))
        given = f'xmlns="http://www.w3.org/2000/svg" class="{_NAME}" width="{width}" height="{height}"'
        return f"<svg {given}{kept}{closed}<style>{_rules()}</style>{body}"

    def save(self, path: str | Path) -> None:
        """Write an SVG file, which browsers, office programs and LaTeX tools read."""
        target = Path(path)
        if target.suffix.lower() != ".svg":
            raise InvalidInput("must end in .svg", field="path", value=target)
        write_text(target, self.standalone)

    def _repr_svg_(self) -> str:
        return self.standalone

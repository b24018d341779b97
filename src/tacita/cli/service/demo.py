"""`tacita demo`: the main job, end to end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from tacita.cli.parts import show

__all__ = ["demo"]


def demo(
    folder: Annotated[Path, typer.Option("--folder", "-f", help="The folder to write to.")] = Path("demo-out"),
    people: Annotated[int, typer.Option(help="Rows of the simulated census.", min=1000)] = 60_000,
    respondents: Annotated[int, typer.Option(help="Respondents who answer on a device of their own.", min=100)] = 2_000,
) -> None:
    """Simulate a census, release private statistics, collect one attribute from respondents, write a report."""
    from tacita.demo.run import run

    def progress(numbers: range, what: str) -> Iterator[int]:
        advance = show.progress(what, len(numbers))
        for number in numbers:
            advance(number)
            yield number

    found = run(
        folder,
        people=people,
        respondents=min(respondents, people),
        step=lambda text: show.say(f"[cyan]›[/] {text}"),
        track=progress,
    )
    show.say("")
    show.plan(found.plan)
    for release in found.releases.values():
        show.release(release)
    show.statistics(found.statistics)
    show.release(found.collected, title="smoking, collected with local privacy")
    show.say(f"Each respondent lost at most epsilon {found.device_loss:.4f}, as computed by the device.")
    show.balance(found.balance)
    show.say(f"The same as a page: [bold]{found.page}[/]")

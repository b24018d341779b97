"""`tacita audit`: attack a mechanism and see whether it costs what it claims."""

from __future__ import annotations

import importlib
import importlib.util
import json as json_text
import math
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from tacita.cli import show
from tacita.cli.options import Json
from tacita.errors import InvalidInput

__all__ = ["audit"]


def audit(
    function: Annotated[
        str | None,
        typer.Argument(help="A function of your own, as module:name or file.py:name; called with one input each time."),
    ] = None,
    one: Annotated[str, typer.Option(help="An input, as JSON.")] = "0",
    other: Annotated[str, typer.Option(help="Its neighbour, as JSON.")] = "1",
    epsilon: Annotated[float | None, typer.Option(help="What the function claims.")] = None,
    delta: Annotated[float, typer.Option(help="The delta of the claim.")] = 0.0,
    trials: Annotated[int, typer.Option(help="Runs on each of the two inputs.")] = 100_000,
    confidence: Annotated[float, typer.Option(help="Of the bound.")] = 0.95,
    broken: Annotated[bool, typer.Option("--broken", help="Audit the catalogue of broken mechanisms instead.")] = False,
    json: Json = False,
) -> None:
    """Audit the library, the catalogue of broken mechanisms, or a function of your own.

    Exit status 3 when something costs more than it claims (with --broken: when one is not caught).

    [dim]tacita audit mine.py:answer --one 0 --other 1 --epsilon 1[/]
    """
    from tacita.assess.audit import audit as attack
    from tacita.assess.audit import judge, repeated
    from tacita.studies.audits import audit_broken, audit_library

    rng = np.random.default_rng()
    if function is not None:
        if epsilon is None or not epsilon >= 0:
            raise InvalidInput("say what the function claims, 0 or more", field="epsilon", value=epsilon)
        found = attack(
            repeated(_load(function)),
            _input("one", one),
            _input("other", other),
            trials=trials,
            rng=rng,
            delta=delta,
            confidence=confidence,
        )
        verdicts = [judge(function, epsilon, delta=delta, audited=found)]
    elif broken:
        verdicts = list(audit_broken(trials, rng, confidence=confidence))
    else:
        verdicts = list(audit_library(trials, rng, confidence=confidence))
    if json:
        show.print_json([verdict.as_dict() for verdict in verdicts])
    else:
        rows = [
            (
                verdict.name,
                _number(verdict.claimed),
                "" if verdict.exact is None else _number(verdict.exact),
                "" if verdict.audited is None else f"{verdict.audited.epsilon:.3f}",
                verdict.word,
                verdict.why,
            )
            for verdict in verdicts
        ]
        show.grid(f"Epsilon, audited with {trials:,} trials", ("", ">claimed", ">exact", ">audited", "", ""), rows)
        show.say("Audited is a lower bound: what an attack showed. `consistent` is not a proof.")
    wrong = [verdict for verdict in verdicts if (verdict.word == "consistent") is broken]
    if wrong:
        raise typer.Exit(3)


def _number(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "infinite"


def _input(field: str, text: str) -> Any:
    try:
        found = json_text.loads(text)
    except ValueError:
        raise InvalidInput("must be JSON", field=field, value=text) from None
    return np.array(found) if isinstance(found, list) else found


def _from_file(path: Path) -> Any:
    """A module by its file, whatever else has its name."""
    spec = importlib.util.spec_from_file_location(f"audited_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError("cannot be loaded")
    sys.path.insert(0, str(path.resolve().parent))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _load(text: str) -> Any:
    """A function by its module, or by its file, and its name."""
    place, _, name = text.rpartition(":")
    if not place or not name:
        raise InvalidInput("must be module:name or file.py:name", field="function", value=text)
    try:
        module = _from_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
        found = getattr(module, name)
    except (ImportError, AttributeError, OSError) as error:
        raise InvalidInput("cannot be found", field="function", value=f"{text}: {error}") from None
    if not callable(found):
        raise InvalidInput("is no function", field="function", value=text)
    return found

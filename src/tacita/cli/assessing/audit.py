"""`tacita audit`: attack a mechanism and test its claimed epsilon."""

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

from tacita.cli.parts import show
from tacita.cli.parts.options import Json
from tacita.errors import InvalidInput
from tacita.learn.kinds import ModelKind
from tacita.privacy.budget import Budget

__all__ = ["audit"]


def audit(
    function: Annotated[
        str | None,
        typer.Argument(help="A function of your own, as module:name or file.py:name; called with one input each time."),
    ] = None,
    one: Annotated[str, typer.Option(help="An input, as JSON.")] = "0",
    other: Annotated[str, typer.Option(help="Its neighbour, as JSON.")] = "1",
    epsilon: Annotated[float | None, typer.Option(help="The epsilon that the function claims.")] = None,
    delta: Annotated[float, typer.Option(help="The delta of the claim.")] = 0.0,
    score: Annotated[
        str | None,
        typer.Option(help="A function that makes a number, or a list of numbers, of each output: file.py:name."),
    ] = None,
    model: Annotated[
        ModelKind | None,
        typer.Option(help="Audit a trained model instead: fitted often on two small tables that differ in one row."),
    ] = None,
    trials: Annotated[
        int | None, typer.Option(help="Runs on each of the two inputs; 100,000 by default, 2,000 for a model.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Confidence of the bound.")] = 0.95,
    broken: Annotated[bool, typer.Option("--broken", help="Audit the catalogue of broken mechanisms instead.")] = False,
    json: Json = False,
) -> None:
    """Audit the library, the catalogue of broken mechanisms, a trained model, or your own function.

    A function returns one output per call: a number, a list of numbers, or anything that can be compared. A breach
    comes with its reason: the low bits of floating point, support, or bias.

    Exit status 3 if a mechanism costs more than it claims (with --broken: if one is not caught).

    [dim]tacita audit mine.py:answer --one 0 --other 1 --epsilon 1[/]
    """
    from tacita.assess.audit import audit as attack
    from tacita.assess.audit import judge, repeated
    from tacita.assess.audit.library import audit_broken, audit_library

    rng = np.random.default_rng()
    if sum((function is not None, model is not None, broken)) > 1:
        raise InvalidInput("audit a function, a model or the broken ones, not several", field="function")
    if score is not None and function is None:
        raise InvalidInput("is for a function of your own", field="score", value=score)
    trials = trials if trials is not None else 100_000 if model is None else 2_000
    if (function is not None or model is not None) and (epsilon is None or not epsilon >= 0):
        raise InvalidInput("state the claimed epsilon, 0 or more", field="epsilon", value=epsilon)
    if model is not None:
        from tacita.assess.audit.models import audit_model

        budget = Budget(epsilon=epsilon, delta=delta)
        verdicts = [audit_model(model, budget, trials=trials, rng=rng, confidence=confidence)]
    elif function is not None:
        assert epsilon is not None
        scored = None if score is None else _load(score, "score")
        found = attack(
            repeated(_load(function)),
            _input("one", one),
            _input("other", other),
            trials=trials,
            rng=rng,
            delta=delta,
            confidence=confidence,
            score=None if scored is None else lambda outputs: [scored(each) for each in outputs],
            claimed=epsilon,
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
        show.say("Audited is a lower bound that an attack found. `consistent` is not a proof.")
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
    """Load a module from its file, also if another module has its name."""
    spec = importlib.util.spec_from_file_location(f"audited_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError("cannot be loaded")
    sys.path.insert(0, str(path.resolve().parent))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _load(text: str, field: str = "function") -> Any:
    """Load a function by its module, or by its file, and its name."""
    place, _, name = text.rpartition(":")
    if not place or not name:
        raise InvalidInput("must be module:name or file.py:name", field=field, value=text)
    try:
        module = _from_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
        found = getattr(module, name)
    except (ImportError, AttributeError, OSError) as error:
        raise InvalidInput("cannot be found", field=field, value=f"{text}: {error}") from None
    if not callable(found):
        raise InvalidInput("is no function", field=field, value=text)
    return found

"""Releases that are worth comparing, and the way from one that was found best to making it.

Privacy: a comparison is simulated and stays with the steward; what is made of it is asked for, and paid, in the wizard.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import yaml

from tacita.common.yaml_text import load_yaml
from tacita.errors import InvalidInput

__all__ = ["PRESETS", "WAYS", "as_text", "make_path", "of_text"]

WAYS = {
    "anonymize": "k-anonymous rows",
    "synthesize": "synthetic rows",
    "impute": "imputed rows",
    "statistics": "noisy tables",
    "collect": "local differential privacy",
}
"""Names of the methods."""

Wanted = dict[str, dict[str, Any]]

PRESETS: dict[str, tuple[str, list[Wanted]]] = {
    "mixed": (
        "One of each kind",
        [
            {"anonymize": {"k": 5}},
            {"anonymize": {"k": 20}},
            {"synthesize": {"epsilon": 0.5}},
            {"synthesize": {"epsilon": 2.0}},
            {"statistics": {"epsilon": 1.0}},
        ],
    ),
    "synthesis": (
        "Synthetic rows at several epsilons",
        [{"synthesize": {"epsilon": epsilon}} for epsilon in (0.25, 0.5, 1.0, 2.0, 4.0)],
    ),
    "anonymity": ("k-anonymity at several k", [{"anonymize": {"k": k}} for k in (3, 5, 10, 20, 50)]),
    "trust": (
        "Central and local differential privacy",
        [{"synthesize": {"epsilon": 2.0}}, {"collect": {"epsilon": 2.0}}, {"statistics": {"epsilon": 2.0}}],
    ),
}
"""Named lists to begin with."""


def as_text(releases: Sequence[Wanted]) -> str:
    """A line for each release, as in `tacita compare`: a way, and its settings."""
    return "\n".join(
        f"{way}: {yaml.safe_dump(settings, default_flow_style=True, sort_keys=False).strip()}"
        for wanted in releases
        for way, settings in wanted.items()
    )


def of_text(text: str) -> list[Wanted]:
    """Read releases from lines of text; an error names its line."""
    found = []
    for place, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            wanted = load_yaml(line, field=f"releases, line {place}")
        except InvalidInput:
            wanted = None
        if not (isinstance(wanted, Mapping) and len(wanted) == 1 and isinstance(next(iter(wanted.values())), Mapping)):
            hint = "Write a line as synthesize: {epsilon: 1} or anonymize: {k: 10}"
            raise InvalidInput("cannot be read", field=f"releases, line {place}", value=line.strip(), hint=hint)
        way, settings = next(iter(wanted.items()))
        if way not in WAYS:
            rule = f"must begin with {', '.join(WAYS)}"
            raise InvalidInput(rule, field=f"releases, line {place}", value=str(way))
        found.append({str(way): dict(settings)})
    if not found:
        raise InvalidInput("must have at least one", field="releases", hint="Choose a list to start with")
    return found


_KINDS = {"anonymize": "anonymized", "synthesize": "synthetic", "statistics": "tables"}


def make_path(dataset: str, result: Mapping[str, Any]) -> str | None:
    """Path of the form that makes a compared release; None if the console has none.

    Args:
        dataset: What it was made of.
        result: One of a comparison's.
    """
    way = result["way"]
    asked: dict[str, Any] = {"dataset": dataset}
    if way in _KINDS:
        asked["kind"] = _KINDS[way]
    if result.get("epsilon") is not None:
        asked["epsilon"] = f"{result['epsilon']:g}"
    if result.get("delta"):
        asked["delta"] = f"{result['delta']:g}"
    if way == "anonymize" and (k := re.search(r"\bk (\d+)\b", result["name"])):  # its name says its settings
        asked["k"] = k[1]
    if way == "collect":
        return f"/campaigns/new?{urlencode(asked)}"
    return f"/releases/new?{urlencode(asked)}" if way in _KINDS else None

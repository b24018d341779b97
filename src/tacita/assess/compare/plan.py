"""Plan of a comparison, read from a YAML file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacita import check
from tacita.assess.assessment import LEAST_GUESSES, AssessmentOptions
from tacita.assess.attacks.registry import select
from tacita.assess.compare.makers import ReleaseSpec
from tacita.assess.compare.trials import look_sizes
from tacita.assess.rates import Rate
from tacita.assess.scenario import Scenario
from tacita.common.yaml_text import load_yaml
from tacita.errors import InvalidInput

__all__ = ["MOST_TRIALS", "ComparePlan"]

MOST_TRIALS = 1000
"""Largest maximum of trials that a plan may state."""

_KEYS = {
    "data",
    "schema",
    "control",
    "attributes",
    "quasi",
    "sensitive",
    "target",
    "group",
    "attacks",
    "attempts",
    "seed",
    "scenario",
    "releases",
    "most_risk",
    "most_trials",
    "indifference",
}


@dataclass(frozen=True, kw_only=True)
class ComparePlan:
    """A dataset, requirements on its releases, and the releases.

    Attributes:
        data, schema: Paths, relative to the plan's file.
        control: The share of rows that is held back: no release uses them, and attacks are measured against them.
        attributes: Attributes that are released; by default all that can be counted.
        quasi: Quasi-identifiers, for k-anonymity; by default all attributes but the sensitive ones.
        sensitive: Sensitive attributes.
        releases: The releases to compare.
        attacks: Names of the attacks to run on each release; by default all that apply.
        attempts: Guesses of each attack on each release; `trials` states their precision.
        most_risk: The largest risk of a recommended release.
        most_trials: The most trials, each with a new split and new noise; the figures decide how many are needed. With
            1 each release is made once.
        indifference: A difference of what is kept, or of risk, that does not matter.
    """

    data: Path
    schema: Path
    releases: tuple[ReleaseSpec, ...]
    control: float = 0.3
    attributes: tuple[str, ...] = ()
    quasi: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    target: str | None = None
    group: str | None = None
    attacks: tuple[str, ...] = ()
    attempts: int = 4000
    seed: int = 0
    scenario: Scenario | None = None
    most_risk: float = 0.1
    most_trials: int = 24
    indifference: float = 0.02
    options: AssessmentOptions = field(init=False)

    def __post_init__(self) -> None:
        if not 0 < self.control < 1:
            raise InvalidInput(
                "must be between 0 and 1: without unused people, leaks cannot be distinguished from guesses",
                field="control",
                value=self.control,
            )
        if not self.releases:
            raise InvalidInput("must be at least one", field="releases")
        if not 0 < self.most_risk <= 1:
            raise InvalidInput("must be above 0 and at most 1", field="most_risk", value=self.most_risk)
        if type(self.attempts) is not int or self.attempts < LEAST_GUESSES:
            raise InvalidInput(
                f"must be a whole number of at least {LEAST_GUESSES}: fewer guesses cannot rank releases",
                field="attempts",
                value=self.attempts,
            )
        check.whole(self.most_trials, "most_trials", least=1, most=MOST_TRIALS)
        if not 0 < self.indifference < 1:
            raise InvalidInput("must be between 0 and 1", field="indifference", value=self.indifference)
        select(self.attacks)
        names = [each.name for each in self.releases]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InvalidInput("is there twice: give it a name", field="releases", value=twice)
        options = AssessmentOptions(
            attempts=self.attempts,
            secrets=self.sensitive,
            target=self.target,
            group=self.group,
            scenario=self.scenario,
            attacks=self.attacks,
        )
        object.__setattr__(self, "options", options)

    @property
    def trials(self) -> str:
        """Number of trials and of guesses, with their precision, in words; to be shown before anything runs."""
        low, high = Rate(successes=self.attempts // 2, trials=self.attempts).interval()
        if self.most_trials == 1:
            times = "One trial: each release is made once, and releases whose intervals of risk overlap tie."
        else:
            looks = ", ".join(map(str, look_sizes(self.most_trials)))
            times = (
                f"Up to {self.most_trials} trials, looked at after {looks}: each has a new split of the rows and new "
                "noise, the same for all releases. Intervals hold with 95 % "
                f"confidence for all releases, pairs and looks together; differences below {self.indifference:g} do "
                "not matter."
            )
        return (
            f"{times} {self.attempts:,} guesses of each attack on each release: an attack's success in a trial is "
            f"known to within {(high - low) / 2:.3f}. An attack that can make fewer than {LEAST_GUESSES} guesses does "
            "not rank."
        )

    @classmethod
    def from_dict(cls, data: Any, folder: Path = Path()) -> ComparePlan:
        """Build a plan from parsed YAML."""
        if not isinstance(data, Mapping) or set(data) - _KEYS or not {"data", "schema", "releases"} <= set(data):
            strange = ", ".join(sorted(map(str, set(data) - _KEYS))) if isinstance(data, Mapping) else data
            rule = f"needs data, schema and releases, and may hold {', '.join(sorted(_KEYS))}"
            raise InvalidInput(rule, field="plan", value=strange or None)
        if not isinstance(data["releases"], list):
            raise InvalidInput("must be a list", field="releases", value=data["releases"])
        given = dict(data)
        scenario = given.pop("scenario", None)
        lists: dict[str, Any] = {
            name: _names(name, given.pop(name, ())) for name in ("attributes", "quasi", "sensitive", "attacks")
        }
        return cls(
            data=folder / str(given.pop("data")),
            schema=folder / str(given.pop("schema")),
            releases=tuple(_wanted(each) for each in given.pop("releases")),
            scenario=None if scenario is None else Scenario.from_dict(scenario),
            **lists,
            **{name: _plain(name, value) for name, value in given.items()},
        )

    @classmethod
    def read(cls, path: str | Path) -> ComparePlan:
        """Read a plan from a file."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise InvalidInput("cannot be read as YAML", field="plan", value=path) from None
        return cls.from_dict(load_yaml(text, field="plan"), Path(path).parent)


def _names(field_name: str, given: Any) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, list | tuple):
        raise InvalidInput("must be a list of names", field=field_name, value=given)
    return tuple(str(name) for name in given)


def _plain(name: str, value: Any) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if name in ("control", "most_risk", "indifference") and number:
        return float(value)
    if name in ("target", "group") and isinstance(value, str):
        return value
    if name in ("attempts", "seed", "most_trials") and type(value) is int:
        return value
    raise InvalidInput("is of the wrong kind", field=name, value=value)


def _wanted(given: Any) -> ReleaseSpec:
    """Read one release such as `{synthesize: {epsilon: 1}}`, with an optional name."""
    if not isinstance(given, Mapping):
        raise InvalidInput("must be a way with its settings, as in {synthesize: {epsilon: 1}}", field="releases")
    ways = [key for key in given if key != "name"]
    if len(ways) != 1 or not isinstance(given[ways[0]] or {}, Mapping):
        raise InvalidInput("must be one way with its settings", field="releases", value=", ".join(map(str, given)))
    return ReleaseSpec(way=str(ways[0]), settings=dict(given[ways[0]] or {}), name=str(given.get("name", "")))

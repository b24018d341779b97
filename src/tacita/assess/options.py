"""Options of an assessment, with defaults that follow from the schema."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tacita.assess.case import Case
from tacita.assess.scenario import Scenario
from tacita.assess.utility.estimates import CombiningKind
from tacita.errors import InvalidInput

__all__ = ["AssessmentOptions"]

_LEAST = 50


@dataclass(frozen=True, kw_only=True)
class AssessmentOptions:
    """Options of an assessment; all defaults follow from the schema.

    Attributes:
        attempts: Trials of each attack.
        secrets: Attributes that an intruder tries to infer; by default the sensitive ones, or the last attribute.
        linked: Two disjoint sets of known attributes, for linking; by default two halves of the other attributes.
        target: The attribute that classifiers predict; by default the first secret.
        group: An attribute whose levels are compared for fairness.
        number: An ordered attribute for a regression; by default the first one.
        scenario: An intruder scenario, for releases whose rows belong to people.
        kind: How several releases are combined.
        attacks: Names of the attacks to run, as in `attacks.registry`; by default all that apply.
        measures: Keys of the utility measures to compute, as in `utility.registry`; by default all.
    """

    attempts: int = 1000
    secrets: tuple[str, ...] = ()
    linked: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    target: str | None = None
    group: str | None = None
    number: str | None = None
    scenario: Scenario | None = None
    kind: CombiningKind = "plain"
    attacks: tuple[str, ...] = ()
    measures: tuple[str, ...] | None = None

    def settled(self, case: Case) -> AssessmentOptions:
        """Fill in all defaults; refuse options that do not fit the case."""
        names = case.names
        if type(self.attempts) is not int or self.attempts < _LEAST:
            raise InvalidInput(f"must be a whole number of at least {_LEAST}", field="attempts", value=self.attempts)
        if self.scenario is not None:
            self.scenario.check(case.domain)
        for field_name in ("secrets", "target", "group", "number"):
            given = getattr(self, field_name)
            for name in given if isinstance(given, tuple) else [given] if given else []:
                if name not in names:
                    raise InvalidInput(
                        f"must be among {', '.join(names)}", field=field_name, value=name, hint="Is it in the release?"
                    )
        roles = tuple(each.name for each in case.domain.attributes if each.role == "sensitive")
        secrets = self.secrets or roles or names[-1:]
        others = [name for name in names if name not in secrets] or list(names)
        half = (len(others) + 1) // 2
        halves = (tuple(others[:half]), tuple(others[half:]))
        ordered = [name for name, line in zip(names, case.real.ordered, strict=True) if line]
        return replace(
            self,
            secrets=secrets,
            linked=self.linked or (halves if all(halves) else None),
            target=self.target or secrets[0],
            number=self.number or (ordered[0] if ordered else None),
        )

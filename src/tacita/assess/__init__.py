"""Disclosure risk and utility of a release: attacks, utility measures, and an auditor of mechanisms.

Everything here reads real rows and is meant for their owner. The results may be sensitive themselves, and say so.
"""

from typing import Any

from tacita.common.lazy import load_name

_ROOMS = ("attacks", "audit", "compare", "decisions", "risk", "utility")
_HOMES = {
    "Assessment": "assessment",
    "AssessmentOptions": "options",
    "ComparePlan": "compare.plan",
    "Comparison": "compare.comparison",
    "Disclosure": "disclosure",
    "MicrodataRisk": "risk.microdata",
    "RiskOptions": "risk.measure",
    "Scenario": "scenario",
    "assess": "assessment",
    "audit_library": "audit.library",
    "audit_model": "audit.models",
    "design_flip": "decisions.flip",
    "disclosure_risk": "disclosure",
    "link_stability": "decisions.links",
    "microdata_risk": "risk.microdata",
    "posterior_flip": "decisions.flip",
    "private_test": "decisions.private_test",
    "read_sample": "risk.sample",
}

__all__ = sorted([*_HOMES, *_ROOMS])


def __getattr__(name: str) -> Any:
    return load_name(__name__, _HOMES, name, _ROOMS)


def __dir__() -> list[str]:
    return sorted(__all__)

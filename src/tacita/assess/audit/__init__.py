"""The auditor: what a mechanism claims, what it is where that can be worked out, and what an attack shows it to be."""

from tacita.assess.audit.attack import Audited, audit, repeated
from tacita.assess.audit.exact import exact_delta, exact_epsilon, matrix_epsilon
from tacita.assess.audit.reason import Reason
from tacita.assess.audit.verdict import Verdict, judge

__all__ = [
    "Audited",
    "Reason",
    "Verdict",
    "audit",
    "exact_delta",
    "exact_epsilon",
    "judge",
    "matrix_epsilon",
    "repeated",
]

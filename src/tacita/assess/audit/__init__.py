"""The auditor: a mechanism's claimed epsilon, its exact one where it can be computed, and a lower bound by attack."""

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

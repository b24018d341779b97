"""All kinds of release. A new kind is one file, and one line here; routes, jobs and clients read this table."""

from __future__ import annotations

from typing import Any

from tacita.recipes.registry import RECIPES
from tacita.server.jobs.jobs import register
from tacita.server.releasing.anonymized import ANONYMIZED
from tacita.server.releasing.documents import document_kind
from tacita.server.releasing.federated import FEDERATED
from tacita.server.releasing.functions import FUNCTION, MODEL
from tacita.server.releasing.headlines import HEADLINES
from tacita.server.releasing.imputed import IMPUTED
from tacita.server.releasing.kind import ReleaseKind
from tacita.server.releasing.logs import EVENTS, SETS
from tacita.server.releasing.masked import MASKED
from tacita.server.releasing.mobility import MOBILITY
from tacita.server.releasing.suppressed import SUPPRESSED
from tacita.server.releasing.synthetic import SYNTHETIC

__all__ = ["KINDS", "kind_of_job"]

_ALL: tuple[ReleaseKind[Any], ...] = (
    ANONYMIZED,
    MASKED,
    SYNTHETIC,
    IMPUTED,
    EVENTS,
    SETS,
    SUPPRESSED,
    FEDERATED,
    MOBILITY,
    HEADLINES,
    FUNCTION,
    MODEL,
    *(document_kind(recipe) for recipe in RECIPES.values()),
)
KINDS = {kind.name: kind for kind in _ALL}
_BY_JOB = {kind.job: kind for kind in KINDS.values()}


def kind_of_job(job: str) -> ReleaseKind[Any] | None:
    """Return the kind of release that jobs of this kind make; None if they make none."""
    return _BY_JOB.get(job)


for _kind in KINDS.values():
    register(_kind.job)(_kind.run)

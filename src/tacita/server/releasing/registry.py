"""All kinds of release. A new kind is one file, and one line here; routes, jobs and clients read this table."""

from __future__ import annotations

from typing import Any

from tacita.server.jobs.jobs import register
from tacita.server.releasing.anonymized import ANONYMIZED
from tacita.server.releasing.federated import FEDERATED
from tacita.server.releasing.functions import FUNCTION, MODEL
from tacita.server.releasing.kind import ReleaseKind
from tacita.server.releasing.synthetic import SYNTHETIC

__all__ = ["KINDS"]

KINDS: dict[str, ReleaseKind[Any]] = {
    kind.name: kind
    for kind in (
        ANONYMIZED,
        SYNTHETIC,
        FEDERATED,
        FUNCTION,
        MODEL,
    )
}

for _kind in KINDS.values():
    register(_kind.job)(_kind.run)

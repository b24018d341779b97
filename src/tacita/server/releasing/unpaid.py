"""Statements on releases that no account pays for: they claim no differential privacy."""

from __future__ import annotations

import json

from tacita.privacy.event import NonPrivate
from tacita.report.signing import SigningKey
from tacita.report.statement import Statement, state
from tacita.server.jobs.jobs import Job
from tacita.server.releasing.files import rows_of
from tacita.server.services import Services
from tacita.tables.release import Provenance

__all__ = ["state_unpaid"]


def state_unpaid(services: Services, job: Job, reason: str, provenance: Provenance | None = None) -> Statement:
    """Make a signed statement with the digest of the released rows.

    Args:
        services: The service that made the release.
        job: The job that made it.
        reason: Why the release has no differential privacy.
        provenance: Where the rows come from; read from the result of the job if not given.
    """
    dataset = services.datasets.get(str(job.request["dataset"]))
    return state(
        event=NonPrivate(reason=reason),
        unit=dataset.account.unit,
        neighbours=dataset.account.neighbours,
        provenance=provenance or Provenance(**json.loads(job.result or "{}")["provenance"]),
        files={"rows.parquet": rows_of(services, job.id)},
        key=SigningKey.of(services.settings.home),
    )

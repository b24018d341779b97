"""`tacita worker`: a worker alone."""

from __future__ import annotations

from tacita.cli.parts import show
from tacita.common.extras import needs_extra
from tacita.settings import Settings

__all__ = ["worker"]


def worker() -> None:
    """Do the long jobs of a service, without a server beside it; any number may run, on any host.

    Settings: docs/reference/settings.md. SIGTERM hands running jobs back to other workers at once.

    [dim]TACITA_STATE=postgresql://tacita@db/tacita_state tacita worker[/]
    """
    with needs_extra("server", "the service"):
        from tacita.server.jobs.worker import run_worker

    settings = Settings.load()
    show.say("Tacita does the jobs of the service  (stop: Ctrl-C)")
    run_worker(settings)

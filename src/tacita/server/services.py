"""Services of a server or a worker process: one of each, made from the settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from tacita.collect.campaigns import Campaign, Campaigns
from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.engines.consent import ConsentedEngine
from tacita.learn.functions.registry import Registry
from tacita.learn.functions.sealing import Seal
from tacita.learn.functions.service import FunctionService
from tacita.noise import SecureSource
from tacita.privacy.ledger import Ledger
from tacita.report.release_log import ReleaseLog, StoredReleaseLog
from tacita.server.auth.limits import RateLimiter
from tacita.server.auth.refused_tokens import RefusedTokens
from tacita.server.auth.tokens import Tokens
from tacita.server.commits import GroupCommit
from tacita.server.data.datasets import Dataset, Datasets
from tacita.server.data.policies import Policies
from tacita.server.data.sources import ReadingLimits, Sources
from tacita.server.events import Events
from tacita.server.http.metrics import Metrics
from tacita.server.http.shared_reads import SharedReads
from tacita.server.jobs.computing import ComputePool
from tacita.settings import Settings
from tacita.store import Database, private_folder

if TYPE_CHECKING:
    from tacita.server.jobs.jobs import Jobs

__all__ = ["EngineFor", "Services"]

PAGE_THREADS = 4
"""Threads of the respondent's page and of intake, which no other request takes."""

EngineFor = Callable[[Dataset], Engine]


@dataclass(frozen=True, kw_only=True)
class Services:
    """The parts that routes and jobs are made of."""

    settings: Settings
    database: Database
    ledger: Ledger
    events: Events
    tokens: Tokens
    refused_tokens: RefusedTokens
    reading: ReadingLimits
    sources: Sources
    datasets: Datasets
    policies: Policies
    release_log: ReleaseLog
    campaigns: Campaigns
    commits: GroupCommit
    shared_reads: SharedReads[Campaign]
    jobs: Jobs
    metrics: Metrics
    limiter: RateLimiter
    randomness: SecureSource
    functions: FunctionService
    computing: ComputePool
    page_threads: anyio.CapacityLimiter
    engine_for: EngineFor

    @classmethod
    def open(cls, settings: Settings, *, engine_for: EngineFor | None = None) -> Services:
        """Open the state and make all parts.

        Args:
            settings: What to open.
            engine_for: Where the data of a dataset is; the settings' named source by default.
        """
        from tacita.server.jobs.jobs import Jobs

        private_folder(settings.home)
        database = Database(settings.state_url, witness=settings.witness_folder)
        events = Events(database)
        limits = ReadingLimits(
            max_unrolling=settings.max_unrolling,
            max_reader_bytes=settings.max_reader_bytes,
            database_seconds=settings.database_seconds,
        )
        sources = Sources(settings.sources, settings.home / "sources", limits=limits)
        datasets = Datasets(database, sources, limits=limits)
        campaigns = Campaigns(database, reports_a_minute=settings.anonymous_rate_limit or None)
        randomness = SecureSource()
        page_threads = anyio.CapacityLimiter(PAGE_THREADS)
        key = settings.models_key
        seal = Seal(None if key is None else key.get_secret_value())
        return cls(
            settings=settings,
            database=database,
            ledger=Ledger(database),
            events=events,
            tokens=Tokens(database),
            refused_tokens=RefusedTokens(events),
            reading=limits,
            sources=sources,
            datasets=datasets,
            policies=Policies(database),
            release_log=StoredReleaseLog(database),
            campaigns=campaigns,
            commits=GroupCommit(campaigns.accept_all),
            shared_reads=SharedReads(campaigns.advance, threads=page_threads),
            jobs=Jobs(
                database,
                queue_file=settings.queue_file,
                stale_seconds=settings.job_stale_seconds,
                most_attempts=settings.job_attempts,
            ),
            metrics=Metrics(database),
            limiter=RateLimiter(),
            randomness=randomness,
            functions=FunctionService(Registry(database, seal), randomness),
            computing=ComputePool(processes=settings.compute_processes, seconds=settings.compute_seconds),
            page_threads=page_threads,
            engine_for=engine_for or datasets.engine,
        )

    @property
    def folders(self) -> tuple[Path, ...]:
        """Folders that state and files are written to."""
        file = self.database.file
        return (self.settings.home, *(() if file is None else (file.parent,)))

    def engine(self, dataset: Dataset, purpose: str, domain: Domain | None = None) -> Engine:
        """Return the engine of a dataset; where it has consents, only for the people who consented to the purpose.

        Args:
            dataset: Whose data.
            purpose: What it is used for.
            domain: Another schema to read it with, such as one with other bins.
        """
        engine = self.engine_for(dataset) if domain is None else self.datasets.open_engine(dataset.source, domain)
        consent = self.datasets.consent(dataset)
        return engine if consent is None else ConsentedEngine(engine, consent, purpose)

    def close(self) -> None:
        """Give back what was opened."""
        self.refused_tokens.close()
        self.jobs.close()
        self.database.close()

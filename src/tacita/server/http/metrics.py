"""Prometheus counters: how much is asked and refused, never of what. No label names a dataset or a value."""

from __future__ import annotations

import sqlalchemy as sa
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from tacita.errors import SourceUnavailable
from tacita.store import Database
from tacita.store.schema import charges

__all__ = ["Metrics"]

_STATES = ("reserved", "settled", "failed")


class Metrics:
    """The counters of one process; charges are read from the ledger, since workers make them too."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.registry = CollectorRegistry()
        by_route = ("method", "route", "status")
        self.requests = Counter("tacita_requests", "Requests answered.", by_route, registry=self.registry)
        self.seconds = Histogram(
            "tacita_request_seconds", "Time to answer.", ("method", "route"), registry=self.registry
        )
        self._answered: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self.refusals = Counter("tacita_refusals", "Problems by code.", ("code",), registry=self.registry)
        self.reports = Counter("tacita_reports_accepted", "Reports counted.", registry=self.registry)
        self.predicting = Histogram(
            "tacita_predict_seconds",
            "Time to answer a batch of points, by the form of the function.",
            ("form",),
            registry=self.registry,
        )
        self.predicted = Counter("tacita_points_predicted", "Points answered.", ("form",), registry=self.registry)
        self.charges = Gauge("tacita_charges", "Charges in the ledger.", ("state",), registry=self.registry)

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request and its time."""
        found = self._answered.get((method, route, status))
        if found is None:  # looking them up by their labels takes longer than counting
            counter = self.requests.labels(method, route, str(status))
            found = self._answered[method, route, status] = (counter, self.seconds.labels(method, route))
        counter, histogram = found
        counter.inc()
        histogram.observe(seconds)

    def text(self) -> bytes:
        """All counters in the Prometheus text format."""
        try:
            self._read_charges()
        except SourceUnavailable:
            self.charges.clear()  # no number rather than an old one; /readyz says why
        return generate_latest(self.registry)

    def _read_charges(self) -> None:
        query = sa.select(charges.c.state, sa.func.count()).group_by(charges.c.state)
        with self._database.reading() as connection:
            found = {state: int(count) for state, count in connection.execute(query)}
        for state in _STATES:
            self.charges.labels(state).set(found.get(state, 0))

"""Figures for Prometheus. No label holds anything of a row, and there is one for each model, not for each client."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from onkel.serve.engine import Engine
from onkel.state import nbytes

RECENT = 500  # requests of a route
SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)


class Telemetry:
    def __init__(self, engine: Engine) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter("onkel_requests", "Requests answered", ["route", "status"], registry=self.registry)
        self._seconds = Histogram(
            "onkel_request_seconds", "Time from the request to its reply", ["route"], buckets=SECONDS, registry=self.registry
        )
        self._predicted = Counter("onkel_rows_predicted", "Rows predicted", registry=self.registry)
        self.registry.register(_OfModels(engine))

        self._recent: dict[str, deque[float]] = {}

    def request(self, route: str, status: int, seconds: float) -> None:
        self._recent.setdefault(route, deque(maxlen=RECENT)).append(seconds)
        self._requests.labels(route, status).inc()
        self._seconds.labels(route).observe(seconds)

    def predicted(self, rows: int) -> None:
        self._predicted.inc(rows)

    def latency(self) -> dict[str, dict[str, float]]:
        """Median and 99th percentile of the seconds that the last requests took, by route."""
        found = {}
        for route, seconds in self._recent.items():
            ordered = sorted(seconds)
            found[route] = {"median": ordered[len(ordered) // 2], "p99": ordered[(99 * (len(ordered) - 1)) // 100]}
        return found


class _OfModels(Collector):
    """What is known of the models at the moment at which they are asked for."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def collect(self) -> Iterator[GaugeMetricFamily]:
        rows = GaugeMetricFamily("onkel_rows_learnt", "Rows learnt", labels=["model"])
        size = GaugeMetricFamily("onkel_state_bytes", "Bytes of the model's state", labels=["model"])
        log = GaugeMetricFamily("onkel_log_bytes", "Bytes of the model's log", labels=["model"])
        late = GaugeMetricFamily("onkel_rows_too_late", "Rows whose labels had not come when they were forgotten", labels=["model"])
        for name, served in list(self.engine.models.items()):
            rows.add_metric([name], served.version.rows)
            size.add_metric([name], 0 if served.version.evaluation is None else nbytes(served.version.evaluation.state))
            log.add_metric([name], served.log_bytes)
            late.add_metric([name], served.too_late)
        queued = GaugeMetricFamily("onkel_rows_queued", "Rows that wait to be learnt", value=self.engine.queued)
        yield from (rows, size, log, late, queued)

"""Prometheus metrics of the server. No text and no name of a client is ever a label."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from eirene.core.usage import Usage

_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600)


class Metrics:
    """Counters of one server; each has a registry of its own."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        of_request = ("path", "status")
        self._requests = Counter("eirene_requests", "Requests by path and status.", of_request, registry=self._registry)
        self._outcomes = Counter("eirene_outcomes", "Replies by outcome.", ("status", "mode"), registry=self._registry)
        self._seconds = Histogram(
            "eirene_request_seconds", "Seconds to the last byte.", ("path",), buckets=_BUCKETS, registry=self._registry
        )
        self._tokens = Counter(
            "eirene_tokens", "Tokens of drafts and loop together.", ("direction",), registry=self._registry
        )
        self._calls = Counter("eirene_model_calls", "Calls of models, retries included.", registry=self._registry)
        self.in_flight = Gauge("eirene_in_flight", "Chats under way.", registry=self._registry)
        self.waiting = Gauge("eirene_waiting", "Chats in the queue.", registry=self._registry)

    def request(self, path: str, status: int, seconds: float) -> None:
        """Counts a request that has been answered."""
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def outcome(self, status: str, mode: str) -> None:
        """Counts a reply."""
        self._outcomes.labels(status, mode).inc()

    def spent(self, usage: Usage) -> None:
        """Counts tokens and calls."""
        self._tokens.labels("input").inc(usage.input_tokens)
        self._tokens.labels("output").inc(usage.output_tokens)
        self._calls.inc(usage.calls)

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self._registry)

"""Metrics for Prometheus. Public values only: nothing that counts edges, rows or posts."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from psgraph._version import __version__
from psgraph.service.permissions import Identity

if TYPE_CHECKING:
    from psgraph.service.service import Service

__all__ = ["RequestCounts", "metrics_text"]


class RequestCounts:
    """Counts the requests of routes whose number says nothing about private data."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, int]] = Counter()
        self._lock = threading.Lock()
        self.started = time.time()

    def add(self, method: str, route: str, status: int) -> None:
        """Count one request."""
        with self._lock:
            self._counts[method, route, status] += 1

    def items(self) -> list[tuple[tuple[str, str, int], int]]:
        """Return the counts, in a fixed order."""
        with self._lock:
            return sorted(self._counts.items())


def metrics_text(service: Service, identity: Identity) -> str:
    """Return the metrics that a caller may see, in the text format of Prometheus."""
    lines = list(_general(service))
    if identity.may("oversee"):
        lines += _streams(service, identity)
    return "\n".join(lines) + "\n"


def _general(service: Service) -> Iterator[str]:
    yield "# HELP psgraph_info The version of psgraph."
    yield "# TYPE psgraph_info gauge"
    yield f'psgraph_info{{version="{__version__}"}} 1'
    yield "# HELP psgraph_up Whether requests are accepted and the worker runs."
    yield "# TYPE psgraph_up gauge"
    yield f"psgraph_up {int(service.status == 'ok')}"
    yield "# HELP psgraph_start_time_seconds When the service was started, since 1970."
    yield "# TYPE psgraph_start_time_seconds gauge"
    yield f"psgraph_start_time_seconds {service.counts.started:.0f}"
    yield "# HELP psgraph_requests_total Requests by route; posts of data are not counted."
    yield "# TYPE psgraph_requests_total counter"
    for (method, route, status), number in service.counts.items():
        labels = f'method="{method}",route="{route}",status="{status}"'
        yield f"psgraph_requests_total{{{labels}}} {number}"


def _streams(service: Service, identity: Identity) -> Iterator[str]:
    streams = service.streams.seen_by(identity)
    for name, words, value in (
        ("released_timestamps", "Released timestamps.", lambda view: view.released),
        ("window_epsilon", "The guarantee: ε of a window.", lambda view: _number(view.epsilon)),
        ("window_spent", "Spent in the current window.", lambda view: _number(view.spent)),
        ("healthy", "1 unless publishing is blocked.", lambda view: int(view.health != "blocked")),
    ):
        from psgraph.service.views import stream_view

        yield f"# HELP psgraph_stream_{name} {words}"
        yield f"# TYPE psgraph_stream_{name} gauge"
        for stream in streams:
            view = stream_view(service, stream)
            yield f'psgraph_stream_{name}{{stream="{stream.name}"}} {value(view)}'


def _number(exact: str) -> float:
    from psgraph.privacy.guarantee import exact_fraction

    return float(exact_fraction(exact))

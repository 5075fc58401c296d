"""Structured logs: one line of JSON for each event, on standard error.

A line holds public values: names of streams and routes, timestamps, status codes. It never holds
a query string, a body, a token, an address, or the text of an unexpected error.
"""

from __future__ import annotations

import json
import sys
import threading

from psgraph.service.clock import now_text

__all__ = ["log"]

_LOCK = threading.Lock()


def log(event: str, **facts: str | float | None) -> None:
    """Write one line."""
    line = json.dumps({"at": now_text(), "event": event, **facts}, ensure_ascii=False)
    with _LOCK:
        print(line, file=sys.stderr, flush=True)

"""Rate limits: a bucket per caller that fills at a constant rate."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict

__all__ = ["RateLimit"]

_MOST_CALLERS = 100_000


class RateLimit:
    """Allows `rate` requests per second to each caller, and `burst` at once.

    >>> limit = RateLimit(rate=0.001, burst=2)
    >>> [limit.wait("ann") for _ in range(2)], limit.wait("ann") > 0, limit.wait("bob")
    ([0.0, 0.0], True, 0.0)
    """

    def __init__(self, *, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, float(burst)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, caller: str, *, cost: float = 1.0) -> float:
        """Take from a caller's bucket; return 0, or the seconds until that is possible.

        With a cost of 0 nothing is taken: whether the bucket is empty.
        """
        with self._lock:
            present = time.monotonic()
            level, at = self._buckets.pop(caller, (self._burst, present))
            level = min(self._burst, level + (present - at) * self._rate)
            needed = max(cost, 1.0) - level
            self._buckets[caller] = (level - (cost if needed <= 0 else 0.0), present)
            if len(self._buckets) > _MOST_CALLERS:
                self._buckets.popitem(last=False)
            return 0.0 if needed <= 0 else needed / self._rate

"""The engine for one machine: NumPy and numba, part by part on all cores."""

from __future__ import annotations

from psgraph.engines.parallel import thread_count
from psgraph.engines.private import Private
from psgraph.engines.released import Released
from psgraph.engines.threads import ThreadRunner

__all__ = ["LocalEngine"]


class LocalEngine(Private, Released):
    """Edge-sized work on this machine: parts are read and counted by all cores.

    See `psgraph.engines.base.Engine`.

    Parameters
    ----------
    threads
        How many threads read and count parts; one per core unless given.
    """

    def __init__(self, *, threads: int | None = None) -> None:
        self.threads = thread_count() if threads is None else threads
        super().__init__(ThreadRunner(threads=self.threads))

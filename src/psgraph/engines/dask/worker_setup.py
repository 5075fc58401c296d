"""Runs in every worker process of the local cluster when it starts (a preload module of Dask)."""

from __future__ import annotations

import signal

__all__ = ["dask_setup"]


def dask_setup(worker: object) -> None:  # noqa: ARG001
    """Ignore the signals that ask the driver to stop.

    Ctrl-C and many service managers send them to all processes of a command. The driver decides
    whether to finish the timestamp in progress, for which it needs its workers, and stops them
    itself. A worker whose driver is killed exits at once: Dask watches a pipe for that.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)

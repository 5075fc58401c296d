"""Connecting to a cluster: one of this machine's processes, or one that runs already."""

from __future__ import annotations

import gc
import hashlib
import logging
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from psgraph._runtime.extras import require_dask
from psgraph._runtime.loopback import is_loopback
from psgraph._runtime.resources import scratch_directory
from psgraph.engines.dask import tasks
from psgraph.engines.parallel import thread_count
from psgraph.errors import EngineError, PsgraphError

if TYPE_CHECKING:
    from distributed import Client

__all__ = [
    "CONNECT_SECONDS",
    "UnencryptedCluster",
    "check_access",
    "connect",
    "local_cluster",
    "translated",
    "unencrypted",
]

CONNECT_SECONDS = 10.0


@contextmanager
def local_cluster(workers: int | None, threads: int) -> Iterator[Client]:
    """Start worker processes on this machine, as many as cores unless given.

    They listen on the loopback interface, and only who has the keys of this run can connect:
    other users of the machine can't. Temporary files are private and removed at the end.
    """
    require_dask()
    import dask
    from distributed import Client, LocalCluster, Security

    with ExitStack() as stack:
        place = stack.enter_context(scratch_directory())
        stack.enter_context(dask.config.set({**_QUIET, "temporary-directory": str(place)}))
        cluster = LocalCluster(
            n_workers=workers or max(1, thread_count() // threads),
            threads_per_worker=threads,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            security=Security.temporary(),
            silence_logs=logging.CRITICAL,
            local_directory=str(place),
            preload=[tasks.__name__],
        )
        stack.callback(_close, cluster)
        client = stack.enter_context(Client(cluster, direct_to_workers=True, set_as_default=False))
        _check_workers(client)
        yield client


@contextmanager
def connect(address: str, seconds: float | None = None) -> Iterator[Client]:
    """Connect to a scheduler, and check that its workers run the same code as this process."""
    require_dask()
    import dask
    from distributed import Client

    seconds = CONNECT_SECONDS if seconds is None else seconds
    with dask.config.set(_QUIET):
        client = failure = None
        try:
            client = Client(address, timeout=seconds, set_as_default=False)
        except (
            OSError,
            TimeoutError,
            ValueError,
            TypeError,
            RuntimeError,
            AssertionError,
        ) as error:
            failure = type(error).__name__  # the error itself would keep the half-open client
        if client is None:
            # It closes when it is collected. Dask hangs if that happens while it starts another.
            gc.collect()
            raise EngineError(
                f"no Dask scheduler answers at {address!r} ({failure})\n"
                "Give --scheduler the address it printed when it was started, for example "
                "tls://host:8786, or leave the option out to use processes of this machine."
            )
        with client:
            try:
                client.wait_for_workers(1, timeout=seconds)
            except TimeoutError:
                raise EngineError(
                    f"the scheduler at {address!r} has no workers\n"
                    "Start some: dask worker ADDRESS, with psgraph installed."
                ) from None
            workers = _check_workers(client)
            if exposed := unencrypted([address, *workers]):
                warnings.warn(
                    f"Private edges are sent to {exposed[0]} unencrypted: whoever can read the "
                    "network sees them. Start the scheduler and its workers with TLS "
                    "(tls://HOST:PORT).",
                    UnencryptedCluster,
                    stacklevel=5,  # where the engine is made
                )
            yield client


class UnencryptedCluster(UserWarning):
    """Private edges are sent over a network without encryption."""


def unencrypted(addresses: Iterable[str]) -> list[str]:
    """Return the addresses of a cluster that data reach over a network without encryption.

    >>> unencrypted(["tls://host:8786", "tcp://127.0.0.1:8786", "tcp://host:8786", "host:8786"])
    ['tcp://host:8786', 'host:8786']
    """
    return [
        address
        for address in addresses
        if not address.startswith(("tls://", "wss://", "inproc://"))
        and not is_loopback(_host(address))
    ]


def _host(address: str) -> str:
    """Return the host of an address; Dask's default protocol is tcp."""
    try:
        return urlsplit(address if "://" in address else f"tcp://{address}").hostname or ""
    except ValueError:
        return ""


def check_access(client: Client, file: Path, remedy: str) -> None:
    """Refuse workers that can't read a file of this machine, or find a different one there."""
    path = file.absolute()
    expected = _digest(path)
    for address, found in sorted(client.run(_digest, path).items()):
        if found != expected:
            raise EngineError(
                f"worker {address} can't read {path.parent}, or has other files there\n{remedy}"
            )


def _digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


@contextmanager
def translated() -> Iterator[None]:
    """Turn Dask's errors into psgraph's; errors of psgraph in a task are raised as they are."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker

    try:
        yield
    except PsgraphError:
        raise
    except KilledWorker as error:
        raise EngineError(
            f"workers died {error.allowed_failures + 1} times in a row while they ran the same "
            "task, most likely of too little memory\n"
            "Nothing of this timestamp was published or charged. Give the workers more memory, or "
            "prepare the store with smaller parts (psgraph prepare --part-nodes)."
        ) from None
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "psgraph":
            raise
        raise EngineError(f"a worker of the cluster has no psgraph\n{_INSTALL}") from None
    except (CancelledError, OSError) as error:
        raise EngineError(
            f"the connection to the cluster was lost ({type(error).__name__})\n"
            "Nothing of this timestamp was published or charged. Run the same command again when "
            "the cluster is back."
        ) from None


_QUIET = {
    "distributed.admin.large-graph-warning-threshold": "1TB",  # shared values go with a task
    "distributed.deploy.lost-worker-timeout": "10 minutes",  # a busy machine restarts it slowly
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}

_INSTALL = (
    "Install the same versions of NumPy, numba, PyArrow and psgraph (with its extra dask) on all "
    "workers."
)


def _close(cluster: Any) -> None:
    # Closing stumbles over workers that died, after it has stopped the others.
    with suppress(KeyError):
        cluster.close()


def _check_workers(client: Client) -> list[str]:
    """Return the addresses of the workers.

    Refuse workers that don't have this psgraph: they would fail, or draw other edges.
    """
    expected, workers = tasks.identity(), sorted(client.run(_describe).items())
    for address, found in workers:
        if not found:
            raise EngineError(f"worker {address} has no psgraph\n{_INSTALL}")
        for name, here in expected.items():
            if found.get(name) != here:
                raise EngineError(
                    f"worker {address} has a different {name} than this process: "
                    f"{found.get(name, 'none')}, not {here}\n{_INSTALL}"
                )
    return [address for address, _ in workers]


def _describe() -> dict[str, Any]:
    try:
        import psgraph
    except ImportError:
        return {}
    try:
        from psgraph.engines.dask.tasks import identity
    except ImportError:
        return {"psgraph": getattr(psgraph, "__version__", "of an unknown version")}
    return identity()


# Sent as code, not by name, because a worker may not have the module it is in.
_describe.__module__ = "__main__"

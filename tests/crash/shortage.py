"""No space, no permission: a typed error, nothing half published, and the rest later."""

from __future__ import annotations

import errno
import os
import resource
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from psgraph.errors import PsgraphError
from psgraph.methods.psgraph import PSGraph
from psgraph.publication.ledger import Ledger
from psgraph.publication.locations import ledger_of
from psgraph.publication.publisher import Publisher
from psgraph.publication.records import encode
from psgraph.publication.verification import verify
from tests.crash.faults import Faults, installed
from tests.crash.scenario import (
    GUARANTEE,
    REFUSED,
    STOPPED,
    Observer,
    ended,
    forked,
    publish,
    snapshot,
    workspace,
)


def full_disk_at_every_point(*, timestamps: int = 2) -> dict[str, Any]:
    """Every access to the disk fails once; the same process goes on, then another one."""
    violations: list[str] = []
    outcomes: Counter[str] = Counter()
    with workspace() as base:
        with installed(Faults()) as faults:
            publish(base / "count", timestamps)
        # Errors of the lock and of opening are typed inside what these two places are around.
        places = [
            (number, place)
            for number, place in enumerate(faults.places)
            if not place.endswith(("lock", "connect"))
        ]
        for number, place in places:
            out = base / f"point {number}"
            observer = Observer(out)
            with installed(Faults(number, partial(_no_space, place))):
                outcomes[_try(out, timestamps, observer)] += 1
            observer.look()
            outcome = _try(out, timestamps, observer)
            if outcome != "done":
                observer.violations.append(f"going on with space ended in {outcome}")
            observer.look_at_end(timestamps)
            violations += [f"no space {place} ({number}): {p}" for p in observer.violations]
    return {
        "points": len(places),
        "outcomes": dict(outcomes),
        "violations": violations,
    }


def _no_space(place: str) -> None:
    if "commit" in place:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorname = "SQLITE_FULL"
        raise error
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _try(out: Path, timestamps: int, observer: Observer) -> str:
    """Publish, once more after an error; what came of it."""
    try:
        with Publisher(PSGraph(), GUARANTEE, out=out) as publisher:
            for timestamp in range(timestamps):
                try:
                    publisher.publish(snapshot(timestamp))
                except PsgraphError:
                    observer.look()
                    publisher.publish(snapshot(timestamp), timestamp=timestamp)
        return "done"
    except PsgraphError as error:
        return type(error).__name__
    except Exception as error:
        observer.violations.append(f"untyped {type(error).__name__}: {error}")
        return "untyped"


def small_files(*, timestamps: int = 2) -> dict[str, Any]:
    """The system refuses files beyond a size, from none at all to enough."""
    violations: list[str] = []
    codes: Counter[int] = Counter()
    limits = [0, 100, 512, 1000, 2000, *range(4096, 120_000, 5_000), 1 << 20]
    with workspace() as base:
        for limit in limits:
            out = base / f"limit {limit}"

            def work(out: Path = out, limit: int = limit) -> None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
                publish(out, timestamps)

            observer = Observer(out)
            codes[ended(forked(work))] += 1
            observer.look()
            publish(out, timestamps)
            observer.look_at_end(timestamps)
            violations += [f"files up to {limit} bytes: {p}" for p in observer.violations]
    return {
        "limits": len(limits),
        "done": codes.pop(0, 0),
        "refused": codes.pop(REFUSED, 0),
        "untyped": sum(codes.values()),
        "violations": violations,
    }


def small_disk() -> dict[str, Any]:
    """A real file system of a few pages that fills up while publishing; then there is room."""
    with workspace() as base, _small_disk(base) as disk:
        if disk is None:
            return {"unavailable": True}
        out = disk / "out"
        observer = Observer(out)
        refusals = 0
        for _ in range(3):
            refusals += ended(forked(partial(publish, out, 200))) == REFUSED
            observer.look()
        sealed = len(observer._rows)
        room = ["mount", "-o", "remount,size=64m", str(disk)]
        subprocess.run(room, check=True)
        again = partial(publish, out, sealed + 3)
        code = ended(forked(again))
        if code == STOPPED:  # the disk was full each time before the seal
            code = ended(forked(partial(again, measure_again=True)))
        if code:
            observer.violations.append("going on with space failed")
        observer.look_at_end(sealed + 3)
    return {"refusals": refusals, "sealed": sealed, "violations": observer.violations}


def full_while_sealing(*, failures: int = 5) -> dict[str, Any]:
    """A real disk is full each time a timestamp is sealed; then there is room again.

    Reports how often the timestamp was measured, and whether the first draw was sealed.
    """
    drawn: list[Any] = []

    class Counted(PSGraph):
        def measure(self, *arguments: Any) -> Any:
            drawn.append(super().measure(*arguments))
            return drawn[-1]

    with workspace() as base, _small_disk(base) as disk:
        if disk is None:
            return {"unavailable": True}
        out, filler = disk / "out", disk / "filler"
        with Publisher(Counted(), GUARANTEE, out=out) as publisher:
            publisher.publish(snapshot(0))
            drawn.clear()
            refused = []
            with filler.open("wb", buffering=0) as file, suppress(OSError):
                while file.write(bytes(4096)):
                    pass
            for _ in range(failures):
                try:
                    publisher.publish(snapshot(1))
                except PsgraphError as error:
                    refused.append(error.code)
            unsealed = publisher.unsealed
            filler.unlink()
            publisher.publish(snapshot(1))
        with Ledger(ledger_of(out), writing=False) as ledger:
            sealed = encode(ledger.measurement_of(1, PSGraph().records))
        observer = Observer(out)
        observer.look_at_end(2)
    return {
        "refused": refused,
        "unsealed": unsealed,
        "draws": len(drawn),
        "first": encode(drawn[0]) == sealed,
        "violations": observer.violations,
    }


@contextmanager
def _small_disk(base: Path) -> Iterator[Path | None]:
    """A file system of its own in memory; None where none can be mounted."""
    disk = base / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=160k", "psgraph-test", str(disk)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        yield None
        return
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def read_only() -> dict[str, Any]:
    """A directory that may not be written: publishing is refused, reading works."""
    with workspace() as base:
        base.chmod(0o755)
        out = base / "out"
        publish(out, 2)
        for path in out.rglob("*"):
            path.chmod(0o555 if path.is_dir() else 0o444)
        out.chmod(0o555)
        before = sorted(path.name for path in out.iterdir())
        codes = {
            "publishing": _as_nobody(partial(publish, out, 3)),
            "beginning": _as_nobody(partial(publish, out / "below", 1)),
            "reading": _as_nobody(partial(verify, out)),
        }
        untouched = sorted(path.name for path in out.iterdir()) == before
        for path in (out, out / "nodes"):
            path.chmod(0o755)
    return {**codes, "untouched": untouched}


def _as_nobody(work: Any) -> int:
    """Root may write everywhere, so the child gives up its rights first."""

    def without_rights() -> None:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
        work()

    return ended(forked(without_rights))

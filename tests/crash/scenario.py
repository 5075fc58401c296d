"""A small stream that is published over and over, and the observer who notices what may not be.

Everything here runs in a process without threads, so that it can fork: children publish and are
killed, while the kernels were compiled once, in the parent.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from psgraph.errors import MeasuringStopped, PsgraphError
from psgraph.graph import Roster, Snapshot
from psgraph.methods.psgraph import PSGraph
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.certificate import Certificate
from psgraph.publication.locations import ledger_of
from psgraph.publication.publisher import Publisher
from psgraph.publication.verification import verify
from tests.publication.in_parts import InParts, tree

GUARANTEE = WEventPrivacy("1", window=3)
ROSTER = Roster([f"node {number}" for number in range(12)])
PARTS = 3  # of those graphs that are published in parts


def snapshot(timestamp: int) -> Snapshot:
    """A small graph, the same one for the same timestamp."""
    rng = np.random.default_rng(timestamp)
    ends = rng.integers(0, len(ROSTER), (2, 15))
    return Snapshot(ROSTER, ends[0], ends[1], time=f"day {timestamp}")


def publish(out: Path, timestamps: int, *, measure_again: bool = False) -> None:
    """What a curator's command does, from the start or from wherever it was cut off."""
    with Publisher(PSGraph(), GUARANTEE, out=out, measure_again=measure_again) as publisher:
        for timestamp in range(timestamps):
            publisher.publish(snapshot(timestamp))


def publish_parts(out: Path, timestamps: int) -> None:
    """The same with graphs in three parts each, and a seed: every run gives the same bytes."""
    with Publisher(InParts(), GUARANTEE, out=out, seed=1) as publisher:
        for timestamp in range(timestamps):
            publisher.publish(snapshot(timestamp))


def copied(out: Path, target: Path) -> Path:
    """A copy of releases and of the ledger beside them."""
    shutil.copytree(ledger_of(out).parent, ledger_of(target).parent)
    return Path(shutil.copytree(out, target))


@contextmanager
def workspace() -> Iterator[Path]:
    """A directory in memory where there is one: a killed process does not need a disk."""
    memory = Path("/dev/shm")
    base = memory if memory.is_dir() and os.access(memory, os.W_OK) else None
    directory = Path(tempfile.mkdtemp(prefix="psgraph-crash-", dir=base))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


REFUSED = 7
STOPPED = 8


def forked(work: Callable[[], object]) -> int:
    """Start a child: it exits with 0 when its work went well, with `REFUSED` for a typed error.

    It exits with `STOPPED` if a person has to allow more attempts.
    """
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        work()
        code = 0
    except MeasuringStopped:
        code = STOPPED
    except PsgraphError:
        code = REFUSED
    except BaseException as error:
        os.write(2, f"unexpected {type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(code)


def ended(process: int) -> int:
    """Wait for a child: its exit code, or minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


_RELEASE = re.compile(r"(\d{6})(\.parquet|\.json)?")


def _digest(path: Path) -> str:
    content = repr(tree(path)).encode() if path.is_dir() else path.read_bytes()
    return hashlib.sha256(content).hexdigest()


class Observer:
    """Looks at a directory after every crash, and remembers what could have been seen.

    What it finds wrong is collected in `violations`.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        self.violations: list[str] = []
        self._files: dict[str, str] = {}
        self._rows: dict[int, tuple[bytes, bytes | None]] = {}

    def look(self) -> None:
        """Look at everything once."""
        rows = self._look_at_ledger()
        self._look_at_files(sealed=len(rows))
        for timestamp, (digest, certificate) in rows.items():
            old_digest, old_certificate = self._rows.get(timestamp, (digest, certificate))
            if old_digest != digest or old_certificate not in (None, certificate):
                self.violations.append(f"the sealed row {timestamp} changed")
        for timestamp in self._rows.keys() - rows.keys():
            self.violations.append(f"the sealed row {timestamp} was lost")
        self._rows = rows

    def _look_at_ledger(self) -> dict[int, tuple[bytes, bytes | None]]:
        ledger = ledger_of(self.out)
        if not ledger.exists():
            return {}
        try:
            database = sqlite3.connect(f"{ledger.as_uri()}?mode=ro", uri=True)
            rows = list(
                database.execute(
                    "SELECT timestamp, spent, digest, certificate FROM seals ORDER BY timestamp"
                )
            )
            database.close()
        except sqlite3.Error as error:
            self.violations.append(f"the ledger is unreadable: {error}")
            return {}
        if [row[0] for row in rows] != list(range(len(rows))):
            self.violations.append("the ledger has gaps")
        spends = [Fraction(row[1]) for row in rows]
        for end in range(len(spends)):
            if sum(spends[max(0, end - GUARANTEE.window + 1) : end + 1]) > GUARANTEE.epsilon:
                self.violations.append(f"the window that ends with {end} is overspent")
        return {row[0]: (row[2], row[3]) for row in rows}

    def _look_at_files(self, *, sealed: int) -> None:
        files: dict[str, str] = {}
        for path in sorted(self.out.iterdir()) if self.out.is_dir() else []:
            match = _RELEASE.fullmatch(path.name)
            if path.name == "nodes":
                self._look_at_nodes(path)
            if match is None:
                continue
            files[path.name] = _digest(path)
            if int(match[1]) >= sealed:
                self.violations.append(f"{path.name} was visible before its seal")
            try:
                self._look_inside(path)
            except Exception:
                self.violations.append(f"{path.name} is half written")
        for name, digest in self._files.items():
            if name not in files:
                self.violations.append(f"{name} was lost")
            elif files[name] != digest:
                self.violations.append(f"{name} changed after it could be seen")
        self._files = files

    def _look_inside(self, path: Path) -> None:
        if path.suffix == ".json":
            Certificate.from_json(path.read_bytes())
        elif path.suffix == ".parquet":
            pq.read_table(path)
        else:
            assert len([pq.read_table(part) for part in path.iterdir()]) == PARTS

    def _look_at_nodes(self, directory: Path) -> None:
        """Node lists are named by their content, so a name with other content is half written."""
        for path in directory.glob("[!.]*"):
            if hashlib.sha256(path.read_bytes()).hexdigest() != path.stem:
                self.violations.append(f"the node list {path.name} is half written")

    def look_at_end(self, timestamps: int) -> None:
        """Look at a finished run: nothing is missing, and all of it verifies."""
        self.look()
        try:
            result = verify(self.out)
            if (result.timestamps, result.releases, result.pending) != (timestamps, timestamps, 0):
                self.violations.append("releases are missing at the end")
        except PsgraphError as error:
            self.violations.append(f"does not verify: {error}")
        parts = [path.name for path in self.out.rglob(".*")]
        if parts:
            self.violations.append(f"left behind: {parts}")

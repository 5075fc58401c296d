"""How often a timestamp was measured and not sealed, in a file beside the ledger.

A process that ends between measuring and sealing loses its draw, and the next one has to measure
again. If it ended *because of* what it measured, whoever watches the machine learns something from
every such draw. So they are limited, also across processes, until a person looks into it.
proofs/w-event-composition.md.

A line is written before anything is measured. It is not flushed to the disk: what a killed process
has written is not lost, and a power cut does not depend on the data.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from psgraph.errors import InvalidArgument, LedgerError, MeasuringStopped

__all__ = ["MOST_ATTEMPTS", "Attempts"]

#: How often a timestamp is measured, at most, before a person has to allow more.
MOST_ATTEMPTS = 3

_TAIL = 8192  # bytes; enough for all lines about one timestamp


class Attempts:
    """The attempts to measure the timestamps of one ledger.

    The file has a line for every attempt, and for every time a person allowed more::

        9f86d081884c7d65 4 measuring
        9f86d081884c7d65 4 again 2026-05-29T10:00:00+00:00

    Parameters
    ----------
    ledger
        The file of the ledger.
    mark
        Identifies the ledger, in case another one had this name before.
    """

    def __init__(self, ledger: Path, mark: str) -> None:
        self._ledger, self._mark = ledger, mark
        self._file: int | None = None

    def check(self, timestamp: int, *, again: bool = False) -> None:
        """Refuse a timestamp that was measured too often; with `again`, one that was not."""
        stopped = self._count(timestamp) >= MOST_ATTEMPTS
        if stopped and not again:
            raise MeasuringStopped(
                f"timestamp {timestamp} was measured {MOST_ATTEMPTS} times and never sealed: each "
                "time the process ended or failed first\n"
                "Find out why (memory, disk, the engine) and fix it. If the reason had nothing to "
                "do with the data, measuring again costs nothing; otherwise it can cost the "
                "timestamp's ε once more for everyone who watched. Then continue with "
                "--measure-again, in Python measure_again=True."
            )
        if again and not stopped:
            raise InvalidArgument(
                f"timestamp {timestamp} can be measured without permission\n"
                "Leave out --measure-again (in Python measure_again=True). It is for a stream "
                "that was stopped, once.",
                code="not_stopped",
            )

    def begin(self, timestamp: int) -> None:
        """Count an attempt, before anything is measured."""
        self.check(timestamp)
        self._write(f"{timestamp} measuring")

    def allow_again(self, timestamp: int) -> None:
        """Record that a person allowed a timestamp that was measured too often to be measured."""
        self.check(timestamp, again=True)
        self._write(f"{timestamp} again {datetime.now(UTC).isoformat(timespec='seconds')}")

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _count(self, timestamp: int) -> int:
        """Attempts since the last permission."""
        count, head = 0, [self._mark, str(timestamp)]
        for line in self._tail().splitlines():
            words = line.split(" ")
            if words[:2] == head:
                count = count + 1 if words[2:] == ["measuring"] else 0
        return count

    def _tail(self) -> str:
        try:
            file = self._opened()
            size = os.fstat(file).st_size
            return os.pread(file, _TAIL, max(0, size - _TAIL)).decode("ascii", "replace")
        except OSError as error:
            raise self._unusable(error) from None

    def _write(self, words: str) -> None:
        # A line break on both sides: a power cut may have left half a line.
        line = f"\n{self._mark} {words}\n".encode()
        try:
            if os.write(self._opened(), line) < len(line):
                raise OSError(0, "the disk is full")
        except OSError as error:
            raise self._unusable(error) from None

    def _opened(self) -> int:
        if self._file is None:
            target = self._ledger.resolve()  # as the lock
            path = target.with_name(f"{target.name}.attempts")
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._file = os.open(path, flags, 0o600)
        return self._file

    def _unusable(self, error: OSError) -> LedgerError:
        return LedgerError(
            f"{self._ledger}.attempts can't be used: {error.strerror or 'I/O error'}\n"
            "Free some space, or make it writable. Nothing was measured.",
            code="attempts",
        )

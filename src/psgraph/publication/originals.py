"""Whether the snapshots that releases are compared with are those they were made from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from psgraph._runtime.numbers import joined
from psgraph.errors import ReplayConflict, RosterChanged, VerificationFailed
from psgraph.graph import Snapshot
from psgraph.publication.growth import RosterGrowth
from psgraph.publication.ledger import Ledger
from psgraph.publication.locations import find_ledger, ledger_at
from psgraph.publication.reading import Releases

__all__ = ["Originals", "check_originals"]

MOST_NAMED = 20


def check_originals(
    stream: Iterable[Snapshot], releases: Iterable[Any]
) -> tuple[Iterable[Snapshot], bool]:
    """Check a stream, while it is read, against the ledger of its releases if there is one.

    Returns what to read, and whether it is checked.
    """
    if not isinstance(releases, Releases):
        return stream, False
    originals = Originals(stream, releases)
    return originals, originals.ledger is not None


class Originals:
    """The snapshots of a stream, checked against the ledger of its releases while they are read.

    Nodes that joined the roster after a timestamp was published are left out of its snapshot.

    Parameters
    ----------
    ledger
        The ledger, if it is not where `psgraph.publication.locations` looks for it.

    Attributes
    ----------
    ledger
        The ledger the snapshots are compared with; None if there is none, and nothing is checked.

    Raises
    ------
    ReplayConflict
        While reading: snapshots are not those the releases were made from.
    """

    def __init__(
        self, stream: Iterable[Snapshot], releases: Releases, ledger: Path | None = None
    ) -> None:
        self._stream, self._releases = stream, releases
        self.ledger = find_ledger(releases.path) if ledger is None else ledger_at(ledger)

    def __iter__(self) -> Iterator[Snapshot]:
        if self.ledger is None:
            yield from self._reduced()
            return
        with Ledger(self.ledger, writing=False) as ledger:
            self._refuse_other(ledger)
            yield from self._checked(ledger)

    def _checked(self, ledger: Ledger) -> Iterator[Snapshot]:
        """Yield snapshots up to the first that is another one; then find all others and refuse."""
        changed: list[int] = []
        for timestamp, snapshot in enumerate(self._stream):
            sealed = snapshot
            try:
                if timestamp < len(self._releases):
                    sealed = ledger.as_sealed(timestamp, snapshot)
            except ReplayConflict:
                changed.append(timestamp)
            if not changed:
                yield sealed
        if changed:
            shown = [str(timestamp) for timestamp in changed[:MOST_NAMED]]
            if len(changed) > MOST_NAMED:
                shown.append(f"{len(changed) - MOST_NAMED} more")
            plural = "" if len(changed) == 1 else "s"
            raise ReplayConflict(
                f"the input is not what timestamp{plural} {joined(shown)} "
                f"{'was' if len(changed) == 1 else 'were'} published from, says the ledger "
                f"{self.ledger}\n"
                "A comparison with it would mean nothing. Restore the input, with the options it "
                "was published with."
            )

    def _reduced(self) -> Iterator[Snapshot]:
        """Yield snapshots over the rosters of their releases, where these have node lists."""
        for timestamp, snapshot in enumerate(self._stream):
            published = self._releases.roster(timestamp)
            if published is None:
                yield snapshot
            else:
                growth = RosterGrowth({published.digest: published}.get)
                try:
                    yield growth.reduced(snapshot, published.digest, timestamp)
                except RosterChanged:
                    yield snapshot  # whoever compares says that the nodes differ

    def _refuse_other(self, ledger: Ledger) -> None:
        """Refuse the ledger of another publication."""
        last = self._releases.certificates[-1]
        if last.timestamp >= ledger.sealed or ledger.certificate_of(last.timestamp) != last.digest:
            raise VerificationFailed(
                f"{self.ledger} is not the ledger of these releases\n"
                "Name the right one, or move it away to compare without checking the input."
            )

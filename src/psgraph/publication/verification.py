"""Checking that everything is as it was published: with the ledger, or by anyone without it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from psgraph._runtime.durable import as_path
from psgraph._runtime.numbers import budget_words, joined
from psgraph.errors import (
    LedgerError,
    PsgraphError,
    ReplayConflict,
    RosterChanged,
    VerificationFailed,
    exact_decimal,
)
from psgraph.graph import Snapshot
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.budget import composed
from psgraph.publication.certificate import Certificate
from psgraph.publication.ledger import Ledger
from psgraph.publication.ledger.reader import RosterGrowth
from psgraph.publication.locations import find_ledger, ledger_at, releases_of
from psgraph.publication.release_directory import ReleaseDirectory
from psgraph.publication.releases import Releases
from psgraph.publication.terms import Promise

__all__ = ["Originals", "Verification", "check_originals", "verify"]

MOST_PROBLEMS = 20


@dataclass(frozen=True)
class Verification:
    """The outcome of checking everything: what there was. All of it was in order."""

    promise: Promise
    timestamps: int
    releases: int
    pending: int
    ledger: bool
    largest_window_spent: str

    @property
    def epsilon(self) -> str:
        """ε of the guarantee, exact."""
        return exact_decimal(self.promise.guarantee.epsilon)

    @property
    def window(self) -> int:
        """w of the guarantee."""
        return self.promise.guarantee.window

    @property
    def spent(self) -> str:
        """What the most expensive window spent, and of how much, in words."""
        return f"{budget_words(Fraction(self.largest_window_spent))} of {self.epsilon}"

    def to_dict(self) -> dict[str, object]:
        return {
            **self.promise.to_dict(),
            "timestamps": self.timestamps,
            "releases": self.releases,
            "pending": self.pending,
            "ledger": self.ledger,
            **self.promise.guarantee.to_dict(),
            "largest_window_spent": self.largest_window_spent,
        }


def verify(path: str | Path) -> Verification:
    """Check a release directory, a ledger, or both where they belong together.

    Every certificate, graph and ledger row is compared with the digests recorded elsewhere. The
    charges of every timestamp and the spends of every window are added up, and compared with the
    sums that the certificates state. Raises `VerificationFailed` with what is wrong.

    Without a ledger two things can't be detected: that the *last* releases were removed, and that
    the whole directory was exchanged for another consistent one.
    """
    path = as_path(path, "the directory or ledger")
    directory, ledger_path = _find(path)
    problems: list[str] = []
    result: Verification | None = None
    try:
        if ledger_path is None:
            assert directory is not None
            result = _without_ledger(directory, problems)
        else:
            directory = directory or _directory_of(ledger_path)
            # Listed before the ledger is read: what is published was sealed before.
            published = [] if directory is None else directory.timestamps()
            with Ledger(ledger_path, writing=False) as ledger:
                result = _with_ledger(ledger, directory, published, problems)
    except PsgraphError as error:
        problems.append(str(error).splitlines()[0])
    if problems or result is None:
        raise _failure(path, problems)
    return result


def _find(path: Path) -> tuple[ReleaseDirectory | None, Path | None]:
    """Find the directory and the ledger that a path stands for."""
    try:
        if not path.is_dir():
            ledger = ledger_at(path)
            if not ledger.exists():
                raise LedgerError(f"there is nothing at {path}")
            return None, ledger
        directory = ReleaseDirectory(path)
        directory.refuse_store()
        found = find_ledger(path)
        if found is None and not directory.timestamps():
            raise LedgerError(f"{path} contains neither a ledger nor releases")
        inside = found is not None and found.parent == path
        return (None if inside and not directory.timestamps() else directory), found
    except (OSError, ValueError):
        raise LedgerError(
            "the path can't be used\nCheck it and its permissions.", code="unusable_path"
        ) from None


def _directory_of(ledger_path: Path) -> ReleaseDirectory | None:
    """The directory of releases named in a ledger."""
    with Ledger(ledger_path, writing=False) as ledger:
        out = releases_of(ledger_path, ledger.terms.out)
    return None if out is None else ReleaseDirectory(out)


def _failure(path: Path, problems: list[str]) -> VerificationFailed:
    shown = problems[:MOST_PROBLEMS]
    more = len(problems) - len(shown)
    error = VerificationFailed(
        f"{path} is not as it was published:\n"
        + "\n".join(f"  {problem}" for problem in shown)
        + (f"\n  and {more} more" if more else "")
        + "\nFind out who changed it before you rely on it or continue publishing."
    )
    error.problems = tuple(problems)
    return error


class _Windows:
    """Adds up every window."""

    def __init__(self, promise: Promise) -> None:
        self._promise = promise
        self._accountant = Accountant(promise.guarantee)
        self.largest = Fraction(0)

    def add(self, spent: Fraction) -> None:
        """Book the next timestamp; `BudgetExceeded` if a window is overspent."""
        self._accountant = self._accountant.record(spent)
        self.largest = max(self.largest, self._accountant.window_spent)

    def add_stated(self, certificate: Certificate, problems: list[str]) -> None:
        """Book what a certificate states, and check that its numbers agree with each other."""
        name = f"the certificate of timestamp {certificate.timestamp}"
        try:
            cost = composed(certificate.charges)
            positive = all(charge.epsilon > 0 for charge in certificate.charges)
        except (AttributeError, RecursionError, TypeError, ValueError):
            problems.append(f"{name} lists charges that no budget makes")
        else:
            if not positive or cost > certificate.spent:
                problems.append(f"{name} lists charges that its spend does not cover")
        complete = certificate.timestamp == self._accountant.timestamps  # none was unreadable
        self.add(certificate.spent)
        if complete and certificate.window_spent != self._accountant.window_spent:
            problems.append(f"{name} states a window that does not add up")

    def summary(self, *, releases: int, pending: int, ledger: bool) -> Verification:
        return Verification(
            promise=self._promise,
            timestamps=self._accountant.timestamps,
            releases=releases,
            pending=pending,
            ledger=ledger,
            largest_window_spent=exact_decimal(self.largest),
        )


def _without_ledger(directory: ReleaseDirectory, problems: list[str]) -> Verification | None:
    windows: _Windows | None = None
    promise: Promise | None = None
    releases = 0
    for certificate in directory.certificates(problems):
        promise = promise or certificate.promise
        windows = windows or _Windows(promise)
        if certificate.promise != promise:
            problems.append(f"timestamp {certificate.timestamp} promises something else")
        windows.add_stated(certificate, problems)
        releases += 1
    return windows.summary(releases=releases, pending=0, ledger=False) if windows else None


def _with_ledger(
    ledger: Ledger,
    directory: ReleaseDirectory | None,
    published: list[int],
    problems: list[str],
) -> Verification:
    problems += ledger.problems()
    sealed = ledger.sealed
    pending = int(sealed > 0 and ledger.certificate_of(sealed - 1) is None)
    releases = 0
    stated: _Windows | None = None
    promise: Promise | None = None
    if published and published[-1] >= sealed:
        problems.append(
            f"timestamp {published[-1]} is published but the ledger ends before {sealed}: "
            "it is an older copy"
        )
    if directory is not None:
        for certificate in directory.certificates(problems, finished=sealed - pending):
            releases += 1
            promise = certificate.promise
            stated = stated or _Windows(promise)
            stated.add_stated(certificate, problems)
            if certificate.timestamp < sealed:
                _compare(certificate, ledger, problems)
        if not problems:
            problems += [
                f"the release of timestamp {timestamp} is missing"
                for timestamp in range(releases, sealed - pending)
            ]
    windows = _Windows(promise or Promise.under(ledger.terms))
    for _, _, spent in ledger.spends():
        windows.add(spent)
    return windows.summary(releases=releases, pending=pending, ledger=True)


def _compare(certificate: Certificate, ledger: Ledger, problems: list[str]) -> None:
    """Compare a certificate with the ledger."""
    timestamp = certificate.timestamp
    seal = ledger.seal_of(timestamp)
    known = ledger.certificate_of(timestamp)
    if known is None:
        return
    if certificate.digest != known:
        problems.append(f"the release of timestamp {timestamp} is not the one in the ledger")
    if certificate.spent != seal.spent or certificate.charges != seal.charges:
        problems.append(f"the certificate of timestamp {timestamp} states another spend")


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
            yield from self.unchecked()
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

    def unchecked(self) -> Iterator[Snapshot]:
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
                    yield snapshot  # the comparison reports that the nodes differ

    def _refuse_other(self, ledger: Ledger) -> None:
        """Refuse the ledger of another publication."""
        last = self._releases.certificates[-1]
        if last.timestamp >= ledger.sealed or ledger.certificate_of(last.timestamp) != last.digest:
            raise VerificationFailed(
                f"{self.ledger} is not the ledger of these releases\n"
                "Name the right one, or move it away to compare without checking the input.",
                code="other_ledger",
            )

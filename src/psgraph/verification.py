"""Is everything as it was published? For the curator with the ledger, for anyone without."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from psgraph.errors import LedgerError, PsgraphError, VerificationFailed, exact_decimal
from psgraph.ledger import Ledger
from psgraph.privacy.accountant import Accountant
from psgraph.releases import LEDGER_NAME, ReleaseDirectory

__all__ = ["Verification", "verify"]

MOST_PROBLEMS = 20


@dataclass(frozen=True)
class Verification:
    """What was checked, and found in order."""

    timestamps: int
    releases: int
    pending: int
    ledger: bool
    epsilon: str
    window: int
    largest_window_spent: str

    def to_dict(self) -> dict[str, object]:
        return dict(self.__dict__)


def verify(path: str | Path) -> Verification:
    """Check a release directory, a ledger, or both where they belong together.

    Every certificate, graph and ledger row is compared with the digests that others hold of it,
    and every window is added up again. Raises `VerificationFailed` with what is wrong.

    Without a ledger two things can't be seen: that the *last* releases were removed, and that a
    whole directory was swapped for another consistent one.
    """
    path = Path(path)
    if not path.exists():
        raise LedgerError(f"there is nothing at {path}")
    ledger_path: Path | None = path
    directory: ReleaseDirectory | None = None
    if path.is_dir():
        directory = ReleaseDirectory(path)
        ledger_path = path / LEDGER_NAME if (path / LEDGER_NAME).exists() else None
        if ledger_path is None and not directory.timestamps():
            raise LedgerError(f"{path} holds neither a ledger nor releases")
    problems: list[str] = []
    ledger: Ledger | None = None
    try:
        if ledger_path is not None:
            ledger = Ledger(ledger_path, writing=False)
            problems += ledger.problems()
            if directory is None and ledger.terms.out is not None:
                directory = ReleaseDirectory(ledger_path.parent / ledger.terms.out)
        if directory is not None:
            problems += directory.problems()
        if not problems and ledger is not None and directory is not None:
            problems += _disagreements(ledger, directory)
        result = None if problems else _summary(ledger, directory)
    except VerificationFailed:
        raise
    except PsgraphError as error:
        problems.append(str(error).splitlines()[0])
    finally:
        if ledger is not None:
            ledger.close()
    if problems or result is None:
        shown = problems[:MOST_PROBLEMS]
        more = len(problems) - len(shown)
        raise VerificationFailed(
            f"{path} is not as it was published:\n"
            + "\n".join(f"  {problem}" for problem in shown)
            + (f"\n  and {more} more" if more else "")
            + "\nFind out who changed it before you rely on it or go on publishing."
        )
    return result


def _disagreements(ledger: Ledger, directory: ReleaseDirectory) -> Iterator[str]:
    """What the releases and the ledger say differently of each other."""
    sealed, published = ledger.sealed, directory.timestamps()
    if published and published[-1] >= sealed:
        yield (
            f"timestamp {published[-1]} is published but the ledger ends before {sealed}: "
            "it is an older copy"
        )
        return
    for timestamp in range(sealed):
        seal = ledger.seal_of(timestamp)
        if seal.certificate is None:
            continue
        if timestamp >= len(published):
            yield f"the release of timestamp {timestamp} is missing"
            continue
        certificate = directory.certificate(timestamp)
        if bytes.fromhex(certificate.digest) != seal.certificate:
            yield f"the release of timestamp {timestamp} is not the one the ledger knows"
        if certificate.spent != seal.spent or certificate.charges != seal.charges:
            yield f"the certificate of timestamp {timestamp} states another spend"


def _summary(ledger: Ledger | None, directory: ReleaseDirectory | None) -> Verification:
    published = [] if directory is None else directory.timestamps()
    if ledger is not None:
        guarantee = ledger.guarantee
        spends = [spent for _, spent in ledger.spends()]
        last = ledger.seal_of(len(spends) - 1) if spends else None
        pending = int(last is not None and last.certificate is None)
    else:
        assert directory is not None
        certificates = [directory.certificate(timestamp) for timestamp in published]
        guarantee = certificates[0].guarantee
        if any(certificate.guarantee != guarantee for certificate in certificates):
            raise VerificationFailed("the certificates promise different things")
        spends = [certificate.spent for certificate in certificates]
        pending = 0
    accountant = Accountant(guarantee)
    largest = Fraction(0)
    for spent in spends:
        accountant = accountant.record(spent)
        largest = max(largest, accountant.window_spent)
    return Verification(
        timestamps=len(spends),
        releases=len(published),
        pending=pending,
        ledger=ledger is not None,
        epsilon=exact_decimal(guarantee.epsilon),
        window=guarantee.window,
        largest_window_spent=exact_decimal(largest),
    )

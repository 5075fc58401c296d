"""Opening the history of a stream, under its terms, before anything is measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from psgraph.errors import LedgerError, TermsChanged
from psgraph.methods.base import Method, find_method
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.history import History, MemoryHistory
from psgraph.publication.ledger import Ledger
from psgraph.publication.locations import ledger_of, name_in_terms, releases_of
from psgraph.publication.noise import check_noise
from psgraph.publication.promise import refuse_without_promise
from psgraph.publication.releases import ReleaseDirectory
from psgraph.publication.terms import Terms

__all__ = ["check_history", "open_history", "resumed"]


def open_history(
    method: Method[Any, Any],
    guarantee: WEventPrivacy,
    *,
    ledger: Path | None,
    directory: ReleaseDirectory | None,
    seed: int | None,
    noise: str,
) -> History:
    """Open or begin the ledger of a stream; without `ledger` and `directory`, use memory only."""
    if ledger is None:
        if directory is None:
            return MemoryHistory(guarantee)
        ledger = ledger_of(directory.path)
    terms = _terms(method, guarantee, ledger=ledger, directory=directory, seed=seed, noise=noise)
    if directory is not None:
        directory.check_usable(ledger=ledger)
    opened = Ledger(ledger, terms)
    try:
        if directory is not None:
            _refuse_stale_ledger(opened, directory)
    except BaseException:
        opened.close()
        raise
    return opened


def check_history(
    method: Method[Any, Any],
    guarantee: WEventPrivacy,
    *,
    ledger: Path,
    out: str | Path | None,
    seed: int | None,
    noise: str,
    not_private: bool = False,
    large_epsilon: bool = False,
) -> None:
    """Refuse what a publisher would refuse: sampler, promise, directory, terms, lock.

    Nothing is begun.

    It is quick, so a command can call it before it reads its input and compiles kernels.
    """
    check_noise(noise, seed)
    refuse_without_promise(
        method, guarantee, seed=seed, not_private=not_private, large_epsilon=large_epsilon
    )
    directory = None if out is None else ReleaseDirectory(out)
    if directory is not None:
        directory.check_usable(ledger=ledger)
    if ledger.exists():
        open_history(
            method, guarantee, ledger=ledger, directory=directory, seed=seed, noise=noise
        ).close()


def _terms(
    method: Method[Any, Any],
    guarantee: WEventPrivacy,
    *,
    ledger: Path,
    directory: ReleaseDirectory | None,
    seed: int | None,
    noise: str,
) -> Terms:
    """The terms of a stream."""
    return Terms(
        guarantee=guarantee,
        method=method.name,
        distribution_version=method.distribution_version,
        parameters=dict(method.parameters()),
        seed=seed,
        noise=noise,
        out=None if directory is None else name_in_terms(ledger, directory.path),
    )


def resumed(ledger: Path, out: str | Path | None) -> dict[str, Any]:
    """The arguments of a publisher that continues with a ledger, under its terms.

    Parameters
    ----------
    out
        Where releases go, if not where the terms say.
    """
    with Ledger(ledger) as opened:  # for writing, which migrates an older format
        terms, noise = opened.terms, opened.noise or "exact"
    out = releases_of(ledger, terms.out) if out is None else out
    return {
        "method": _method_of(terms, ledger),
        "guarantee": terms.guarantee,
        "ledger": ledger,
        "out": out,
        "seed": terms.seed,
        "noise": noise,
        "not_private": True,  # whoever began the ledger has decided that
        "large_epsilon": True,
    }


def _method_of(terms: Terms, ledger: Path) -> Method[Any, Any]:
    """Build the method a ledger was begun with."""
    try:
        return find_method(terms.method)(**terms.parameters)
    except TypeError:
        raise TermsChanged(
            f"method {terms.method!r} does not know all parameters that {ledger} was begun with\n"
            "Install the version of the method that began it."
        ) from None


def _refuse_stale_ledger(ledger: Ledger, directory: ReleaseDirectory) -> None:
    """Refuse a restored backup that would measure again what is already published."""
    sealed, newest = ledger.sealed, directory.timestamps()[-1:]
    if newest and newest[0] >= sealed:
        raise LedgerError(
            f"the ledger has sealed {sealed} timestamps, but timestamp {newest[0]} is already "
            "published\n"
            "It looks like an older copy of the ledger. Restore the newest copy; continuing "
            "would spend the budget of those timestamps twice."
        )

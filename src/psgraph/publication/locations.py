"""Where the ledger of a release directory is, and the releases of a ledger.

The releases in ``OUT`` are handed out, and the ledger is as sensitive as the data. So the ledger
is ``OUT.ledger/ledger.sqlite``, in a directory beside the releases that only its owner can open.
Version 0.1.0 kept it inside, as ``OUT/ledger.sqlite``; such a directory is still found.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from psgraph.errors import LedgerError

__all__ = [
    "LEDGER_NAME",
    "find_ledger",
    "ledger_at",
    "ledger_of",
    "name_in_terms",
    "releases_at",
    "releases_of",
    "same_place",
]

LEDGER_NAME = "ledger.sqlite"

_ENDING = ".ledger"
_BESIDE = "beside/"  # no relative path ends with a slash, so it can't be taken for one
_INSIDE = "."


def ledger_of(directory: Path) -> Path:
    """Return where the ledger of a release directory is, or would be started.

    >>> ledger_of(Path("run/releases")).as_posix()
    'run/releases.ledger/ledger.sqlite'
    """
    inside, beside = directory / LEDGER_NAME, _beside(directory)
    if not _exists(inside):
        return beside
    if _exists(beside):
        raise LedgerError(
            f"{directory} has two ledgers, {inside} and {beside}\n"
            "Name the one its releases were published with (--ledger), and move the other away.",
            code="two_ledgers",
        )
    return inside


def find_ledger(directory: Path) -> Path | None:
    """Return the ledger of a release directory, None if it is neither beside nor inside."""
    ledger = ledger_of(directory)
    return ledger if _exists(ledger) else None


def ledger_at(path: str | Path) -> Path:
    """Return the ledger that a path stands for: the file, its directory, or that of its releases.

    >>> ledger_at("run.ledger").name
    'run.ledger'
    """
    path = Path(path)
    if not _is_directory(path):
        return path if _exists(path) else find_ledger(path) or path
    found = find_ledger(path)
    if found is None:
        raise LedgerError(
            f"{path} has no ledger: there is neither {_beside(path)} nor {path / LEDGER_NAME}\n"
            "Name the file of the ledger itself."
        )
    return found


def releases_at(path: str | Path) -> Path:
    """Return the release directory that a path stands for: itself, or that of its ledger.

    >>> releases_at("releases.ledger").name
    'releases'
    """
    path = Path(path)
    if path.name.endswith(_ENDING) and (not _exists(path) or _exists(path / LEDGER_NAME)):
        return _without_ending(path)
    return path


def name_in_terms(ledger: Path, directory: Path) -> str:
    """Return how the terms of a ledger name a release directory.

    Relative to the ledger, so that both can be moved; and where the ledger is beside the
    directory, without its name, so that both can be renamed.
    """
    if ledger.parent.absolute() == _beside(directory).parent.absolute():
        return _BESIDE
    return os.path.relpath(directory.absolute(), ledger.absolute().parent)


def releases_of(ledger: Path, name: str | None) -> Path | None:
    """Return the release directory that the terms of a ledger name; the inverse of the above."""
    moved = name == _INSIDE and ledger.parent.name.endswith(_ENDING)
    if name != _BESIDE and not moved:
        return None if name is None else ledger.parent / name
    directory = ledger.parent
    if not directory.name.endswith(_ENDING):
        directory = directory.absolute()  # "." has no name
    if not directory.name.endswith(_ENDING):
        raise LedgerError(
            f"the releases of {ledger} can't be found: its directory was OUT{_ENDING} beside OUT\n"
            "Restore its name, or give the directory of the releases.",
            code="releases_lost",
        )
    return _without_ending(directory)


def same_place(started: str | None, now: str | None) -> bool:
    """Whether two names stand for one place: a ledger may be moved from inside to beside."""
    return started == now or (started, now) == (_INSIDE, _BESIDE)


def _beside(directory: Path) -> Path:
    """Return where a new ledger goes."""
    with suppress(OSError, RuntimeError):  # using the path says what is wrong with it
        if directory.is_symlink() or directory.name in ("", ".."):
            directory = directory.resolve()  # every name of a directory leads to the same ledger
    return directory.parent / f"{directory.name}{_ENDING}" / LEDGER_NAME


def _without_ending(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(_ENDING))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False  # opening it says why


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False

"""The files of a published graph: one, or a directory of parts if it has many nodes.

The parts of a graph are those of its edges (`psgraph.graph.parts`): how many there are depends on
the number of nodes only, which is public. One digest covers them all, with their names and order::

    cd 000000 && sha256sum part-*.parquet | sha256sum
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from psgraph.errors import OutputError, VerificationFailed

__all__ = ["RESTORE", "PublishedFile", "digest_of_parts", "part_name", "parts_of", "read_bytes"]

RESTORE = (
    "Restore it from a copy. Or remove it and publish the same input again: it is made again from "
    "the ledger if it comes out as it was."
)


def part_name(number: int) -> str:
    """Return the name of a part. There are fewer than 100,000: positions are 32-bit integers.

    >>> part_name(3)
    'part-00003.parquet'
    """
    return f"part-{number:05d}.parquet"


def digest_of_parts(digests: Sequence[str]) -> str:
    """Return the digest of a graph from those of its parts, in order.

    It is the SHA-256 of what ``sha256sum part-*.parquet`` prints.
    """
    lines = "".join(f"{digest}  {part_name(number)}\n" for number, digest in enumerate(digests))
    return hashlib.sha256(lines.encode()).hexdigest()


@dataclass(frozen=True)
class PublishedFile:
    """A file and the digest it was published with."""

    path: Path
    sha256: str | None

    def read(self) -> bytes:
        """Read the file; refuse it if it was changed."""
        content = read_bytes(self.path)
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise VerificationFailed(f"{self.path} was changed after it was published\n{RESTORE}")
        return content


def parts_of(directory: Path, parts: int, sha256: str | None) -> tuple[PublishedFile, ...]:
    """Return the parts of a graph, in order; refuse them if one was changed, removed or added.

    Parameters
    ----------
    parts, sha256
        What the certificate states: how many there are, and the digest of all.
    """
    names = _names(directory)
    expected = [part_name(number) for number in range(len(names))]
    if len(names) != parts or names != expected:
        raise VerificationFailed(f"{directory}: {_difference(names, parts)}\n{RESTORE}")
    files = tuple(PublishedFile(directory / name, _digest(directory / name)) for name in names)
    if digest_of_parts([str(file.sha256) for file in files]) != sha256:
        raise VerificationFailed(
            f"{directory}: a part was changed after it was published, or has the name of another\n"
            f"{RESTORE}"
        )
    return files


def _names(directory: Path) -> list[str]:
    """The names in a directory but for hidden ones, which no reader of Parquet looks at."""
    try:
        with os.scandir(directory) as entries:
            return sorted(entry.name for entry in entries if not entry.name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        raise VerificationFailed(f"{directory} is missing") from None
    except OSError as error:
        raise OutputError(f"{directory} can't be read: {error.strerror}") from None


def _difference(names: list[str], parts: int) -> str:
    """Say what is missing or in the way."""
    for number in range(len(names)):
        if number < parts and part_name(number) not in names:
            return f"{part_name(number)} is missing"
    if len(names) < parts:
        return f"{part_name(len(names))} is missing"
    known = {part_name(number) for number in range(parts)}
    return f"{next(name for name in names if name not in known)!r} is not one of its {parts} parts"


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise VerificationFailed(f"{path} is missing") from None
    except OSError as error:
        raise OutputError(f"{path} can't be read: {error.strerror}") from None


def read_bytes(path: Path) -> bytes:
    """Return the content of a file; a typed error if it can't be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise VerificationFailed(f"{path} is missing") from None
    except OSError as error:
        raise OutputError(f"{path} can't be read: {error.strerror}") from None

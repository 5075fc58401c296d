"""What a publication keeps on disk: nothing is measured twice, nothing shown before it is sealed.

The checks publish a small stream into a temporary directory through the real publisher and
ledger, interrupt it, and start again. The crash tests of the project do the same with real kills
at every system call; this is the part that a mutant has to get past.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from psgraph.errors import PsgraphError, ReplayConflict
from psgraph.graph import Roster, Snapshot
from psgraph.methods.base import Method
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.publisher import Publisher
from psgraph.publication.release_directory import ReleaseDirectory

__all__ = ["broken_durability"]

GUARANTEE = WEventPrivacy(4, window=2)

NODES = 60


class _PowerCut(Exception):
    """Stands for the end of the process."""


def broken_durability(method: Callable[[], Method[Any, Any]]) -> list[str]:
    """Return what is wrong with publications of a method on disk; nothing if all is well."""
    found = []
    for check in (_interrupted, _handed_back, _remade, _other_data):
        with tempfile.TemporaryDirectory() as directory:
            try:
                problem = check(method, Path(directory) / "releases")
            except (PsgraphError, AssertionError) as error:
                problem = f"{type(error).__name__}: {error}".splitlines()[0]
                problem = problem.replace(f"{directory}{os.sep}", "")
            if problem:
                found.append(problem)
    return found


def _stream() -> list[Snapshot]:
    random = np.random.default_rng(3)
    made = []
    for _ in range(3):
        ends = np.argwhere(np.triu(random.random((NODES, NODES)) < 0.15, 1))
        made.append(Snapshot(Roster.range(NODES), ends[:, 0], ends[:, 1]))
    return made


def _publish(
    method: Callable[[], Method[Any, Any]], out: Path, stream: list[Snapshot]
) -> list[Fraction]:
    with Publisher(method(), GUARANTEE, out=out) as publisher:
        return [release.certificate.spent for release in publisher.publish_all(stream)]


def _files(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(out.glob("[0-9]*.*"))}


@contextmanager
def _cut_before_writing() -> Iterator[None]:
    real = ReleaseDirectory.write

    def cut(*_: Any) -> None:
        raise _PowerCut

    ReleaseDirectory.write = cut  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        ReleaseDirectory.write = real  # type: ignore[method-assign]


def _interrupted(method: Callable[[], Method[Any, Any]], out: Path) -> str | None:
    """A run that ends between sealing and writing keeps what it sealed."""
    stream = _stream()
    try:
        with _cut_before_writing():
            _publish(method, out, stream[:1])
    except _PowerCut:
        pass
    else:
        return "a release was shown that was not written"
    if _files(out):
        return "files were written before the cut"
    with Publisher(method(), GUARANTEE, out=out) as publisher:
        spent = publisher.spending
        if len(_files(out)) != 2:
            return "a sealed timestamp was not released after a restart"
        before = _files(out)
        publisher.publish(stream[0], timestamp=0)
        if publisher.spending.timestamps != spent.timestamps or spent.timestamps != 1:
            return "a timestamp that was sealed before the cut was not charged, or charged twice"
    return None if _files(out) == before else "a restart changed a release"


def _handed_back(method: Callable[[], Method[Any, Any]], out: Path) -> str | None:
    """A second run over the same stream spends nothing and changes nothing."""
    spent = _publish(method, out, _stream())
    before = _files(out)
    again = _publish(method, out, _stream())
    if _files(out) != before:
        return "publishing again changed a release"
    if again != spent:
        return "publishing again was charged differently"
    with Publisher(method(), GUARANTEE, out=out) as publisher:
        return None if publisher.spending.timestamps == 3 else "publishing again was charged again"


def _remade(method: Callable[[], Method[Any, Any]], out: Path) -> str | None:
    """A lost release is made again from sealed values, to the same bytes."""
    _publish(method, out, _stream())
    before = _files(out)
    (out / "000002.parquet").unlink()
    _publish(method, out, _stream())
    return None if _files(out) == before else "a lost release was drawn again"


def _other_data(method: Callable[[], Method[Any, Any]], out: Path) -> str | None:
    """A timestamp that comes again with other edges is refused."""
    stream = _stream()
    _publish(method, out, stream)
    other = Snapshot(stream[0].roster, stream[0].u[1:], stream[0].v[1:])
    try:
        _publish(method, out, [other, *stream[1:]])
    except ReplayConflict:
        return None
    return "a published timestamp was accepted with other edges"

"""Publishers with a fault built in. A campaign that does not find it out proves nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from psgraph._runtime import durable
from psgraph.publication import graph_files, release_directory
from psgraph.publication.ledger import Ledger
from psgraph.publication.measurement import Measured, Seal, seal_of


def write_in_place() -> None:
    """Releases are written where they can be seen, bit by bit."""

    def write(files: list[tuple[Path, memoryview]]) -> None:
        system: Any = vars(durable)["os"]
        for path, content in files:
            file = system.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            system.write(file, memoryview(content))
            system.fsync(file)
            system.close(file)

    release_directory.write_all_whole = write  # type: ignore[assignment, attr-defined]


def show_before_sealing() -> None:
    """The seal is put off until the release is written."""
    seal, record = Ledger.seal, Ledger.record_release
    waiting: list[Measured] = []

    def put_off(_: Ledger, measured: Measured) -> Seal:
        waiting.append(measured)
        return seal_of(measured, measured.spent)

    def both(self: Ledger, timestamp: int, certificate: str) -> None:
        while waiting:
            seal(self, waiting.pop())
        record(self, timestamp, certificate)

    Ledger.seal = put_off  # type: ignore[assignment, method-assign]
    Ledger.record_release = both  # type: ignore[method-assign]


def draw_again() -> None:
    """What was sealed and not released is forgotten, and measured again."""

    def forget(self: Ledger) -> None:
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM seals WHERE certificate IS NULL")

    def opened(self: Ledger, *arguments: Any, **options: Any) -> None:
        begin(self, *arguments, **options)
        if options.get("writing", True):
            forget(self)

    begin = Ledger.__init__
    Ledger._refuse_damage = lambda _: None  # type: ignore[assignment, method-assign]
    Ledger.__init__ = opened  # type: ignore[method-assign]


def parts_in_place() -> None:
    """The parts of a graph are written where they can be seen, one after the other."""

    @contextmanager
    def visible(path: Path) -> Iterator[Path]:
        path.mkdir(parents=True, exist_ok=True)
        yield path

    def write(files: list[tuple[Path, memoryview | Path]]) -> None:
        durable.write_all_whole([each for each in files if not isinstance(each[1], Path)])

    graph_files.hidden_folder = visible  # type: ignore[assignment, attr-defined]
    release_directory.write_all_whole = write  # type: ignore[assignment, attr-defined]


MUTANTS = {
    "write in place": write_in_place,
    "show before sealing": show_before_sealing,
    "draw again": draw_again,
    "parts in place": parts_in_place,
}

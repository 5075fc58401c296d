"""Which file of an inbox can be published next, and what it waits for."""

from __future__ import annotations

from pathlib import Path

from psgraph.graph.formats.files import stem
from psgraph.streams.sequences import FileSequence, step_of_names

__all__ = ["MISSING", "FileOrder"]

#: What to do about a missing file; see `psgraph.publication.watching.watch`.
MISSING = ("wait", "empty", "skip")


class FileOrder:
    """Decides whether a file can be published, or what it waits for."""

    def __init__(
        self, sequence: FileSequence, missing: str, skip: set[str], *, close_last: bool
    ) -> None:
        self._sequence, self._missing, self._skip = sequence, missing, skip
        self._close_last = close_last
        self._announced: set[tuple[Path, tuple[str, ...]]] = set()
        self.waiting: tuple[str, ...] = ()

    def before(self, file: Path, published: dict[str, int]) -> list[str] | None:
        """Return the names to publish as empty snapshots first; None if the file has to wait."""
        self.waiting = ()
        if not self._close_last and not self._sequence.over(stem(file)):
            return None
        if self._missing == "skip":
            known = self._sequence.every or step_of_names(published)
            if known is not None:
                FileSequence(known).missing([*published], stem(file))  # refuses a shorter step
            return []
        absent = self._sequence.missing([*published], stem(file))
        left = [name for name in absent if name not in self._skip]
        if left and self._missing == "wait":
            self.waiting = tuple(left)
            return None
        return left

    def announce(self, file: Path) -> bool:
        """Whether it was not said yet what a file waits for."""
        said = (file, self.waiting) in self._announced
        self._announced.add((file, self.waiting))
        return not said

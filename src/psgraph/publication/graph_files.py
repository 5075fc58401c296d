"""The files of a published graph: one, or a directory of parts if it has many nodes.

The parts of a graph are those of its edges (`psgraph.graph.parts`): how many there are depends on
the number of nodes only, which is public. One digest covers them all, with their names and order::

    cd 000000 && sha256sum part-*.parquet | sha256sum
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from psgraph._runtime.durable import hidden_folder, write_flushed
from psgraph.engines.runner import Job, Runner
from psgraph.engines.threads import LocalEngine
from psgraph.errors import DataError, OutputError, OutsideRoster, VerificationFailed
from psgraph.graph import Roster, SyntheticGraph
from psgraph.graph.formats.columns import as_numpy
from psgraph.graph.formats.parquet import (
    edge_bytes,
    edge_table,
    encode_part,
    kind_of_table,
    read_pairs,
)
from psgraph.graph.kind import UNDIRECTED, Kind
from psgraph.graph.parts import MemoryParts, Pairs, Rows, ranges
from psgraph.publication.certificate import Certificate

__all__ = [
    "RESTORE",
    "EncodedGraph",
    "PublishedFile",
    "PublishedParts",
    "digest_of_parts",
    "encode_parts",
    "encoded",
    "in_one_file",
    "part_name",
    "parts_of",
    "read_bytes",
    "read_graph",
]

RESTORE = (
    "Restore it from a copy. Or remove it and publish the same input again: it is recreated from "
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
            raise VerificationFailed(
                f"{self.path} was changed after it was published\n{RESTORE}", code="changed"
            )
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
            f"{RESTORE}",
            code="changed",
        )
    return files


def _names(directory: Path) -> list[str]:
    """The names in a directory but for hidden ones, which no reader of Parquet looks at."""
    try:
        with os.scandir(directory) as entries:
            return sorted(entry.name for entry in entries if not entry.name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        raise VerificationFailed(f"{directory} is missing", code="missing") from None
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
        raise VerificationFailed(f"{path} is missing", code="missing") from None
    except OSError as error:
        raise OutputError(f"{path} can't be read: {error.strerror}") from None


def read_bytes(path: Path) -> bytes:
    """Return the content of a file; a typed error if it can't be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise VerificationFailed(f"{path} is missing", code="missing") from None
    except OSError as error:
        raise OutputError(f"{path} can't be read: {error.strerror}") from None


@dataclass(frozen=True)
class EncodedGraph:
    """A graph as it is published.

    Attributes
    ----------
    sha256, part_nodes
        What the certificate states; `part_nodes` is None for a graph in one file.
    content
        The bytes of the file; of a graph in parts the hidden folder they are in, or None if only
        the digest was asked for.
    """

    sha256: str
    part_nodes: int | None
    content: memoryview | Path | None


@contextmanager
def encoded(
    graph: SyntheticGraph, engine: Runner, directory: Path | None
) -> Iterator[EncodedGraph]:
    """Encode a graph; its parts, if it has several, one after the other into a hidden folder.

    One file or a directory: that depends on the number of nodes only. At no time are more than a
    few parts in memory.

    Parameters
    ----------
    directory
        Where the parts will be; the hidden folder is beside it, and removed when the block is
        done unless it was renamed. None to compute the digest only.
    """
    parts, part_nodes = len(graph.parts.edges()), graph.parts.part_nodes
    if parts <= 1:
        content = next(encode_parts(graph, engine), None)
        yield in_one_file(_nothing(graph) if content is None else content)
    elif directory is None:
        digests = [hashlib.sha256(part).hexdigest() for part in encode_parts(graph, engine)]
        yield EncodedGraph(digest_of_parts(digests), part_nodes, None)
    else:
        with hidden_folder(directory) as folder:
            digests = []
            for number, part in enumerate(encode_parts(graph, engine)):
                digests.append(hashlib.sha256(part).hexdigest())
                write_flushed(folder / part_name(number), part)
            yield EncodedGraph(digest_of_parts(digests), part_nodes, folder)


def encode_parts(graph: SyntheticGraph, runner: Runner) -> Iterator[memoryview]:
    """Encode each part of a released graph as a Parquet file, in order, when it is asked for."""
    parts = graph.parts.edges()
    if isinstance(graph.parts, MemoryParts) and not isinstance(runner, LocalEngine):
        # The edges are here already: other engines would send them away to be encoded.
        return (encode_part(read, graph.roster, graph.kind) for read in parts)
    return runner.map(Job(encode_part, parts, (graph.roster, graph.kind)))


def in_one_file(content: memoryview) -> EncodedGraph:
    """A graph that is one file."""
    return EncodedGraph(hashlib.sha256(content).hexdigest(), None, content)


def _nothing(graph: SyntheticGraph) -> memoryview:
    """The file of a graph without nodes, which has no parts."""
    return edge_bytes(graph.roster, Pairs.none(graph.kind), graph.kind)


def read_graph(
    files: tuple[PublishedFile, ...], certificate: Certificate, roster: Roster
) -> SyntheticGraph:
    """Read a graph over its roster; the parts of a large one are read when they are asked for."""
    if certificate.graph_part_nodes is None:
        (file,) = files
        return _read_file(file, certificate, roster)
    parts = PublishedParts(
        files, roster, certificate.graph_part_nodes, certificate.edges, certificate.kind
    )
    return SyntheticGraph.from_parts(roster, parts, time=certificate.time)


def _read_file(file: PublishedFile, certificate: Certificate, roster: Roster) -> SyntheticGraph:
    table = edge_table(file.read(), file.path)
    kind = kind_of_table(table)
    try:
        if kind != certificate.kind:
            raise DataError(f"the graph is {kind}, and its certificate says {certificate.kind}")
        ends = roster.ends(*(as_numpy(table.column(name)) for name in "uv"))
        weight = as_numpy(table.column("weight")) if kind.weighted else None
        return SyntheticGraph(roster, *ends, time=certificate.time, kind=kind, weight=weight)
    except OutsideRoster:
        raise DataError(
            f"{file.path} has an edge outside the roster\n"
            "Give the roster of the stream that the releases were made from.",
            code="other_roster",
        ) from None
    except DataError as error:
        raise DataError(f"{file.path}: {error}") from None


@dataclass(frozen=True)
class PublishedParts:
    """Edges in a directory of parts. Every file is checked against its digest when it is read.

    Attributes
    ----------
    edge_count
        As the certificate states it.
    """

    files: tuple[PublishedFile, ...]
    roster: Roster
    part_nodes: int
    edge_count: int
    kind: Kind = UNDIRECTED

    @property
    def nodes(self) -> int:
        return len(self.roster)

    def edges(self) -> list[Callable[[], Pairs]]:
        between = ranges(self.nodes, self.part_nodes)
        return [
            partial(_read_part, file, self.roster, range(*nodes), self.kind)
            for file, nodes in zip(self.files, between, strict=True)
        ]

    def rows(self) -> list[Callable[[], Rows]]:
        whole = MemoryParts(
            *self.whole(), nodes=self.nodes, part_nodes=self.part_nodes, kind=self.kind
        )
        return whole.rows()

    def let_go(self) -> None:
        """Nothing: every part is read when it is asked for."""

    def whole(self) -> Pairs:
        return self._whole

    @cached_property
    def _whole(self) -> Pairs:
        return Pairs.joined([read() for read in self.edges()])

    def __getstate__(self) -> dict[str, object]:
        """Leave out edges that were read: a worker reads its own parts."""
        return {name: value for name, value in vars(self).items() if name != "_whole"}


def _read_part(file: PublishedFile, roster: Roster, nodes: range, kind: Kind) -> Pairs:
    pairs = read_pairs(file.read(), file.path, roster, kind)
    u = pairs.u
    if u.size and not (u[0] in nodes and u[-1] in nodes):
        raise DataError(f"{file.path} lists edges of another part of the release")
    return pairs

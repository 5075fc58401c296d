"""Encoding a released graph: the bytes of its file, or of its parts, and their digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from psgraph._runtime.durable import write_flushed
from psgraph._runtime.folder import hidden_folder
from psgraph.engines.runner import Job, Runner
from psgraph.engines.threads import LocalEngine
from psgraph.graph import SyntheticGraph
from psgraph.graph.formats.edges import edge_bytes, encode_part
from psgraph.graph.parts import MemoryParts, Pairs
from psgraph.publication.graph_files import digest_of_parts, part_name

__all__ = ["EncodedGraph", "encode_parts", "encoded", "in_one_file"]


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
    none = np.empty(0, dtype=np.int32)
    return edge_bytes(graph.roster, Pairs(none, none), graph.kind)

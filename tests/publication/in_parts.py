"""Small graphs in several parts, as those of many nodes are."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path
from typing import Any

from psgraph.graph import SyntheticGraph
from psgraph.graph.parts import MemoryParts
from psgraph.methods.tmf import TmF

PART_NODES = 5


def cut(graph: SyntheticGraph, part_nodes: int = PART_NODES) -> SyntheticGraph:
    """The same graph, in parts of a few nodes each."""
    u, v = graph.parts.whole()
    parts = MemoryParts(u, v, nodes=len(graph.roster), part_nodes=part_nodes)
    return SyntheticGraph.from_parts(graph.roster, parts, time=graph.time)


class InParts(TmF):
    """TmF, with graphs that are cut into parts of a few nodes each."""

    def synthesise(self, *arguments: Any) -> SyntheticGraph:
        return cut(super().synthesise(*arguments))


def tree(directory: Path) -> dict[str, bytes]:
    """The content of all files below a directory, by name."""
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def digest_by_hand(directory: Path) -> str:
    """What the documentation says: the digest of what sha256sum prints."""
    names = sorted(path.name for path in directory.glob("part-*.parquet"))
    printed = subprocess.run(
        ["sha256sum", *names], cwd=directory, capture_output=True, check=True
    ).stdout
    return hashlib.sha256(printed).hexdigest()

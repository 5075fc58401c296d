"""Small graphs in several parts, as those of many nodes are."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from psgraph.graph import SyntheticGraph
from psgraph.graph.parts import MemoryParts
from psgraph.methods.tmf import TmF

PART_NODES = 5
NODES = 17
NAMES = [f"part-0000{number}.parquet" for number in range(4)]


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


def _swap(graph: Path) -> None:
    graph.joinpath(NAMES[1]).rename(graph / "other")
    graph.joinpath(NAMES[2]).rename(graph / NAMES[1])
    graph.joinpath("other").rename(graph / NAMES[2])


def change_a_byte(graph: Path) -> None:
    """Change a part of a graph."""
    content = bytearray(graph.joinpath(NAMES[2]).read_bytes())
    content[len(content) // 2] ^= 1
    graph.joinpath(NAMES[2]).write_bytes(content)


def _replace_by_a_file(graph: Path) -> None:
    content = graph.joinpath(NAMES[0]).read_bytes()
    shutil.rmtree(graph)
    graph.with_suffix(".parquet").write_bytes(content)


#: What can be done to the directory of a graph.
CHANGES: dict[str, Callable[[Path], object]] = {
    "swapped": _swap,
    "a byte": change_a_byte,
    "missing": lambda graph: graph.joinpath(NAMES[1]).unlink(),
    "the last one missing": lambda graph: graph.joinpath(NAMES[-1]).unlink(),
    "one more": lambda graph: shutil.copy(graph / NAMES[0], graph / "part-00004.parquet"),
    "something else": lambda graph: graph.joinpath("notes.txt").write_text("mine"),
    "renamed": lambda graph: graph.joinpath(NAMES[0]).rename(graph / "part-0.parquet"),
    "of another timestamp": lambda graph: shutil.copy(
        graph.with_name("000001") / NAMES[0], graph / NAMES[0]
    ),
    "all missing": shutil.rmtree,
    "a file beside it": lambda graph: shutil.copy(graph / NAMES[0], graph.with_suffix(".parquet")),
    "a file instead": _replace_by_a_file,
}

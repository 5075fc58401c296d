"""Graphs as GraphML, written in large chunks: for the folder of analysts and for downloads."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph.errors import DataError
from psgraph.graph import Roster, SyntheticGraph
from psgraph.graph.blueprint import SIDES

__all__ = ["graphml_chunks"]


def graphml_chunks(graph: SyntheticGraph) -> Iterator[bytes]:
    """Yield a graph as GraphML, in large chunks, with every node, also those without an edge.

    Weights are in ``weight``. Nodes of a two-sided graph have ``side``, left or right; where an id
    is on both sides, nodes are called ``left:ID`` and ``right:ID``.

    Raises
    ------
    DataError
        Before the first chunk, if a node id has a character that XML can't hold.
    """
    kind = graph.kind
    sides = [[str(node) for node in side.ids.tolist()] for side in graph.roster.sides]
    if not kind.two_sided:
        sides = sides[:1]
    elif not {*sides[0]}.isdisjoint(sides[1]):
        sides = [
            [f"{side}:{node}" for node in nodes] for side, nodes in zip(SIDES, sides, strict=True)
        ]
    names = np.array([_attribute(node) for nodes in sides for node in nodes], dtype=object)
    direction = "directed" if kind.directed else "undirected"
    yield (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
        f"{_SIDE_KEY if kind.two_sided else ''}{_WEIGHT_KEY if kind.weighted else ''}"
        f"{_label_keys(graph.roster)}"
        f'<graph edgedefault="{direction}">\n'
    ).encode()
    labels, cut = _label_data(graph.roster), graph.roster.offset
    for start, stop in _cuts(len(names), cut):
        side = f'<data key="side">{SIDES[start >= cut]}</data>' if kind.two_sided else ""
        rows = names[start:stop].tolist()
        if labels is None:
            ending = f">{side}</node>\n" if side else "/>\n"
            yield "".join([f"<node id={name}{ending}" for name in rows]).encode()
        else:
            both = zip(rows, labels[start:stop], strict=True)
            yield "".join(
                [f"<node id={name}>{side}{each}</node>\n" for name, each in both]
            ).encode()
    for read in graph.parts.edges():
        pairs = read()
        for start, stop in _cuts(len(pairs.u)):
            piece = pairs.between(start, stop)
            ends = zip(*(names[each].tolist() for each in piece), strict=True)
            lines = [f"<edge source={a} target={b}" for a, b in ends]
            yield _edges_text(lines, piece.weight).encode()
    yield b"</graph>\n</graphml>\n"


def _cuts(size: int, *cuts: int) -> Iterator[tuple[int, int]]:
    """Cut positions into ranges that are written at once, and at `cuts` as well."""
    starts = sorted({*range(0, size, _ROWS_AT_ONCE), *(cut for cut in cuts if cut < size)})
    return pairwise([*starts, size]) if size else iter(())


def _edges_text(lines: list[str], weight: Integers | None) -> str:
    """The elements of edges, closed or with their weights."""
    if weight is None:
        return "".join([f"{line}/>\n" for line in lines])
    weighted = zip(lines, weight.tolist(), strict=True)
    return "".join([f'{line}><data key="weight">{of}</data></edge>\n' for line, of in weighted])


_ROWS_AT_ONCE = 1 << 15
_SIDE_KEY = '<key id="side" for="node" attr.name="side" attr.type="string"/>\n'
_WEIGHT_KEY = '<key id="weight" for="edge" attr.name="weight" attr.type="int"/>\n'


def _label_keys(roster: Roster) -> str:
    """Declare label columns as node attributes."""
    return "".join(
        f'<key id="label{index}" for="node" attr.name={_attribute(name)} attr.type="string"/>\n'
        for index, name in enumerate(roster.label_columns)
    )


def _label_data(roster: Roster) -> list[str] | None:
    """The labels of every node as GraphML; None if there are none."""
    if roster.labels is None:
        return None
    columns = [
        ["" if value is None else _label(index, value) for value in values]
        for index, values in enumerate(roster.labels.to_dict().values())
    ]
    return ["".join(row) for row in zip(*columns, strict=True)]


def _label(index: int, value: str) -> str:
    _attribute(value)  # refuses what XML can't hold
    return f'<data key="label{index}">{escape(value)}</data>'


def _attribute(name: str) -> str:
    """A node id as an attribute; XML has no way to write control characters."""
    if any(letter < " " and letter not in "\t\n\r" for letter in name) or set(name) & _NO_XML:
        raise DataError(
            "a node id contains a character that GraphML does not allow\n"
            "Export as parquet, csv or combined.",
            code="graphml_character",
        )
    return quoteattr(name)


_NO_XML = {"\ufffe", "\uffff"}

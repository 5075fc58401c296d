"""Pairs at the boundaries of decisions.

A method that decides by a released edge count takes one path below some count and another above.
If it looked at the true count instead, only a pair of graphs on both sides of that boundary would
show it. The boundary is found by bisection: the count is answered with one number and another, and
the queries that follow are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from psgraph.audit.neighbours import Answers, Neighbours
from psgraph.audit.places import Board
from psgraph.audit.transcripts import Recorder, measured_stream
from psgraph.engines.threads import LocalEngine
from psgraph.errors import PsgraphError
from psgraph.graph import UNDIRECTED, Kind, Snapshot
from psgraph.methods.base import Method
from psgraph.methods.queries import EdgeCount
from psgraph.privacy.guarantee import WEventPrivacy

__all__ = ["SETTINGS", "boundary_pairs"]

LABEL = EdgeCount.label
SETTINGS = ((20, 1, 64), (2, 2, 40), (6, 3, 120), (1, 5, 24), (20, 2, 300))  # ε, w, nodes
TIMESTAMPS = 3


def boundary_pairs(
    method: Method[Any, Any],
    settings: Sequence[tuple[int, int, int]] = SETTINGS,
    *,
    most: int = 4,
    kind: Kind = UNDIRECTED,
) -> Iterator[Neighbours]:
    """Make pairs whose true edge counts are on both sides of a decision by the released count.

    Parameters
    ----------
    settings
        ε, w and the number of nodes.
    most
        The most boundaries to look at for each setting and timestamp.
    kind
        That of the graphs.
    """
    if EdgeCount not in method.queries:
        return
    for epsilon, window, nodes in settings:
        guarantee = WEventPrivacy(Fraction(epsilon), window=window)
        random = np.random.default_rng([epsilon, window, nodes])
        board = Board.of(kind, nodes)
        order = random.permutation(int(board.full.sum()))
        usual = _graph(board, order[: 4 * nodes])
        for timestamp in range(TIMESTAMPS):
            for count in _boundaries(method, guarantee, usual, timestamp)[:most]:
                below, above = (_graph(board, order[: count + more]) for more in (0, 1))
                for answer in (count, count + 1):
                    yield Neighbours(
                        f"{count} edges, and one more, at timestamp {timestamp}",
                        _stream(usual, below, timestamp),
                        _stream(usual, above, timestamp),
                        guarantee,
                        frozenset({timestamp}),
                        answers=_answering(timestamp, answer),
                    )


def _boundaries(
    method: Method[Any, Any], guarantee: WEventPrivacy, usual: Snapshot, timestamp: int
) -> list[int]:
    """Counts m so that a timestamp goes on differently after m and m + 1 released edges."""
    largest = usual.pair_count - 1
    grid = sorted({0, *(2**k for k in range(int(largest).bit_length())), largest})
    stream = _stream(usual, usual, timestamp)

    def path(count: int) -> Any:
        recorder = Recorder(answers=_answering(timestamp, count))
        try:
            list(measured_stream(method, stream, guarantee, LocalEngine(), recorder))
        except PsgraphError as error:  # told by the replay
            return type(error).__name__
        calls = (call.facts for each in recorder.transcripts[timestamp:] for call in each.calls)
        return tuple(calls)

    paths = [path(count) for count in grid]
    found = []
    for low, high, before, after in zip(grid, grid[1:], paths, paths[1:], strict=False):
        while before != after and high - low > 1:
            middle = (low + high) // 2
            between = path(middle)
            low, high = (middle, high) if between == before else (low, middle)
            after = after if low == middle else between
        if before != after:
            found.append(low)
    return found


def _answering(timestamp: int, count: int) -> Answers:
    return Answers(fixed={(timestamp, LABEL): count})


def _stream(usual: Snapshot, then: Snapshot, timestamp: int) -> tuple[Snapshot, ...]:
    """The usual graph, another one at one timestamp, and the usual one again."""
    return (*(usual,) * timestamp, then, usual)


def _graph(board: Board, numbers: Any) -> Snapshot:
    graph = np.zeros((board.rows, board.columns), dtype=bool)
    rows, columns = np.nonzero(board.full)
    graph[rows[numbers], columns[numbers]] = True
    weights = np.ones(graph.shape, dtype=np.int64) if board.kind.weighted else None
    return board.snapshot(graph, weights=weights)

"""Whose rows they are, and how many rows of an owner are used.

At most θ distinct edges (of flows: rows) of an owner are used at a timestamp: those with the
smallest coins. A coin depends on a public key, the owner and the pair, and of flows on k for the
k-th row of the owner with this pair. It depends on no time, so that a stable tie stays in use, and
on no other row, so that the edges in use of all other owners are the same whether an owner's rows
are in the data or not. proofs/people.md.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers, Positions, Words
from psgraph._runtime.resources import check_space, scratch_directory, writing_scratch
from psgraph.errors import InvalidArgument
from psgraph.graph import Dropped, Kind, Roster, Snapshot
from psgraph.graph.bound import Bound
from psgraph.graph.formats.columns import as_numpy
from psgraph.graph.formats.tables import column_positions
from psgraph.graph.graphs import checked_weights
from psgraph.privacy.unit import Owner
from psgraph.streams.overflow import LOOKED_UP, MOST_HELD, EdgeWriter, Gathered, Rows

__all__ = ["OwnedRows", "Owners", "digests", "unit_of"]

#: Files that rows are divided into, by their owner, if they don't fit into memory.
_FILES = 64

_FIELDS = 5
"""Integers of a row in such a file: the owner (two), both ends, and the weight."""


class _Kept(NamedTuple):
    """The edges in use of some owners, and what is known about all of their rows."""

    u: Positions
    v: Positions
    weight: Integers | None
    sizes: Integers
    digest: int
    dropped: Dropped


class _Rows(NamedTuple):
    """Rows as numbers: digests of the owners, positions of the ends, weights if there are any."""

    owner: Words
    u: Positions
    v: Positions
    weight: Integers | None

    @classmethod
    def joined(cls, pieces: Iterable[_Rows], *, weighted: bool) -> _Rows:
        pieces = [_none(weighted), *pieces]
        weights = [piece.weight for piece in pieces if piece.weight is not None]
        return cls(
            np.concatenate([piece.owner for piece in pieces]),
            np.concatenate([piece.u for piece in pieces]),
            np.concatenate([piece.v for piece in pieces]),
            np.concatenate(weights) if weights else None,
        )

    def where(self, keep: NDArray[Any]) -> _Rows:
        weight = None if self.weight is None else self.weight[keep]
        return _Rows(self.owner[keep], self.u[keep], self.v[keep], weight)


@dataclass(frozen=True)
class Owners:
    """Bounds what owners contribute to a timestamp.

    Parameters
    ----------
    unit
        The column of the owners, and the bound.
    kind
        The kind of the graphs.

    Examples
    --------
    >>> from psgraph.graph.kind import TWO_SIDED
    >>> from psgraph.graph import TwoSidedRoster
    >>> owners = Owners(Owner("u", at_most=1), TWO_SIDED)
    >>> roster = TwoSidedRoster(["ann", "bob"], [7, 8, 9])
    >>> snapshot = owners.of_graph(Snapshot(roster, [0, 0, 0, 1], [2, 3, 4, 2]))
    >>> snapshot.parts.edge_count, snapshot.owner_sizes.tolist(), snapshot.bound.column
    (2, [1, 3], 'u')
    """

    unit: Owner
    kind: Kind

    @cached_property
    def key(self) -> bytes:
        """The public key of the coins: fixed by the terms of the stream, except the bound.

        A larger bound uses the same edges, and more.
        """
        terms = f"psgraph owners 1\0{self.kind.name}\0{self.unit.flows:d}\0{self.unit.column}"
        return hashlib.sha256(terms.encode()).digest()

    def coins(self, owner: Words, u: Words, v: Words, k: Integers) -> Words:
        """Return 128 pseudorandom bits for each row: CBC-MAC with AES-256 over three blocks.

        On messages of one length CBC-MAC is a pseudorandom function. AES-CMAC, which also takes
        other lengths, is not available for many messages at once; this is three vectorised calls.
        """
        block = np.ascontiguousarray(owner, dtype="<u8")
        block = self._cipher(block) ^ np.stack([u, v], axis=1)
        block = self._cipher(block) ^ np.stack([k.astype(np.uint64), np.zeros_like(u)], axis=1)
        return self._cipher(block)

    def _cipher(self, blocks: Words) -> Words:
        # One block of each message: ECB here is the block cipher itself, for many blocks at once.
        mode = modes.ECB()
        cipher = Cipher(algorithms.AES(self.key), mode).encryptor()
        content = cipher.update(np.ascontiguousarray(blocks, dtype="<u8").tobytes())
        return np.frombuffer(content, dtype="<u8").reshape(-1, 2)

    def of_graph(self, graph: Snapshot) -> Snapshot:
        """Bound a snapshot whose owners are ends of its edges; one that keeps the bound stays.

        Raises
        ------
        InvalidArgument
            A graph has no such column, or it was bounded for other owners.
        """
        if unit_of(graph) == self.unit:
            return graph
        if graph.bound is not None or self.unit.side is None or self.kind.flows:
            raise InvalidArgument(
                f"a graph does not say which rows belong to an owner in {self.unit.column!r}\n"
                "Give a table with a row for each edge and a column of owners.",
                code="owner",
            )
        side = {"first": graph.u, "second": graph.v}[str(self.unit.side)]
        words = _node_words(graph.roster, self.key)
        rows = _Rows(words[side], graph.u, graph.v, graph.weight)
        return self.used(rows, graph.roster, time=graph.time, dropped=graph.dropped)

    def used(
        self, rows: _Rows, roster: Roster, *, time: str | None, dropped: Dropped | None = None
    ) -> Snapshot:
        """Return the snapshot of the rows in use."""
        kept = self.bounded(rows, roster)
        return Snapshot(
            roster,
            kept.u,
            kept.v,
            time=time,
            kind=self.kind,
            weight=kept.weight,
            dropped=kept.dropped if dropped is None else dropped + kept.dropped,
            owner_sizes=kept.sizes,
            bound=self.bound(kept.digest),
        )

    def bound(self, digest: int) -> Bound:
        """Return what a snapshot states about its bound."""
        return Bound(self.unit.column, self.unit.at_most, f"{digest:032x}")

    def bounded(self, rows: _Rows, roster: Roster) -> _Kept:
        """Return the edges in use: at most θ of each owner, with the smallest coins.

        *Complexity*: O(m log m) for m rows.
        """
        loops = 0
        if self.kind.rosters == 1:
            apart = rows.u != rows.v
            loops = int(apart.size - np.count_nonzero(apart))
            rows = rows.where(apart)
        u, v = self.kind.ordered(rows.u, rows.v)
        order = np.lexsort((v, u, rows.owner[:, 1], rows.owner[:, 0]))
        owner, u, v = rows.owner[order], u[order], v[order]
        weight = None if rows.weight is None else rows.weight[order]
        first = _changes(owner[:, 0], owner[:, 1], u, v)
        begins, repeats = np.flatnonzero(first), 0
        if self.kind.flows:
            numbers = np.arange(u.size) - begins[np.cumsum(first) - 1]
        else:
            repeats = 0 if self.kind.weighted else int(u.size - begins.size)
            numbers = np.zeros(begins.size, dtype=np.int64)
            owner, u, v = owner[begins], u[begins], v[begins]
            if weight is not None and begins.size:
                most = self.kind.largest_weight or 1
                sums = np.add.reduceat(np.minimum(weight, most).astype(np.int64), begins)
                weight = np.minimum(sums, most)
        words = _node_words(roster, self.key)[:, 0]
        ends = words[u], words[v]
        if self.kind.sides == 1:  # the order of positions may change with the roster
            ends = np.minimum(*ends), np.maximum(*ends)
        coins = self.coins(owner, *ends, numbers)
        group = np.cumsum(_changes(owner[:, 0], owner[:, 1])) - 1
        sizes = np.bincount(group)
        by_coin = np.lexsort((numbers, v, u, coins[:, 0], group))
        rank = np.empty(u.size, dtype=np.int64)
        rank[by_coin] = np.arange(u.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        used = rank < self.unit.at_most
        return _Kept(
            u[used],
            v[used],
            None if weight is None or self.kind.flows else weight[used],
            sizes,
            self._digest(coins, weight),
            Dropped(loops, repeats),
        )

    def _digest(self, coins: Words, weight: Integers | None) -> int:
        """Add up pseudorandom numbers of the rows, whatever order they come in."""
        marks = np.ones(coins.shape, dtype=np.uint64)
        if weight is not None and not self.kind.flows:
            marks[:, 0] = weight
        low, high = self._cipher(coins ^ marks).sum(axis=0, dtype=np.uint64).tolist()
        return low | high << 64


def unit_of(snapshot: Snapshot) -> Owner | None:
    """Return the owners whose edges were bounded, as a snapshot states it."""
    bound = snapshot.bound
    return None if bound is None else Owner(*bound[:2], snapshot.kind.flows)


class OwnedRows(Gathered):
    """Takes the rows of one snapshot with their owners, and uses as many of each as are allowed.

    Rows that don't fit into memory go to files in a scratch directory, divided by their owner.

    Parameters
    ----------
    roster
        The nodes, or what finds those that have an edge. Then all rows stay in memory.
    prepare
        Brings ids to the type of the roster, and leaves out edges with an unknown one.
    begin
        Where the edges in use are written, unless they stay in memory.
    """

    def __init__(
        self,
        owners: Owners,
        types: tuple[pa.DataType, pa.DataType],
        *,
        roster: Roster | Callable[[Rows], Roster],
        prepare: Callable[[Rows], Rows],
        time: str | None,
        begin: Callable[[Roster], EdgeWriter] | None,
    ) -> None:
        super().__init__()
        self._owners, self._types, self._prepare = owners, types, prepare
        self._roster, self._time, self._begin = roster, time, begin
        self._new = self._held = 0
        self._found: list[_Rows] = []
        self._scratch = ExitStack()
        self._files: list[Path] = []

    def add(self, *columns: pa.Array | None) -> None:
        super().add(*columns)
        self._new += 0 if columns[0] is None else len(columns[0])
        if self._new >= LOOKED_UP and isinstance(self._roster, Roster):
            self._look_up()

    def snapshot(self) -> Snapshot:
        """Return the snapshot of all rows added."""
        with self._scratch:
            return self._snapshot()

    def _snapshot(self) -> Snapshot:
        roster = self._look_up()
        if self._begin is None:
            return self._owners.used(self._joined(), roster, time=self._time)
        pieces = map(self._read, self._files) if self._files else iter([self._joined()])
        writer, sizes, digest, dropped = self._begin(roster), [], 0, Dropped()
        for piece in pieces:
            kept = self._owners.bounded(piece, roster)
            writer.add(kept.u, kept.v, kept.weight)
            sizes.append(kept.sizes)
            digest, dropped = _added(digest, kept.digest), dropped + kept.dropped
        return writer.finish(
            dropped=dropped,
            owner_sizes=np.sort(np.concatenate(sizes)),
            bound=self._owners.bound(digest),
        )

    def _joined(self) -> _Rows:
        return _Rows.joined(self._found, weighted=self._weighted)

    def _look_up(self) -> Roster:
        """Bring rows to numbers; write them to files if they are too many."""
        rows = self._prepare(self.take(self._types))
        roster = self._roster if isinstance(self._roster, Roster) else self._roster(rows)
        self._found.append(self._numbered(rows, roster))
        self._held, self._new = self._held + self._new, 0
        if self._begin is None or not (self._files or self._held > MOST_HELD):
            return roster
        with writing_scratch():
            if not self._files:
                place = self._scratch.enter_context(scratch_directory())
                self._files = [place / f"owners-{number:02d}" for number in range(_FILES)]
            self._spill()
        self._found = []
        return roster

    @property
    def _weighted(self) -> bool:
        return self._owners.kind.weighted and not self._owners.kind.flows

    def _numbered(self, rows: Rows, roster: Roster) -> _Rows:
        u, v = column_positions(rows.heads, rows.tails, roster)
        roster.refuse_outside(u, v, time=self._time)
        weight = None
        if self._weighted:
            given = None if rows.weight is None else as_numpy(rows.weight)
            weight = checked_weights(given, u.size)
        key, side = self._owners.key, self._owners.unit.side
        if side is not None:
            owner = _node_words(roster, key)[u if side == "first" else v]
        else:
            owner = _column_words(rows.owner, key)
        return _Rows(owner, u, v, weight)

    def _spill(self) -> None:
        for rows in self._found:
            weight = np.ones(rows.u.size, np.int64) if rows.weight is None else rows.weight
            table = np.empty((rows.u.size, _FIELDS), dtype=np.uint64)
            table[:, :2] = rows.owner
            table[:, 2], table[:, 3], table[:, 4] = rows.u, rows.v, weight
            check_space(self._files[0].parent, table.nbytes)
            number = table[:, 0] % np.uint64(_FILES)
            for place in np.unique(number).tolist():
                with self._files[place].open("ab") as file:
                    table[number == place].tofile(file)

    def _read(self, path: Path) -> _Rows:
        found = np.fromfile(path, dtype=np.uint64) if path.exists() else np.empty(0, np.uint64)
        table = found.reshape(-1, _FIELDS)
        weight = table[:, 4].astype(np.int64) if self._weighted else None
        u, v = table[:, 2].astype(np.int32), table[:, 3].astype(np.int32)
        return _Rows(np.ascontiguousarray(table[:, :2]), u, v, weight)


def _added(one: int, other: int) -> int:
    """Add digests: two sums modulo 2⁶⁴ side by side."""
    low = 2**64 - 1
    first = (one & low) + (other & low) & low
    return first | ((one >> 64) + (other >> 64) & low) << 64


def _none(weighted: bool) -> _Rows:
    nobody, nothing = np.empty((0, 2), dtype=np.uint64), np.empty(0, dtype=np.int32)
    return _Rows(nobody, nothing, nothing, np.empty(0, dtype=np.int64) if weighted else None)


def _changes(*columns: NDArray[Any]) -> NDArray[Any]:
    """Return at which rows one of the columns differs from the row before, and at the first."""
    first = np.ones(columns[0].size, dtype=bool)
    if first.size:
        first[1:] = False
    for column in columns:
        first[1:] |= column[1:] != column[:-1]
    return first


# ---- names as numbers ----


def digests(names: Iterable[object], key: bytes) -> Words:
    """Return 128 bits for each name, keyed; integers count by their decimal digits.

    >>> alike = digests([7, "7"], bytes(32))
    >>> bool((alike[0] == alike[1]).all())
    True
    """
    found = b"".join(
        hashlib.blake2b(str(name).encode(), digest_size=16, key=key).digest() for name in names
    )
    return np.frombuffer(found, dtype="<u8").reshape(-1, 2)


def _column_words(owner: pa.ChunkedArray | None, key: bytes) -> Words:
    """Return the digest of the owner of each row; each distinct owner is hashed once."""
    if owner is None or not len(owner):  # a timestamp without rows
        return np.empty((0, 2), dtype=np.uint64)
    coded = owner.combine_chunks().dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    return digests(coded.dictionary.to_pylist(), key)[as_numpy(coded.indices)]


_KNOWN: OrderedDict[tuple[str, bytes], Words] = OrderedDict()


def _node_words(roster: Roster, key: bytes) -> Words:
    """Return the digest of each node, by its id, so that it stays when a roster changes."""
    known = roster.digest, key
    if known not in _KNOWN:
        _KNOWN[known] = digests(roster.ids.tolist(), key)
        if len(_KNOWN) > 2:
            _KNOWN.popitem(last=False)
    return _KNOWN[known]

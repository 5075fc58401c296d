"""The roster of a two-sided graph: the nodes on the left, and those on the right."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psgraph._runtime.arrays import Positions
from psgraph.errors import InvalidArgument, RosterError
from psgraph.graph.roster import Ids, Roster, RosterOrIds, as_roster

__all__ = ["TwoSidedRoster"]


class TwoSidedRoster(Roster):
    """The public nodes of a two-sided graph: those on the left, and those on the right.

    The sides are name spaces of their own: user 7 and item 7 are different nodes. Positions count
    the left side first, then the right side.

    Parameters
    ----------
    left, right
        Where edges start, and where they end; obtained in the same way.

    Examples
    --------
    >>> roster = TwoSidedRoster(Roster(["ann", "bob"]), Roster([7, 8, 9]))
    >>> roster, roster.sizes
    (TwoSidedRoster(2 + 3 nodes), (2, 3))
    >>> roster.ends(["bob", "eve"], [7, 9])
    (array([ 1, -1], dtype=int32), array([2, 4], dtype=int32))
    """

    __slots__ = ("left", "right")

    _fields = ("left", "right", "ids", "declared", "labels")

    left: Roster
    right: Roster

    def __init__(self, left: RosterOrIds, right: RosterOrIds) -> None:
        one, other = as_roster(left), as_roster(right)
        assert one is not None
        assert other is not None
        if one.declared != other.declared:
            raise InvalidArgument(
                "the two sides of a roster were obtained in different ways\n"
                "Give a list for each of them."
            )
        if len(one) + len(other) >= 2**31 - 1:
            raise RosterError("a roster can hold at most 2,147,483,646 nodes")
        alike = one.strings == other.strings
        both = (one.ids, other.ids) if alike else (each.ids.astype(object) for each in (one, other))
        if one.labels is not None or other.labels is not None:
            raise InvalidArgument(
                "the nodes of two-sided graphs can't have labels yet\nGive rosters without labels."
            )
        ids = np.concatenate([*both])
        self._fill(left=one, right=other, ids=ids, declared=one.declared, labels=None)

    @classmethod
    def range(cls, nodes: int) -> Self:
        """Return 0, 1, … on both sides: `nodes` in all, the odd one on the left."""
        return cls(Roster.range(nodes - nodes // 2), Roster.range(nodes // 2))

    def __repr__(self) -> str:
        return f"TwoSidedRoster({len(self.left)} + {len(self.right)} nodes)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TwoSidedRoster):
            return NotImplemented
        return self is other or (self.left == other.left and self.right == other.right)

    __hash__ = Roster.__hash__

    @property
    def sides(self) -> tuple[Roster, Roster]:
        return self.left, self.right

    @property
    def sizes(self) -> tuple[int, ...]:
        return len(self.left), len(self.right)

    @property
    def offset(self) -> int:
        return len(self.left)

    _where_ends_belong = "Every u has to be on the left and every v on the right. "

    def refuse_outside(self, a: NDArray[Any], b: NDArray[Any], *, time: str | None) -> None:
        """Refuse edges that do not lead from a position on the left to one on the right."""
        cut = self.offset
        if a.size and (a.max() >= cut or b.min() < cut):
            b = np.full(1, -1)
        super().refuse_outside(a, b, time=time)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the digests of both sides."""
        return hashlib.sha256(
            f"two-sided\0{self.left.digest}{self.right.digest}".encode()
        ).hexdigest()

    def ends(self, heads: ArrayLike, tails: ArrayLike) -> tuple[Positions, Positions]:
        first, second = self.left.positions(heads), self.right.positions(tails)
        return first, np.where(second < 0, second, second + np.int32(self.offset))

    def end_ids(self, u: Positions, v: Positions) -> tuple[Ids, Ids]:
        return self.left.ids[u], self.right.ids[v - self.offset]

    def positions_of(self, other: Roster) -> Positions:
        found = self.ends(*(each.ids for each in other.sides))
        return np.concatenate(found)

    def positions(self, ids: ArrayLike) -> Positions:  # noqa: ARG002
        raise InvalidArgument(
            "an id of a two-sided roster has a side\nUse roster.left or roster.right."
        )

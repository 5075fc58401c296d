"""Data sets whose rows belong to people, and what is used of each person.

``trips:people`` has all trips of all riders, counted by pair: what releases are compared with.
``trips:people-2`` is what is published of it if at most two rows of a rider are used, and says so;
``trips:people-2-group`` are the same edges without their owners, for a method that is run with ε/2
for one edge instead: group privacy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from psgraph.errors import DataError, InvalidArgument
from psgraph.graph import Roster, Snapshot
from psgraph.graph.kind import DIRECTED, TWO_SIDED, Kind
from psgraph.privacy.unit import MOST_OF_AN_OWNER, Owner
from psgraph.streams import read_stream
from psgraph_lab.datasets.riders import riders_rows

__all__ = ["OWNED", "People", "find_people", "owned_stream", "simulated_rows"]

_NAME = re.compile(r"(?P<base>[\w-]+):people(?:-(?P<most>[1-9]\d*)(?P<group>-group)?)?")


@dataclass(frozen=True)
class _Rows:
    """Whose rows they are, and where they come from if there is no file."""

    owner: str
    kind: Kind
    make: Callable[[], pa.Table] | None = None


def _views(rows: pa.Table) -> pa.Table:
    """Rows as page views: the person on the left, the destination on the right."""
    return pa.table({"t": rows["t"], "u": rows["owner"], "v": rows["v"]})


def _simulated_trips() -> pa.Table:
    return riders_rows(riders=100_000, places=265, active=0.3)


def _simulated_views() -> pa.Table:
    return _views(riders_rows(riders=8_000, places=1_000, active=0.13, timestamps=20))


#: The data sets with owners, by name.
OWNED: Mapping[str, _Rows] = {
    "trips": _Rows("owner", DIRECTED.with_flows()),
    "college-messages": _Rows("u", DIRECTED),
    "film-ratings": _Rows("u", TWO_SIDED),
    "simulated-trips": _Rows("owner", DIRECTED.with_flows(), _simulated_trips),
    "simulated-views": _Rows("u", TWO_SIDED, _simulated_views),
}


@dataclass(frozen=True)
class People:
    """What the name of a data set says about people.

    Attributes
    ----------
    at_most
        How many edges, or rows of flows, of a person are used; None for all.
    group
        Whether the edges in use are given without their owners.
    """

    base: str
    at_most: int | None
    group: bool

    @property
    def unit(self) -> Owner | None:
        """The unit of privacy of what is published; None where it is an edge or a row."""
        if self.at_most is None or self.group:
            return None
        owned = OWNED[self.base]
        return Owner(owned.owner, self.at_most, owned.kind.flows)

    @property
    def truth(self) -> str:
        """The name of the data set that releases are compared with."""
        return f"{self.base}:people"

    @property
    def words(self) -> str:
        """What is added to the title of the data set."""
        if self.at_most is None:
            return "by person"
        return f"θ = {self.at_most}{', without owners' if self.group else ''}"


def find_people(name: str) -> People | None:
    """Read the name of a data set; None if it says nothing about people.

    >>> find_people("trips:people-2")
    People(base='trips', at_most=2, group=False)
    >>> find_people("trips:undirected") is None
    True
    """
    found = _NAME.fullmatch(str(name).lower())
    if found is None:
        return None
    if found["base"] not in OWNED:
        raise InvalidArgument(
            f"the rows of {found['base']!r} have no owners\nChoose one of: {', '.join(OWNED)}."
        )
    most = found["most"]
    return People(found["base"], None if most is None else int(most), bool(found["group"]))


def owned_stream(people: People, path: Path | None) -> list[Snapshot]:
    """Return the snapshots of a data set with owners, from its file or made."""
    rows, owned = _rows(people.base, path), OWNED[people.base]
    u, v = (np.unique(rows[name]) for name in ("u", "v"))
    nodes: dict[str, Any] = {"left": Roster(u), "right": Roster(v)}
    if not owned.kind.two_sided:
        nodes = {"roster": Roster(np.union1d(u, v)), "kind": owned.kind.name}
    at_most = people.at_most or MOST_OF_AN_OWNER
    stream = read_stream(rows, **nodes, owner=owned.owner, at_most=at_most, flows=owned.kind.flows)
    snapshots = list(stream)
    return snapshots if people.unit is not None else [_without_owners(each) for each in snapshots]


def _without_owners(snapshot: Snapshot) -> Snapshot:
    return Snapshot(
        snapshot.roster,
        snapshot.u,
        snapshot.v,
        kind=snapshot.kind,
        weight=snapshot.weight,
        time=snapshot.time,
    )


@lru_cache(maxsize=2)
def _rows(name: str, path: Path | None) -> pa.Table:
    """The rows of a data set; a row of a file is one row, whatever its weight."""
    owned = OWNED[name]
    if owned.make is not None:
        return owned.make()
    assert path is not None
    columns = dict.fromkeys(("t", "u", "v", owned.owner))
    if owned.owner not in pq.read_schema(path).names:
        raise DataError(
            f"{path.name} has no column {owned.owner!r}: a copy that `psgraph datasets fetch` made "
            "has no owners\nUse the file it was made from."
        )
    return pq.read_table(path, columns=list(columns))


def simulated_rows(name: str) -> list[Snapshot]:
    """Make the snapshots of a simulated data set, all rows together."""
    return owned_stream(People(name, None, group=False), None)

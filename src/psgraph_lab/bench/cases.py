"""The benchmark cases and their targets."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = [
    "CASES",
    "LARGE_CASES",
    "LATER_CASES",
    "METHOD_CASES",
    "MOST_GROWTH",
    "Case",
    "find_case",
]

Limits = tuple[str, float | None, float | None]


@dataclass(frozen=True)
class Case:
    """A stream to publish, and its targets.

    Attributes
    ----------
    timestamps, nodes, edges
        Size of the synthetic stream; nodes and edges are per snapshot.
    untimed
        Number of timestamps at the start that are not timed. With one, the timed ones reuse its
        communities.
    repeats
        Number of passes; the fastest counts.
    data
        Name of the Parquet file of the real stream, which is used where it is available.
    most_seconds, most_gigabytes, most_floors
        Targets: total seconds, peak memory of the process, seconds as a multiple of the floor.
    method_seconds
        Targets in seconds for the other methods; each may use 1 GB.
    method_floors
        Targets for other methods: seconds as a multiple of the floor, and peak memory.
    methods
        The methods that can be timed on a stream of this size; all of them if empty.
    stored
        The timestamps in the store that the case reads, if it reads one.
    """

    name: str
    title: str
    timestamps: int
    nodes: int
    edges: int
    untimed: int = 0
    repeats: int = 1
    data: str | None = None
    most_seconds: float | None = None
    most_gigabytes: float | None = None
    most_floors: float | None = None
    method_seconds: tuple[tuple[str, float], ...] = ()
    method_floors: tuple[Limits, ...] = ()
    methods: tuple[str, ...] = ()
    stored: int = 1

    def of(self, method: str) -> Case:
        """Return the case with the targets of a method."""
        if method == "psgraph":
            return self
        seconds = dict(self.method_seconds).get(method)
        floors = {name: limits for name, *limits in self.method_floors}
        ratio, gigabytes = floors.get(method, (None, 1.0 if seconds else None))
        return replace(self, most_seconds=seconds, most_floors=ratio, most_gigabytes=gigabytes)

    def shrunk(self) -> Case:
        """A twentieth of the stream, without targets: enough to show that the benchmark works."""
        return replace(
            self,
            title=f"{self.title}, a twentieth of it",
            timestamps=max(self.timestamps // 20, self.untimed + 1),
            nodes=self.nodes // 20,
            edges=self.edges // 20,
            repeats=2,
            data=None,
            most_seconds=None,
            most_gigabytes=None,
            most_floors=None,
            method_seconds=(),
            method_floors=(),
        )


_SCALE = ("psgraph", "psgraph-plus")

CASES = (
    Case(
        "as-733",
        "As-733",
        timestamps=147,
        nodes=4_180,
        edges=7_784,
        repeats=5,
        data="as733.parquet",
        most_seconds=3,
        most_floors=2,
        method_floors=(("psgraph-plus", 2.5, 0.4),),
    ),
    Case(
        "as-caida",
        "As-caida",
        timestamps=25,
        nodes=22_530,
        edges=45_858,
        repeats=5,
        data="ascaida.parquet",
        most_seconds=2,
        most_floors=1.8,
        method_seconds=(
            ("tmf", 3),
            ("privgraph", 4),
            ("ldpgen", 10),
            ("der", 60),
            ("privhrg", 300),
        ),
        method_floors=(("psgraph-plus", 2.5, 0.4),),
    ),
    Case(
        "million-finding",
        "1M nodes, finding communities",
        timestamps=1,
        nodes=1_000_000,
        edges=5_000_000,
        repeats=3,
        most_seconds=5,
        most_gigabytes=1.5,
        most_floors=6,
        methods=_SCALE,
    ),
    Case(
        "million-keeping",
        "1M nodes, keeping communities",
        timestamps=2,
        nodes=1_000_000,
        edges=5_000_000,
        untimed=1,
        repeats=3,
        most_seconds=2.5,
        most_gigabytes=1.5,
        most_floors=6,
        methods=_SCALE,
    ),
)

METHOD_CASES = CASES[:2]
"""The streams on which all methods are timed; on the other cases only those that scale."""

LARGE_CASES = (
    Case(
        "200k-1m",
        "200k nodes, 1M edges",
        timestamps=1,
        nodes=200_000,
        edges=1_000_000,
        repeats=3,
        methods=_SCALE,
    ),
    Case(
        "1m-5m",
        "1M nodes, 5M edges",
        timestamps=1,
        nodes=1_000_000,
        edges=5_000_000,
        repeats=3,
        most_floors=2.5,
        method_floors=(("psgraph-plus", 3.5, 1.2),),
        methods=_SCALE,
        stored=2,
    ),
    Case(
        "2m-10m",
        "2M nodes, 10M edges",
        timestamps=1,
        nodes=2_000_000,
        edges=10_000_000,
        repeats=3,
        methods=_SCALE,
    ),
    Case(
        "10m-50m",
        "10M nodes, 50M edges",
        timestamps=1,
        nodes=10_000_000,
        edges=50_000_000,
        most_gigabytes=3,
        most_floors=4,
        methods=_SCALE,
    ),
    Case(
        "10m-100m",
        "10M nodes, 100M edges",
        timestamps=1,
        nodes=10_000_000,
        edges=100_000_000,
        most_gigabytes=4,
        most_floors=4,
        method_floors=(("psgraph-plus", 5, 4),),
        methods=_SCALE,
        stored=2,
    ),
)
"""What ``psgraph bench --large`` publishes, from stores."""

LATER_CASES = (
    Case(
        "1m-5m-later",
        "1M nodes, 5M edges, later",
        timestamps=2,
        nodes=1_000_000,
        edges=5_000_000,
        untimed=1,
        repeats=3,
        method_floors=(("psgraph-plus", 3, 1.2),),
        methods=_SCALE,
        stored=2,
    ),
    Case(
        "10m-100m-later",
        "10M nodes, 100M edges, later",
        timestamps=2,
        nodes=10_000_000,
        edges=100_000_000,
        untimed=1,
        method_floors=(("psgraph-plus", 5, 4),),
        methods=_SCALE,
        stored=2,
    ),
)
"""The second timestamp of the same stores, which ``--large --methods`` times as well."""

MOST_GROWTH = 1.15
"""Target for the growth exponent: k times the edges take at most k to this power of the time."""


def find_case(name: str, *, quick: bool = False) -> Case:
    """Find a case by its name.

    >>> find_case("as-caida").most_seconds
    2
    """
    case = next(case for case in (*CASES, *LARGE_CASES, *LATER_CASES) if case.name == name)
    return case.shrunk() if quick else case

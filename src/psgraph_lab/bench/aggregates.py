"""The same three aggregates with psgraph's engines and with what a user would otherwise write.

The edge count, the degree of every node, and the number of edges per unordered pair of 1,000
blocks, read from the edge files of one store. Blocks are random, the same for all. The answers
are compared: every library has to give the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any, cast

import numpy as np

from psgraph._runtime.arrays import Integers, Labels
from psgraph._runtime.resources import peak_bytes
from psgraph.engines.threads import LocalEngine
from psgraph.graph import Snapshot
from psgraph.graph.kind import UNDIRECTED
from psgraph.methods.private import PrivateEdges
from psgraph.methods.queries import BlockEdges, Degrees, EdgeCount
from psgraph.privacy.query import Query
from psgraph.stores import open_store
from psgraph.stores.part_files import Kept, StoredParts

__all__ = ["BLOCKS", "LIBRARIES", "Question", "missing_library", "time_aggregates"]

BLOCKS = 1_000
_PASSES = 2  # the faster one counts: the first also compiles, imports and connects


@dataclass(frozen=True)
class Question:
    """The files of a store, the block of every node, and what workers held at most."""

    snapshot: Snapshot
    files: list[str]
    labels: Labels
    peaks: list[int] = field(default_factory=list)

    @property
    def nodes(self) -> int:
        return self.labels.size

    def cells(self, a: Any, b: Any, counts: Any) -> Integers:
        """Add up counts of pairs of blocks, in any order, to one vector."""
        low, high = (ends.astype(np.int64) for ends in UNDIRECTED.ordered(a, b))
        cells = UNDIRECTED.cell_of(low, high, BLOCKS, inside=True)
        size = UNDIRECTED.cell_count(BLOCKS, inside=True)
        return np.bincount(cells, weights=counts, minlength=size).astype(np.int64)

    def spread(self, nodes: Any, counts: Any) -> Integers:
        """Put counts of some nodes into one vector."""
        degrees = np.zeros(self.nodes, dtype=np.int64)
        degrees[np.asarray(nodes)] = np.asarray(counts)
        return degrees


Answers = dict[str, Callable[[], int | Integers]]


@contextmanager
def _local(question: Question) -> Iterator[Answers]:
    yield _with_engine(LocalEngine(), question)


@contextmanager
def _cluster(question: Question) -> Iterator[Answers]:
    with import_module("psgraph.engines.dask").DaskEngine() as engine:
        yield _with_engine(engine, question)
        question.peaks.extend(engine.client.run(peak_bytes).values())


def _with_engine(engine: Any, question: Question) -> Answers:
    def answer(query: Query[Any]) -> Any:
        # Counted again each time: within a timestamp, queries share what they count.
        return query.answer(PrivateEdges(question.snapshot, engine))

    return {
        "edge count": lambda: answer(EdgeCount()),
        "degrees": lambda: answer(Degrees()),
        "block counts": lambda: answer(BlockEdges(question.labels, BLOCKS)),
    }


@contextmanager
def _duckdb(question: Question) -> Iterator[Answers]:
    import pyarrow as pa

    duckdb = import_module("duckdb")
    base = duckdb.connect()
    base.execute("SET preserve_insertion_order = false")
    edges = f"read_parquet({question.files!r})"
    nodes = np.arange(question.nodes, dtype=np.int32)
    base.register("blocks", pa.table({"node": nodes, "block": question.labels}))

    def columns(query: str) -> tuple[Any, ...]:
        return tuple(base.execute(query).fetchnumpy().values())

    ends = f"SELECT u AS node FROM {edges} UNION ALL SELECT v FROM {edges}"
    pairs = (
        f"SELECT a.block AS a, b.block AS b, count(*) AS c FROM {edges} "
        "JOIN blocks a ON u = a.node JOIN blocks b ON v = b.node GROUP BY ALL"
    )
    yield {
        "edge count": lambda: int(columns(f"SELECT count(*) FROM {edges}")[0][0]),
        "degrees": lambda: question.spread(
            *columns(f"SELECT node, count(*) AS c FROM ({ends}) GROUP BY node")
        ),
        "block counts": lambda: question.cells(*columns(pairs)),
    }
    base.close()


@contextmanager
def _polars(question: Question) -> Iterator[Answers]:
    pl = import_module("polars")
    edges = pl.scan_parquet(question.files)
    nodes = np.arange(question.nodes, dtype=np.int32)
    blocks = pl.LazyFrame({"node": nodes, "block": question.labels})

    def columns(frame: Any) -> tuple[Any, ...]:
        found = frame.collect(engine="streaming")
        return tuple(column.to_numpy() for column in found.get_columns())

    ends = pl.concat([edges.select(node="u"), edges.select(node="v")])
    pairs = edges.join(blocks.rename({"block": "a"}), left_on="u", right_on="node").join(
        blocks.rename({"block": "b"}), left_on="v", right_on="node"
    )
    yield {
        "edge count": lambda: int(columns(edges.select(pl.len()))[0][0]),
        "degrees": lambda: question.spread(*columns(ends.group_by("node").len())),
        "block counts": lambda: question.cells(*columns(pairs.group_by("a", "b").len())),
    }


@contextmanager
def _dask_dataframe(question: Question) -> Iterator[Answers]:
    frames, delayed = import_module("dask.dataframe"), import_module("dask")
    distributed = import_module("dask.distributed")
    with (
        distributed.LocalCluster(dashboard_address=None, threads_per_worker=1) as cluster,
        distributed.Client(cluster) as client,
    ):
        edges = frames.read_parquet(question.files)
        labels = delayed.delayed(client.scatter(question.labels, broadcast=True))

        def degrees() -> Integers:
            ends = [edges[[end]].rename(columns={end: "node"}) for end in "uv"]
            found = frames.concat(ends).groupby("node").size().compute()
            return question.spread(found.index, found)

        def block_counts() -> Integers:
            found = edges.map_partitions(_with_blocks, labels, meta={"a": "int32", "b": "int32"})
            counts = found.groupby(["a", "b"]).size().compute()
            a, b = (counts.index.get_level_values(name).to_numpy() for name in "ab")
            return question.cells(a, b, counts.to_numpy())

        yield {
            "edge count": lambda: len(edges),
            "degrees": degrees,
            "block counts": block_counts,
        }
        question.peaks.extend(client.run(peak_bytes).values())


def _with_blocks(frame: Any, labels: Labels) -> Any:
    """Return the blocks of both ends; labels are broadcast, not joined row by row."""
    a, b = labels[frame.u.to_numpy()], labels[frame.v.to_numpy()]
    return type(frame)({"a": np.minimum(a, b), "b": np.maximum(a, b)})


LIBRARIES: dict[str, tuple[str, Callable[..., Any]]] = {
    "psgraph, local engine": ("psgraph", _local),
    "psgraph, Dask engine": ("psgraph.engines.dask", _cluster),
    "Dask dataframe": ("dask.dataframe", _dask_dataframe),
    "DuckDB": ("duckdb", _duckdb),
    "polars": ("polars", _polars),
}
"""The module every side of the comparison needs, and how it answers."""


def missing_library(name: str) -> bool:
    """Whether a side of the comparison can't run because its package is not installed."""
    try:
        import_module(LIBRARIES[name][0])
        if name in ("psgraph, Dask engine", "Dask dataframe"):
            import_module("dask.distributed")
    except ImportError:
        return True
    return False


def time_aggregates(name: str, store: Path) -> dict[str, Any]:
    """Compute the three aggregates twice; returns seconds, peak memory and digests."""
    (snapshot,) = open_store(store)
    snapshot = _unkept(snapshot)
    nodes = len(snapshot.roster)
    question = Question(
        snapshot,
        [str(store / file.name) for file in open_store(store).manifest.snapshots[0].edges],
        np.random.default_rng(0).integers(BLOCKS, size=nodes, dtype=np.int32),
    )
    module, answers = LIBRARIES[name]
    seconds, digests = dict[str, float](), dict[str, str]()
    with answers(question) as aggregates:
        for aggregate, compute in list(aggregates.items()) * _PASSES:
            begin = perf_counter()
            answer = np.atleast_1d(np.asarray(compute(), dtype=np.int64))
            took = perf_counter() - begin
            seconds[aggregate] = min(took, seconds.get(aggregate, took))
            digests[aggregate] = hashlib.sha256(answer.tobytes()).hexdigest()
    return {
        "library": name,
        "version": _version(module),
        "seconds": seconds,
        "digests": digests,
        "peak_bytes": max(peak_bytes(), *question.peaks, 0),
    }


def _unkept(snapshot: Snapshot) -> Snapshot:
    """Have psgraph read its files each time, like the others."""
    parts = replace(cast("StoredParts", snapshot.parts), kept=Kept(0))
    return Snapshot.from_parts(snapshot.roster, parts)


def _version(module: str) -> str | None:
    try:
        return version("psgraph-dp" if module.startswith("psgraph") else module.split(".")[0])
    except PackageNotFoundError:
        return None

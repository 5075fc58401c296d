"""After `warm_up` no kernel is compiled any more, whatever is published."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numba.core.dispatcher import Dispatcher

from psgraph.graph import Roster, Snapshot
from psgraph.methods.plus import PSGraphPlus
from psgraph.methods.psgraph import PSGraph
from psgraph.metrics.comparison import compare, warm_up_metrics
from psgraph.metrics.groups import GROUPS
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.publisher import Publisher
from psgraph.publication.warmup import warm_up
from psgraph.streams.demo import demo_stream
from psgraph_lab.bench.synthetic import planted_stream


def kernels() -> dict[str, list[object]]:
    """Every kernel of psgraph and the types it has been compiled for."""
    return {
        f"{name}.{attribute}": list(value.signatures)
        for name, module in list(sys.modules.items())
        if name.startswith("psgraph.")
        for attribute, value in vars(module).items()
        if isinstance(value, Dispatcher)
    }


def streams() -> Iterator[list[Snapshot]]:
    yield demo_stream(nodes=300, timestamps=4)
    # So many super-nodes that their pairs are not written down, and more edges than are sorted
    # by comparison; then without edges, with strings, and with everyone new.
    nodes = 30_000
    planted = planted_stream(nodes=nodes, edges=70_000, timestamps=2)
    yield [Snapshot(Roster.range(nodes), u, v) for u, v in planted]
    names = Roster([f"node {number}" for number in range(200)])
    around = np.arange(200)
    empty = np.empty(0, dtype=np.int64)
    yield [
        Snapshot(names, around, (around + 7) % 200),
        Snapshot(names, empty, empty),
        Snapshot(Roster.range(150), around[:149], around[1:150]),
        Snapshot(Roster.range(0), empty, empty),
        Snapshot(Roster.range(1), empty, empty),
    ]
    u, v = np.triu_indices(40, 1)
    yield [Snapshot(Roster.range(40), u, v)] * 3


def test_nothing_is_compiled_after_the_warm_up() -> None:
    # In a process of its own: here another test may have called any kernel before.
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def check() -> None:
    warm_up(PSGraph())
    warm_up(PSGraphPlus())
    warm_up_metrics()
    before = kernels()
    assert len(before) > 20
    for number, stream in enumerate(streams()):
        repartitioning = PSGraph(always_repartition=True, between="symmetric")
        for method in (PSGraph(), repartitioning, PSGraphPlus()):
            with tempfile.TemporaryDirectory() as out:
                guarantee = WEventPrivacy("4", window=2)
                with Publisher(method, guarantee, seed=number, out=Path(out)) as publisher:
                    for snapshot in stream[:-1]:
                        release = publisher.publish(snapshot)
                        compare([snapshot], [release], groups=tuple(GROUPS))
                # Taken up again from the ledger, states come out of the file.
                with Publisher(method, guarantee, seed=number, out=Path(out)) as publisher:
                    for snapshot in stream:
                        publisher.publish(snapshot)
    new = {
        name: [types for types in found if types not in before.get(name, [])]
        for name, found in kernels().items()
    }
    new = {name: types for name, types in new.items() if types}
    assert not new, new


if __name__ == "__main__":
    check()

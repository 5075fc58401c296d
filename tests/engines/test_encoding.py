"""Every engine encodes the parts of a released graph to the same bytes, in order."""

from __future__ import annotations

import numpy as np
import pytest

from psgraph.engines.runner import Runner
from psgraph.engines.threads import LocalEngine
from psgraph.graph import Roster, SyntheticGraph
from psgraph.graph.formats.parquet import edge_bytes
from psgraph.graph.parts import MemoryParts
from psgraph.publication.graph_files import encode_parts

NODES = 40


@pytest.fixture(params=["one thread", "threads", "dask"])
def engine(request) -> Runner:
    if request.param == "dask":
        return request.getfixturevalue("dask_engine")
    return LocalEngine(threads=1 if request.param == "one thread" else 3)


@pytest.mark.parametrize("roster", [Roster.range(NODES), Roster([f"n{i}" for i in range(NODES)])])
@pytest.mark.parametrize("part_nodes", [7, NODES])
def test_parts_are_encoded_in_order(engine, roster, part_nodes):
    ends = np.random.default_rng(1).integers(0, NODES, (2, 200))
    u, v = SyntheticGraph(roster, *ends).parts.whole()
    parts = MemoryParts(u, v, nodes=NODES, part_nodes=part_nodes)
    encoded = list(encode_parts(SyntheticGraph.from_parts(roster, parts), engine))
    assert [*map(bytes, encoded)] == [bytes(edge_bytes(roster, read())) for read in parts.edges()]

"""Published and stored files, decoded from memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from psgraph.errors import DataError, UnknownKind
from psgraph.graph import Kind, Roster
from psgraph.graph.formats.parquet import edge_bytes, edge_table, read_pairs
from psgraph.graph.parts import Pairs

ROSTER, PATH = Roster.range(4), Path("edges.parquet")
PAIRS = Pairs(np.array([0, 1], dtype=np.int32), np.array([3, 2], dtype=np.int32))


def test_a_file_of_an_undirected_graph_has_no_kind_in_its_metadata():
    content = edge_bytes(ROSTER, PAIRS)
    assert b"kind" not in (pq.read_schema(pa.BufferReader(content)).metadata or {})
    u, v = read_pairs(content, PATH, ROSTER)
    assert (u.tolist(), v.tolist()) == ([0, 1], [3, 2])


@pytest.mark.parametrize("read", [edge_table, lambda *file: read_pairs(*file, ROSTER)])
def test_a_file_of_a_kind_that_is_not_known_is_refused(read):
    content = edge_bytes(ROSTER, PAIRS, Kind("signed", sides=2))
    with pytest.raises(UnknownKind):
        read(content, PATH)


@pytest.mark.parametrize("wrong", [([1, 0], [2, 3]), ([0, 0], [3, 3]), ([3], [0]), ([1], [1])])
def test_edges_that_are_not_in_normal_form_are_refused(wrong):
    u, v = (np.array(ends, dtype=np.int32) for ends in wrong)
    with pytest.raises(DataError):
        read_pairs(edge_bytes(ROSTER, Pairs(u, v)), PATH, ROSTER)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted by Linux")
def test_decoding_leaves_no_thread_behind_that_could_abort_the_end_of_a_command():
    code = """
import os
from psgraph.graph import Roster
from psgraph.graph.formats.parquet import nodes_bytes, read_nodes
content = bytes(nodes_bytes(Roster.range(300_000)))
before = len(os.listdir("/proc/self/task"))
read_nodes(content, "nodes")
print(len(os.listdir("/proc/self/task")) - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"

"""Published and stored files, decoded from memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted by Linux")
def test_decoding_leaves_no_thread_behind_that_could_abort_the_end_of_a_command():
    code = """
import os
from psgraph.graph import Roster
from psgraph.graph.formats.node_lists import nodes_bytes, read_nodes
content = bytes(nodes_bytes(Roster.range(300_000)))
before = len(os.listdir("/proc/self/task"))
read_nodes(content, "nodes")
print(len(os.listdir("/proc/self/task")) - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"

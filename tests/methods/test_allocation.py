"""Nothing is ever n × n or n × communities: peak memory stays a few hundred bytes an element.

Measured as the growth of the resident set in a process of its own, which sees the memory of
compiled code too.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = '''
import dataclasses, json, sys
from fractions import Fraction
import numpy as np
from psgraph.engines.threads import LocalEngine
from psgraph.graph import Roster, Snapshot
from psgraph.methods.private import PrivateSnapshot
from psgraph.methods.psgraph import PSGraph
from psgraph.privacy.budget import Budget
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler

def resident(field):
    for line in open("/proc/self/status"):
        if line.startswith(field):
            return 1024 * int(line.split()[1])

def graph(nodes, edges):
    rng = np.random.default_rng(1)
    weights = (1 - rng.random(nodes)) ** -0.5
    ends = rng.choice(nodes, size=(2, edges), p=weights / weights.sum())
    return Snapshot(Roster.range(nodes), ends[0], ends[1])

engine, method = LocalEngine(), PSGraph(threshold=10**6)

def timestamp(snapshot, state, seed):
    budget = Budget(Fraction(1, 5), Sampler(RandomSource.seeded(seed)))
    measurement = method.measure(PrivateSnapshot(snapshot, budget, engine), state)
    state = method.update(state, measurement)
    method.synthesise(state, None, np.random.default_rng(seed), engine)
    return state

def peak(run):
    """Bytes by which the resident set grows at most while something runs."""
    open("/proc/self/clear_refs", "w").write("5")
    before = resident("VmRSS")
    result = run()
    return resident("VmHWM") - before, result

warm = graph(2000, 6000)
state = timestamp(warm, timestamp(warm, None, 1), 2)
many = dataclasses.replace(state, labels=(np.arange(2000) // 2).astype(np.int32))
timestamp(warm, many, 3)

nodes, edges = 60_000, 180_000
snapshot = graph(nodes, edges)
size = nodes + snapshot.u.size
figures = {}
figures["found"], state = peak(lambda: timestamp(snapshot, None, 4))
figures["kept"], state = peak(lambda: timestamp(snapshot, state, 5))
# As many communities as nodes / 3: a row for each would be 60 000 × 20 000.
many = dataclasses.replace(state, labels=(np.arange(nodes) // 3).astype(np.int32))
figures["many communities"], _ = peak(lambda: timestamp(snapshot, many, 6))
figures["a row of 200 for every node"], _ = peak(lambda: np.ones((nodes, 200)))
print(json.dumps({name: bytes_ / size for name, bytes_ in figures.items()}))
'''


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc")
def test_memory_grows_with_nodes_and_edges_only():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    # Bytes per node or edge. The last figure shows that the measurement would notice.
    assert figures.pop("a row of 200 for every node") > 350
    for name, figure in figures.items():
        assert figure < 200, (name, figure)

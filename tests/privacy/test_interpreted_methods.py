"""Every method gives the same releases whether the privacy kernels are compiled or interpreted.

This is what lets coverage see inside the kernels, and shows that the machine code does what the
source says.
"""

from __future__ import annotations

import numpy as np
import pytest

from psgraph.graph import Roster, Snapshot
from psgraph.methods.registry import find_method, method_names
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.publisher import Publisher

from .interpreted import interpret


def releases(name: str, epsilon: str) -> list[list[tuple[int, int]]]:
    rng = np.random.default_rng(2)
    stream = [Snapshot(Roster.range(24), *rng.integers(0, 24, size=(2, 60))) for _ in range(2)]
    with Publisher(find_method(name)(), WEventPrivacy(epsilon, 2), seed=4) as publisher:
        return [release.graph.to_edges() for release in publisher.publish_all(stream)]


@pytest.mark.parametrize("epsilon", ["0.3", "2", "30"])
@pytest.mark.parametrize("name", method_names())
def test_compiled_and_interpreted_agree(name, epsilon, monkeypatch):
    compiled = releases(name, epsilon)
    interpret(monkeypatch)
    with np.errstate(over="ignore"):  # hashes wrap around
        assert releases(name, epsilon) == compiled

"""Publications to report on: one per kind, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from psgraph.graph import Snapshot
from psgraph.methods.registry import find_method
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.publisher import Publisher
from psgraph.streams.demo import demo_stream


@pytest.fixture(scope="session")
def stream() -> list[Snapshot]:
    return list(demo_stream(nodes=300, timestamps=5))


@pytest.fixture(scope="session")
def publications(
    tmp_path_factory: pytest.TempPathFactory, stream: list[Snapshot]
) -> dict[str, Path]:
    """The same stream published by methods that have communities and one that has none."""
    made = {}
    for name, seed in (("psgraph", None), ("tmf", None), ("privgraph", 3)):
        made[name] = tmp_path_factory.mktemp("published") / name
        guarantee = WEventPrivacy("3/2", window=3)
        method = find_method(name)()
        with Publisher(method, guarantee, out=made[name], seed=seed) as publisher:
            for _ in publisher.publish_all(stream):
                pass
    return made

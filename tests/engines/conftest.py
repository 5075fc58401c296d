"""One Dask cluster for all tests of engines: starting one takes seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from psgraph.engines.dask import DaskEngine
from tests.engines.cluster import PART_NODES


@pytest.fixture(scope="session")
def dask_engine() -> Iterator[DaskEngine]:
    """An engine with two worker processes of two threads each, stopped in the end."""
    with DaskEngine(workers=2, threads=2, part_nodes=PART_NODES) as engine:
        yield engine

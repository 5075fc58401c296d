"""A few thousand broken inputs of every kind; `make crash` tries a hundred thousand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from psgraph.errors import DataError, RosterError
from psgraph.streams import read_stream
from psgraph.streams.rosters import read_roster
from tests.crash.scenario import workspace

from .fuzz import KINDS, Playground, check

EXAMPLES = 2_500


@pytest.fixture(scope="module")
def playground() -> Iterator[Playground]:
    with workspace() as base:
        yield Playground(base)


@pytest.mark.parametrize("kind", KINDS)
def test_only_typed_errors_soon_and_without_a_node(playground: Playground, kind: str) -> None:
    share = KINDS[kind][1]
    check(playground, kind, EXAMPLES * share // 100)


def test_all_kinds_together_are_enough() -> None:
    assert sum(EXAMPLES * share // 100 for _, share in KINDS.values()) >= 2_000
    assert sum(share for _, share in KINDS.values()) == 100


def test_text_in_parquet_that_is_none(tmp_path: Path) -> None:
    """Found by the hundred thousand: Arrow reads it, and only fails when it is looked at."""
    buffers = pa.array([b"a", b"\xff", b"b"]).buffers()
    column = pa.Array.from_buffers(pa.string(), 3, buffers)
    pq.write_table(pa.table({"id": column}), tmp_path / "nodes.parquet")
    pq.write_table(pa.table({"t": [0, 0, 0], "u": column, "v": column}), tmp_path / "e.parquet")
    with pytest.raises(RosterError, match="damaged"):
        read_roster(tmp_path / "nodes.parquet")
    for options in ({"roster_from_edges": True}, {"roster": ["a", "b"]}):
        with pytest.raises(DataError, match="damaged"):
            list(read_stream(tmp_path / "e.parquet", **options))  # type: ignore[arg-type]

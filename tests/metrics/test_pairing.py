"""What compare takes, and what it refuses before anything is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import psgraph as pg
from psgraph.errors import DataError, InvalidArgument

STREAM = pg.demo_stream(nodes=300, timestamps=2)


@pytest.fixture(scope="module")
def published(tmp_path_factory: Any) -> Path:
    out = tmp_path_factory.mktemp("published") / "releases"
    pg.publish(STREAM, epsilon=1, window=2, method="tmf", out=out, seed=3)
    return out


def test_a_directory_stands_for_its_releases(published: Path) -> None:
    expected = pg.compare(STREAM, pg.read_releases(published))
    assert pg.compare(STREAM, published) == expected
    assert pg.compare(STREAM, str(published)) == expected


def test_graphs_of_another_library_are_read_over_the_nodes_of_their_release(
    published: Path,
) -> None:
    graphs = [snapshot.to_networkx() for snapshot in STREAM]
    assert pg.compare(graphs, published).mean == pg.compare(STREAM, published).mean


def test_graphs_of_another_library_need_releases_to_look_up(published: Path) -> None:
    graphs = [snapshot.to_networkx() for snapshot in STREAM]
    with pytest.raises(InvalidArgument):
        pg.compare(graphs, iter(pg.read_releases(published)))
    with pytest.raises(DataError):
        pg.compare([*graphs, graphs[0]], published)


@pytest.mark.parametrize(
    ("stream", "releases"),
    [
        ("edges.parquet", []),
        (STREAM[0], []),
        (7, []),
        (STREAM, 7),
        (STREAM, pg.SyntheticGraph(pg.Roster([1]), [], [])),
        (STREAM, [7, 7]),
        (STREAM, STREAM),
    ],
)
def test_other_things_are_refused(stream: Any, releases: Any) -> None:
    with pytest.raises(InvalidArgument):
        pg.compare(stream, releases)

"""Folders and downloads of directed, two-sided and weighted graphs, in every format."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pyarrow.parquet as pq
import pytest

import psgraph as pg
from psgraph.graph import DIRECTED, TWO_SIDED, UNDIRECTED, Kind, Roster, Snapshot, SyntheticGraph
from psgraph.graph import TwoSidedRoster as Sides
from psgraph.methods.tmf import TmF
from psgraph.publication.graphml import graphml_chunks
from psgraph.reports import export as exporting

KINDS = [
    each.with_weights(weights)
    for each in (UNDIRECTED, DIRECTED, TWO_SIDED)
    for weights in (None, 9)
]
ALIKE = [Sides(["<ann>", "bob"], [*range(9)]), Sides(["<ann>", "bob", "cem"], [*range(10)])]
SAME = [Sides([*range(3)], [*range(9)]), Sides([*range(1, 4)], [*range(9)])]


class Weighing(TmF):
    """Draws weights that depend on nothing private."""

    publishes_weights = True

    def synthesise(self, *arguments: Any) -> SyntheticGraph:
        graph = super().synthesise(*arguments)
        kind = graph.kind.with_weights(9)
        weight = np.arange(graph.edge_count) % 9 + 1
        return SyntheticGraph(graph.roster, graph.u, graph.v, kind=kind, weight=weight)


def published(kind: Kind, rosters: list[Roster], out: Path) -> Path:
    method = Weighing() if kind.weighted else TmF()
    random = np.random.default_rng(3)
    with pg.Publisher(method, pg.WEventPrivacy("20", window=1), out=out) as publisher:
        for number, roster in enumerate(rosters):
            cells = random.choice(kind.pairs(*roster.sizes), 15, replace=False)
            u, v = kind.pair_of(cells, *roster.sizes, inside=kind.two_sided)
            publisher.publish(
                Snapshot(roster, u, v + roster.offset, kind=kind, time=f"day {number}")
            )
    return out


def rosters_of(kind: Kind) -> list[Roster]:
    return [*ALIKE] if kind.two_sided else [Roster(range(9)), Roster(range(1, 9))]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_form_holds_edges_with_their_weights(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "_can_draw", lambda: False)
    out = published(kind, rosters_of(kind), tmp_path / "out")
    for format in ("csv", "graphml", "combined"):
        pg.export_releases(out, tmp_path / format, format=format)
    combined = pq.read_table(tmp_path / "combined" / "edges.parquet")
    columns = ["u", "v", *(["weight"] if kind.weighted else [])]
    assert combined.column_names == ["t", "time", *columns]
    assert (combined.schema.metadata or {}).get(b"kind", b"undirected").decode() == kind.name
    for copy, release in zip(
        pg.read_releases(tmp_path / "csv"), pg.read_releases(out), strict=True
    ):
        assert copy.graph == release.graph
        assert copy.graph.kind == kind
        table = release.graph.to_arrow()
        assert table.column_names == columns
        edges = {tuple(map(str, row.values())) for row in table.to_pylist()}
        assert edges
        with (tmp_path / "csv" / "csv" / f"00000{release.timestamp}.csv").open(newline="") as file:
            header, *rows = csv.reader(file)
        assert (header, {*map(tuple, rows)}) == (columns, edges)
        found = combined.filter(np.equal(combined["t"].to_numpy(), release.timestamp))
        assert {tuple(map(str, row.values())) for row in found.select(columns).to_pylist()} == edges
    text = (tmp_path / "combined" / "README.md").read_text()
    assert ("`weight`" in text) == kind.weighted
    assert ("`side`" in text) == kind.two_sided
    assert (f"The graphs are {kind.name}" in text) == (kind != UNDIRECTED)


@pytest.mark.parametrize("rosters", [ALIKE, SAME], ids=["mixed ids", "same ids"])
def test_the_node_list_names_the_side_of_every_node(
    rosters: list[Roster], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "_can_draw", lambda: False)
    out = published(TWO_SIDED, rosters, tmp_path / "out")
    pg.export_releases(out, tmp_path / "to")
    with (tmp_path / "to" / "nodes.csv").open(newline="") as file:
        stays = list(csv.DictReader(file))
    for time, roster in enumerate(rosters):
        for name, side in zip(("left", "right"), roster.sides, strict=True):
            listed = [
                stay["id"]
                for stay in stays
                if stay["side"] == name
                and int(stay["from"]) <= time < (int(stay["until"]) if stay["until"] else 9)
            ]
            assert listed == [str(each) for each in side.ids]


def graph_of(kind: Kind, roster: Roster) -> SyntheticGraph:
    u, v = kind.all_pairs(*roster.sizes)
    weight = np.arange(u.size) % 9 + 1 if kind.weighted else None
    return SyntheticGraph(roster, u, v + roster.offset, kind=kind, weight=weight)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_other_programs_read_the_graphml_of_every_kind(kind: Kind, tmp_path: Path) -> None:
    graph = graph_of(kind, ALIKE[0] if kind.two_sided else Roster(["<a>", "b", "c"]))
    (tmp_path / "it.graphml").write_bytes(b"".join(graphml_chunks(graph)))
    read = nx.read_graphml(tmp_path / "it.graphml")
    assert read.is_directed() == kind.directed
    expected = graph.to_networkx()
    nx.relabel_nodes(expected, str, copy=False)
    assert {*read} == {*expected}
    assert nx.utils.edges_equal(
        read.edges(data="weight"), expected.edges(data="weight"), directed=kind.directed
    )
    if kind.two_sided:
        side = {0: "left", 1: "right"}
        assert {node: side[of] for node, of in expected.nodes(data="bipartite")} == dict(
            read.nodes(data="side")
        )
    other = igraph.Graph.Read_GraphML(str(tmp_path / "it.graphml"))
    assert (other.vcount(), other.ecount()) == (len(graph.roster), graph.edge_count)
    assert other.is_directed() == kind.directed


def test_nodes_of_both_sides_with_one_id_are_told_apart(tmp_path: Path) -> None:
    graph = SyntheticGraph.from_edges([(7, "7"), (8, "7")], left=[7, 8], right=["7", "x"])
    (tmp_path / "it.graphml").write_bytes(b"".join(graphml_chunks(graph)))
    read = nx.read_graphml(tmp_path / "it.graphml")
    assert dict(read.nodes(data="side")) == {
        "left:7": "left",
        "left:8": "left",
        "right:7": "right",
        "right:x": "right",
    }
    assert {frozenset(edge) for edge in read.edges} == {
        frozenset({"left:7", "right:7"}),
        frozenset({"left:8", "right:7"}),
    }

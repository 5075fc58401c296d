"""Public labels of nodes: how they get into a roster, and what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from psgraph.errors import RosterError
from psgraph.graph import Roster, SyntheticGraph
from psgraph.graph.formats.parquet import nodes_bytes, read_nodes
from psgraph.publication.graphml import graphml_chunks
from psgraph.publication.ledger.chain import pack_roster, unpack_roster

IDS = ["dora", "bob", "alice", "carl"]


def _teams(roster: Roster) -> dict[str, str | None]:
    assert roster.labels is not None
    return dict(zip(roster.ids.tolist(), roster.labels.column("team"), strict=True))


@pytest.mark.parametrize("frame", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_rows_without_ids_are_in_the_order_in_which_the_ids_were_given(frame):
    roster = Roster(IDS, labels=frame({"team": ["red", "blue", "red", None]}))
    assert _teams(roster) == {"dora": "red", "bob": "blue", "alice": "red", "carl": None}


def test_rows_with_ids_are_found_by_them_and_a_node_without_a_row_has_no_label():
    roster = Roster(IDS, labels=pd.DataFrame({"id": ["carl", "bob"], "team": [2.0, 1.0]}))
    assert _teams(roster) == {"dora": None, "bob": "1", "alice": None, "carl": "2"}


def test_labels_are_part_of_equality_digest_and_statement_and_survive_every_stored_form():
    plain, roster = Roster(IDS), Roster(IDS, labels={"team": ["red", "blue", "red", None]})
    assert roster != plain
    assert roster.digest != plain.digest
    assert plain.statement in roster.statement
    assert "team" in roster.statement
    assert pickle.loads(pickle.dumps(roster)) == roster
    assert unpack_roster(pack_roster(roster)) == roster
    assert read_nodes(bytes(nodes_bytes(roster)), "nodes") == roster


@pytest.mark.parametrize(
    ("labels", "code"),
    [
        ({"id": ["bob", "bob"], "team": ["red", "blue"]}, "labels_twice"),
        ({"id": ["bob", "eve"], "team": ["red", "blue"]}, "labels_unknown"),
        ({"team": ["red", "blue"]}, "labels"),
        ({"team": ["red", 1, "blue", 2]}, "labels_type"),
        ({"team": [0.5, 1.5, 0.5, 2.5]}, "labels_type"),
        ({"team": ["red"] * 4}, "labels_equal"),
        ({"team": [None] * 4}, "labels_missing"),
        ({"until": ["red", "blue", "red", "blue"]}, "labels"),
        ([1, 2, 3, 4], "labels"),
    ],
)
def test_labels_that_cannot_be_used_are_refused(labels, code):
    with pytest.raises(RosterError) as refused:
        Roster(IDS, labels=labels)
    assert refused.value.code == code


def test_one_value_beside_blanks_tells_nodes_apart():
    labels = Roster(IDS, labels={"team": ["red", None, "red", None]}).labels
    assert labels.values == (("red",),)


def test_a_node_with_two_labels_is_told_how_labels_change():
    with pytest.raises(RosterError) as refused:
        Roster([*IDS, IDS[0]], labels={"team": ["red", "blue", "red", "blue", "blue"]})
    assert "`until`" in str(refused.value)
    assert "1 of 5 ids" in str(refused.value)


def test_a_column_that_names_single_nodes_is_refused_with_the_numbers_and_without_an_id():
    with pytest.raises(RosterError) as refused:
        Roster(range(1000), labels={"desk": [f"desk {number}" for number in range(1000)]})
    assert refused.value.code == "labels_rare"
    assert "1000 values for 1000 nodes" in str(refused.value)
    assert "desk 1" not in str(refused.value)


def test_a_roster_that_is_taken_from_the_edges_has_no_labels():
    with pytest.raises(RosterError) as refused:
        Roster(IDS, declared="edges", labels={"team": ["red", "blue", "red", "blue"]})
    assert refused.value.code == "labels_without_list"


def test_combinations_number_two_columns_together():
    labels = Roster(range(4), labels={"a": [1, 1, 2, None], "b": ["x", "y", "x", "x"]}).labels
    assert labels is not None
    names, numbers, sizes = labels.combinations()
    assert [names[number] for number in numbers] == [
        ("1", "x"),
        ("1", "y"),
        ("2", "x"),
        (None, "x"),
    ]
    assert np.array_equal(sizes, [1, 1, 1, 1])


LABELLED = Roster([1, 2, 3], labels={"team": ["red", None, "blue"]})


def test_labels_are_node_attributes_in_other_libraries():
    graph = SyntheticGraph(LABELLED, [0], [1])
    assert dict(graph.to_networkx().nodes(data="team")) == {1: "red", 2: None, 3: "blue"}
    assert graph.to_igraph().vs["team"] == ["red", None, "blue"]


def test_labels_are_numbers_with_their_values_in_pytorch_geometric():
    pytest.importorskip("torch_geometric")
    data = SyntheticGraph(LABELLED, [0], [1]).to_pyg()
    assert data["label_team"].tolist() == [1, -1, 0]
    assert data["label_team_values"] == ["blue", "red"]


def test_graphml_declares_labels_and_networkx_reads_them_back(tmp_path):
    networkx = pytest.importorskip("networkx")
    file = tmp_path / "graph.graphml"
    file.write_bytes(b"".join(graphml_chunks(SyntheticGraph(LABELLED, [0], [1]))))
    assert dict(networkx.read_graphml(file).nodes(data="team")) == {
        "1": "red",
        "2": None,
        "3": "blue",
    }

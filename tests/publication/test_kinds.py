"""Publishing directed and two-sided graphs: terms, certificates, files, and what is refused."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import psgraph as pg
from psgraph.errors import (
    KindMismatch,
    LedgerError,
    ReplayConflict,
    TermsChanged,
    UnknownKind,
    VerificationFailed,
)
from psgraph.graph import (
    DIRECTED,
    TWO_SIDED,
    UNDIRECTED,
    Kind,
    Roster,
    Snapshot,
    TwoSidedRoster,
)
from psgraph.methods.der import DER
from psgraph.methods.psgraph import PSGraph
from psgraph.methods.tmf import TmF
from psgraph.publication.ledger import Ledger
from psgraph.publication.ledger.chain import pack_roster, unpack_roster
from psgraph.publication.locations import ledger_of
from psgraph.publication.terms import Terms

GUARANTEE = pg.WEventPrivacy("4", window=2)
SIDES = TwoSidedRoster(Roster(["ann", "bob", "cem"]), Roster(range(40)))


def snapshots(kind: Kind, count: int = 3) -> list[Snapshot]:
    """A few snapshots of random edges."""
    random = np.random.default_rng(3)
    roster = SIDES if kind.two_sided else Roster.range(40)
    made = []
    for time in range(count):
        numbers = random.choice(kind.pairs(*roster.sizes), 30, replace=False)
        u, v = kind.pair_of(numbers, *roster.sizes, inside=kind.two_sided)
        made.append(Snapshot(roster, u, v + roster.offset, kind=kind, time=str(time)))
    return made


@pytest.mark.parametrize("method", [TmF, PSGraph])
@pytest.mark.parametrize("kind", [DIRECTED, TWO_SIDED], ids=str)
def test_releases_have_the_kind_and_are_handed_back_to_the_byte(
    tmp_path: Path, kind: Kind, method: type[pg.PSGraph]
) -> None:
    stream = snapshots(kind)
    with pg.Publisher(method(), GUARANTEE, out=tmp_path / "out") as publisher:
        made = list(publisher.publish_all(stream))
    assert {release.graph.kind for release in made} == {kind}
    for release in made:
        graph, roster = release.graph, release.graph.roster
        assert kind.is_normal(graph.u, graph.v)
        if kind.two_sided:
            assert graph.u.size == 0 or graph.u.max() < roster.offset <= graph.v.min()
    files = {file.name: file.read_bytes() for file in (tmp_path / "out").glob("0*")}
    for file in (tmp_path / "out").glob("0*.parquet"):
        file.unlink()
    with pg.Publisher(method(), GUARANTEE, out=tmp_path / "out") as publisher:
        again = list(publisher.publish_all(stream))
        assert publisher.spending.timestamps == 3
    assert [release.graph for release in again] == [release.graph for release in made]
    assert {file.name: file.read_bytes() for file in (tmp_path / "out").glob("0*")} == files
    read = pg.read_releases(tmp_path / "out")
    assert [release.graph for release in read] == [release.graph for release in made]
    assert all(b.certificate.previous == a.certificate.digest for a, b in pairwise(read))


def test_the_promise_says_what_an_edge_is(tmp_path: Path) -> None:
    for kind, words in ((UNDIRECTED, None), (DIRECTED, "directed"), (TWO_SIDED, "two-sided")):
        with pg.Publisher(TmF(), GUARANTEE, out=tmp_path / kind.name) as publisher:
            (release,) = publisher.publish_all(snapshots(kind, 1))
        stated = release.certificate.to_dict()
        assert stated.get("kind") == words
        assert stated.get("directed") == (True if kind.directed else None)
        assert pg.read_releases(tmp_path / kind.name)[0].certificate == release.certificate
        with Ledger(ledger_of(tmp_path / kind.name), writing=False) as ledger:
            assert ledger.terms.kind == kind
            assert ledger.guarantee == release.certificate.guarantee


def test_a_ledger_takes_one_kind(tmp_path: Path) -> None:
    with pg.Publisher(TmF(), GUARANTEE, out=tmp_path / "out") as publisher:
        publisher.publish(snapshots(DIRECTED)[0])
        with pytest.raises(TermsChanged):
            publisher.publish(snapshots(UNDIRECTED)[1])
    for other in (UNDIRECTED, TWO_SIDED):
        with (
            pg.Publisher(TmF(), GUARANTEE, out=tmp_path / "out") as publisher,
            pytest.raises(TermsChanged) as caught,
        ):
            publisher.publish(snapshots(other)[0], timestamp=1)
        assert caught.value.changed == {"kind": ("directed", other.name)}  # each fact once
    with pg.Publisher.resume(tmp_path / "out") as publisher:
        assert publisher.publish(snapshots(DIRECTED)[1]).graph.kind == DIRECTED


def test_without_a_ledger_a_stream_has_one_kind_too() -> None:
    with pg.Publisher(TmF(), GUARANTEE, seed=1) as publisher:
        publisher.publish(snapshots(UNDIRECTED)[0])
        with pytest.raises(TermsChanged):
            publisher.publish(snapshots(DIRECTED)[1])


def test_the_same_edges_in_another_direction_are_other_data(tmp_path: Path) -> None:
    roster = Roster.range(4)
    with pg.Publisher(TmF(), GUARANTEE, out=tmp_path / "out") as publisher:
        publisher.publish(Snapshot(roster, [0], [1], kind=DIRECTED, time="0"))
        with pytest.raises(ReplayConflict):
            publisher.publish(Snapshot(roster, [1], [0], kind=DIRECTED, time="0"), timestamp=0)


@pytest.mark.parametrize("kind", [DIRECTED, TWO_SIDED, UNDIRECTED.with_weights(8)], ids=str)
def test_a_method_that_does_not_know_a_kind_refuses_it_before_anything_is_written(
    tmp_path: Path, kind: Kind
) -> None:
    with pytest.raises(KindMismatch):
        pg.publish(snapshots(kind), epsilon=1, window=2, method=DER, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_the_input_has_and_releases_leave_out_is_in_every_certificate(tmp_path: Path) -> None:
    file = tmp_path / "calls.csv"
    file.write_text("t,caller,callee,weight\n0,1,2,1\n1,2,3,1\n")
    options = {"roster": [1, 2, 3], "columns": "u=caller,v=callee"}
    with pytest.warns(UserWarning, match="undirected"):
        pg.publish(file, epsilon=1, window=2, method="tmf", out=tmp_path / "out", **options)
    releases = pg.read_releases(tmp_path / "out")
    assert {each.certificate.dropped for each in releases} == {("direction", "weights")}
    assert all(each.certificate.published_as for each in releases)
    pg.publish(
        file,
        epsilon=1,
        window=2,
        method="tmf",
        out=tmp_path / "meant",
        kind="undirected",
        weights="none",
        **options,
    )
    assert "published_as" not in pg.read_releases(tmp_path / "meant")[0].certificate.to_dict()


def test_terms_of_undirected_graphs_are_stored_as_before() -> None:
    terms = Terms(GUARANTEE, "tmf", 1, {}, None, "exact", None)
    assert terms.on(UNDIRECTED).to_bytes() == terms.to_bytes()
    assert b"kind" not in terms.to_bytes()
    for kind in (DIRECTED, TWO_SIDED.with_weights(9)):
        on = terms.on(kind, ("weights",))
        assert Terms.from_bytes(on.to_bytes()) == on
    stored = terms.on(DIRECTED).to_bytes().replace(b'"kind":"directed"', b'"kind":"signed"')
    with pytest.raises(UnknownKind):
        Terms.from_bytes(stored)


@pytest.mark.parametrize(
    "roster",
    [
        SIDES,
        TwoSidedRoster(Roster([1, 2]), Roster(["a"])),
        TwoSidedRoster(Roster([], declared="edges"), Roster(["a"], declared="edges")),
    ],
)
def test_rosters_of_two_sides_survive_a_ledger(roster: TwoSidedRoster) -> None:
    again = unpack_roster(pack_roster(roster))
    assert again == roster
    assert again.digest == roster.digest != TwoSidedRoster(*reversed(roster.sides)).digest
    with pytest.raises(LedgerError):
        unpack_roster(pack_roster(roster)[:-1])


def test_a_file_of_another_kind_than_its_certificate_says_is_refused(tmp_path: Path) -> None:
    for kind in (UNDIRECTED, DIRECTED):
        with pg.Publisher(TmF(), GUARANTEE, out=tmp_path / kind.name, seed=1) as publisher:
            publisher.publish(snapshots(kind)[0])
    swapped = (tmp_path / "directed" / "000000.parquet").read_bytes()
    (tmp_path / "undirected" / "000000.parquet").write_bytes(swapped)
    with pytest.raises(VerificationFailed):
        pg.read_releases(tmp_path / "undirected")[0]


def test_a_roster_of_two_sides_may_grow(tmp_path: Path) -> None:
    first, second = snapshots(TWO_SIDED)[:2]
    larger = TwoSidedRoster(Roster(["ann", "bob", "cem", "dee"]), SIDES.right)
    moved = larger.positions_of(SIDES)
    with pg.Publisher(TmF(), GUARANTEE, out=tmp_path / "out") as publisher:
        publisher.publish(first)
        publisher.publish(Snapshot(larger, moved[second.u], moved[second.v], time="1"))
    with pg.Publisher(TmF(), GUARANTEE, out=tmp_path / "out") as publisher:
        again = publisher.publish(
            Snapshot(larger, moved[first.u], moved[first.v], time="0"), timestamp=0
        )
    assert again.graph.roster == SIDES

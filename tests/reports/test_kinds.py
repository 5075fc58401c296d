"""Reports on directed, two-sided and weighted releases show both sides and the weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import psgraph as pg
from psgraph.graph import DIRECTED, TWO_SIDED, Kind, Roster, Snapshot, TwoSidedRoster
from psgraph.metrics.comparison import compare
from psgraph.publication.verification import verify
from psgraph.reports.curator import Witness
from psgraph.reports.public import public_page
from psgraph.reports.quality import quality_page
from psgraph.reports.trust import trust_page

from .reading import checked


def stream_of(kind: Kind) -> list[Snapshot]:
    """Three timestamps with hubs."""
    rng = np.random.default_rng(1)
    roster = (
        TwoSidedRoster(Roster.range(30), Roster.range(60)) if kind.two_sided else Roster.range(90)
    )
    found = []
    for _ in range(3):
        u = (30 if kind.two_sided else 90) * rng.random(300) ** 2
        v = (60 if kind.two_sided else 90) * rng.random(300) ** 2 + roster.offset
        weight = rng.integers(1, 9, 300) if kind.weighted else None
        found.append(Snapshot(roster, u.astype(int), v.astype(int), kind=kind, weight=weight))
    return found


@pytest.fixture(scope="module", params=[DIRECTED.with_weights(8), TWO_SIDED], ids=str)
def published(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("kinds") / "releases"
    with pg.Publisher(
        pg.PSGraphPlus(), pg.WEventPrivacy("4", window=3), seed=1, out=out
    ) as publisher:
        list(publisher.publish_all(stream_of(request.param)))
    return out


def sides_of(kind: Kind) -> tuple[str, str]:
    return ("on the left", "on the right") if kind.two_sided else ("out-degree", "in-degree")


def test_the_public_report_states_the_kind_and_shows_each_side(published: Path) -> None:
    kind = pg.read_releases(published).certificates[0].kind
    html = public_page(published, verify(published)).html()
    page = checked(html)
    assert f"{kind.name} synthetic graphs" in page.text
    assert all(side in html for side in sides_of(kind))
    assert ("Weights of the synthetic graphs" in page.headings) == kind.weighted
    assert ("Both directions of a tie" in page.text) == kind.directed


def test_the_quality_report_has_the_metrics_of_the_kind(published: Path) -> None:
    releases = pg.read_releases(published)
    kind = releases.certificates[0].kind
    witness = Witness(3)
    comparison = compare(
        witness.watch_originals(stream_of(kind)),
        witness.watch_releases(each.graph for each in releases),
        groups=["stream"],
    )
    page = checked(quality_page(comparison, witness, releases.certificates).html())
    assert ("Reciprocity error:" in page.text) == kind.directed
    assert ("Weights" in page.headings) == kind.weighted
    assert "lustering" in page.text if kind.directed else "lustering error" not in page.text
    assert all(side in page.text for side in sides_of(kind))


def test_predictions_are_of_the_kind_and_never_say_yes(published: Path) -> None:
    found = pg.expected_errors(published, repetitions=1)
    assert not found.calibrated
    assert found.to_dict()["kind"] == found.kind.name
    assert {each.answer for each in found.verdicts} <= {"unclear", "no", "unknown", "never"}
    assert ("reciprocity" in found.statistics) == found.kind.directed
    assert ("weight_distance" in found.errors) == found.kind.weighted
    assert "clustering_error" not in found.errors
    text = checked(trust_page(found).html()).text
    assert "undirected graphs without weights only" in text

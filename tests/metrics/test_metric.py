"""A metric as an object: checked by the shipped check, added by other packages, tied to kinds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from psgraph.errors import InvalidArgument
from psgraph.graph import Roster, Snapshot, SyntheticGraph
from psgraph.graph.kind import DIRECTED
from psgraph.metrics import (
    METRICS,
    PAPER_METRICS,
    Group,
    Limits,
    Metric,
    compare,
    density_error,
    find_metric,
)
from psgraph.metrics import groups as registry
from psgraph.metrics.fidelity import MoreMetrics
from psgraph.metrics.metric import check_kinds
from psgraph.testing import check_metric
from psgraph.trust.quantities import ERRORS

STAR = Snapshot(Roster.range(4), [0, 0, 0], [1, 2, 3])
COPY = SyntheticGraph(STAR.roster, STAR.u, STAR.v)


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_passes_the_shipped_check(name: str) -> None:
    assert check_metric(METRICS[name]).subject == "metric"


@pytest.mark.parametrize("name", sorted(set(ERRORS) - set(METRICS)))
def test_the_errors_of_single_nodes_say_what_they_are(name: str) -> None:
    metric = ERRORS[name]
    assert metric.name == name
    assert metric.reading.endswith(".")


@pytest.mark.parametrize(
    "change",
    [
        {"unit": "metres"},
        {"better": "higher"},
        {"reading": " "},
        {"kinds": frozenset()},
        {"name": "Density Error"},
        {"thresholds": Limits(0.5, 0.1)},
        {"compute": lambda _: float("nan")},
        {"compute": lambda _: float("inf")},
        {"compute": lambda _: 0.5},
        {"compute": lambda pair: float(len(pair.synthetic.graph.parts.edges())) - 1},
        {"compute": lambda pair: float(pair.original.graph.u[:1].sum() > 0)},
        {"compute": lambda _: 1 // 0},
    ],
)
def test_a_broken_metric_is_found(change: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        check_metric(replace(density_error, **change))


def test_the_check_sees_a_value_that_depends_on_the_parts() -> None:
    def in_parts(pair: Any) -> float:
        same = pair.original.graph.u.size == pair.synthetic.graph.u.size
        return 0.0 if same else float(len(pair.original.graph.parts.edges()))

    with pytest.raises(AssertionError, match="parts"):
        check_metric(replace(density_error, compute=in_parts))


def test_the_check_sees_a_value_that_depends_on_the_order_of_nodes() -> None:
    def of_node_0(pair: Any) -> float:
        edges = [int((each.graph.u == 0).sum()) for each in (pair.original, pair.synthetic)]
        return float(abs(edges[0] - edges[1]))

    with pytest.raises(AssertionError, match="names of nodes"):
        check_metric(replace(density_error, compute=of_node_0))
    assert check_metric(replace(density_error, compute=of_node_0, breaks_ties=True))


class Directed:
    """A stream of directed graphs that must not be read."""

    kind = DIRECTED

    def __iter__(self) -> Iterator[Snapshot]:
        pytest.fail("the stream was read")


def test_another_kind_is_refused_before_anything_is_read() -> None:
    with pytest.raises(InvalidArgument):
        compare(Directed(), [COPY])
    with pytest.raises(InvalidArgument):
        compare(Directed(), iter([COPY]), groups=["paths"])
    check_kinds([density_error], Directed())
    with pytest.raises(InvalidArgument):
        check_kinds(PAPER_METRICS, Directed())


@dataclass(frozen=True)
class Point:
    """An entry point of another package."""

    name: str
    value: Any

    def load(self) -> Any:
        return self.value


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Point]]:
    points: list[Point] = []
    monkeypatch.setattr(registry, "entry_points", lambda **_: points)
    registry.metric_groups.cache_clear()
    yield points
    registry.metric_groups.cache_clear()


MINE = Metric(
    "edge_gap", unit="", better="lower", reading="Edges.", compute=lambda pair: float(pair is None)
)


def test_a_metric_of_another_package_is_requested_by_the_name_of_its_entry(
    installed: list[Point],
) -> None:
    installed.append(Point("mine", MINE))
    comparison = compare([STAR], [COPY], groups=["mine", "structure"])
    assert comparison.groups == ("structure", "mine")
    assert comparison.rows[0].more["edge_gap"] == 0.0
    assert comparison.table()[0][-1] == "edge gap"
    assert find_metric("edge_gap") is MINE


def test_a_group_of_another_package_is_computed_whole(installed: list[Point]) -> None:
    installed.append(Point("ours", Group("Ours", (MINE, replace(MINE, name="other_gap")))))
    assert MoreMetrics(["ours"]).names == ("edge_gap", "other_gap")


@pytest.mark.parametrize(
    "point",
    [
        Point("paths", MINE),
        Point("mine", replace(MINE, name="density_error")),
        Point("mine", Group("Mine", (MINE, MINE))),
        Point("mine", "edge_gap"),
    ],
)
def test_a_name_that_is_taken_is_refused(installed: list[Point], point: Point) -> None:
    installed.append(point)
    with pytest.raises(InvalidArgument):
        compare([STAR], [COPY], groups=["mine"])


def test_an_unknown_metric_is_refused(installed: list[Point]) -> None:
    with pytest.raises(InvalidArgument):
        find_metric("happiness")

"""Cells of an evaluation: one seeded run of a method on a data set under a guarantee."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from psgraph.graph import Snapshot, SyntheticGraph
from psgraph.graph.kind import UNDIRECTED
from psgraph.methods.registry import find_method
from psgraph.metrics.fidelity import MoreMetrics, compute_fidelity
from psgraph.metrics.groups import GROUPS, METRICS
from psgraph.metrics.metric import UNDEFINED, GraphFacts
from psgraph.privacy.guarantee import WEventPrivacy, exact_epsilon
from psgraph.publication.publisher import Publisher
from psgraph_lab.datasets.jumps import SETTLED, judged_timestamps, on_one_roster
from psgraph_lab.datasets.kinds import is_undirected, published_as, turned_back
from psgraph_lab.datasets.labelled import with_other_labels
from psgraph_lab.datasets.owned import find_people
from psgraph_lab.experiments.noisy_tables import TABLES, noisy_tables

__all__ = [
    "Cell",
    "Originals",
    "Outcome",
    "Parameter",
    "RosterKind",
    "mean_over_time",
    "publish_cell",
    "run_cell",
]

Parameter = str | int | bool
RosterKind = Literal["snapshot", "union", "without labels", "permuted labels"]
_OTHER_LABELS = ("without labels", "permuted labels")


@dataclass(frozen=True)
class Cell:
    """What is run. Equal cells give equal numbers on every machine.

    Attributes
    ----------
    parameters
        Parameters of the method that differ from its defaults, by name.
    epsilon
        A decimal number, exactly as written in a definition.
    timestamps
        The number of snapshots, from the beginning; None for all.
    share
        The share of every snapshot's edges that is kept, a decimal number; the roster stays.
    roster
        ``"snapshot"``: the nodes of a timestamp are those with an edge in it, as in the paper.
        ``"union"``: one fixed roster for all timestamps, of all nodes that occur.
        ``"without labels"``, ``"permuted labels"``: of a data set with public labels, what is
        published has none, or some that say nothing. The noise has the same seed in all three.
    """

    dataset: str
    method: str
    epsilon: str
    window: int
    repetition: int
    parameters: tuple[tuple[str, Parameter], ...] = ()
    timestamps: int | None = None
    share: str = "1"
    roster: RosterKind = "snapshot"

    @cached_property
    def seed(self) -> int:
        """Derived from the whole cell, so that no two cells share their noise.

        >>> Cell("demo", "tmf", "1", 5, 0).seed
        3256181517154641327
        """
        facts = [
            self.dataset,
            self.method,
            self.epsilon,
            self.window,
            self.repetition,
            list(self.parameters),
            self.timestamps,
            self.share,
            *([self.roster] if self.roster == "union" else []),
        ]
        digest = hashlib.sha256(json.dumps(facts, ensure_ascii=False).encode()).digest()
        return int.from_bytes(digest[:8]) >> 1

    @property
    def guarantee(self) -> WEventPrivacy:
        """What is promised: for edges, or for the owners in the name of the data set.

        Without their owners, edges of at most θ each are promised ε/θ, so that owners have ε.
        """
        people = find_people(self.dataset)
        if people is None or people.at_most is None:
            return WEventPrivacy(self.epsilon, self.window)
        if people.unit is None:
            epsilon = exact_epsilon(self.epsilon) / people.at_most
            return WEventPrivacy(epsilon, self.window)
        return WEventPrivacy(self.epsilon, self.window, people.unit)

    def of(self, stream: list[Snapshot]) -> list[Snapshot]:
        """The part of a data set that the cell uses."""
        kept = stream[: self.timestamps]
        if self.roster == "union":
            kept = on_one_roster(kept)
        if self.share == "1":
            return kept
        # The same edges for every method and repetition; smaller shares are subsets of larger ones.
        rng = np.random.default_rng(0)
        thinned = []
        for snapshot in kept:
            edges = rng.random(snapshot.u.size) < float(self.share)
            thinned.append(
                Snapshot(snapshot.roster, snapshot.u[edges], snapshot.v[edges], time=snapshot.time)
            )
        return thinned

    def published(self, snapshots: list[Snapshot]) -> list[Snapshot]:
        """What is published of these snapshots: all of it, but perhaps with other labels."""
        if self.roster not in _OTHER_LABELS:
            return snapshots
        return with_other_labels(snapshots, permuted=self.roster == "permuted labels")


@dataclass(frozen=True)
class Outcome:
    """The result of a cell: metrics averaged over time, and optionally at every timestamp.

    `source` tells versions of a method apart while it is being changed; see `needs.source_of`.
    """

    cell: Cell
    values: Mapping[str, float]
    series: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    version: str = ""
    machine: str = ""
    source: str = ""


def mean_over_time(values: Sequence[float]) -> float:
    """The mean over timestamps, excluding those where the original value is exactly zero.

    A relative error is undefined there: the denominator is the paper's γ (1e-15), and one month
    without a triangle would outweigh all others together. NaN, where a metric has no value, is
    excluded too; NaN if there is no value at all.

    >>> mean_over_time([1.0, 2.0, 5e13, float("nan")])
    1.5
    """
    numbers = np.array(values)
    numbers = numbers[~np.isnan(numbers)]
    if not numbers.size:
        return float("nan")
    defined = numbers < UNDEFINED
    return float(numbers[defined].mean()) if defined.any() else float(numbers.mean())


def run_cell(
    cell: Cell, stream: list[Snapshot], *, groups: Sequence[str] = ()
) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Publish a data set in memory; returns the metrics averaged over time and at every timestamp.

    Parameters
    ----------
    stream
        The complete data set.
    groups
        Metrics beyond those that are always computed, by the names in
        `psgraph.metrics.groups.GROUPS`.

    Examples
    --------
    >>> from psgraph.streams.demo import demo_stream
    >>> values, series = run_cell(Cell("demo", "tmf", "1", 5, 0), demo_stream(timestamps=3))
    >>> len(series["density_error"]), values["density_error"] < 0.2
    (3, True)
    """
    return publish_cell(cell, Originals.of(cell.of(stream)), groups=groups)


@dataclass(frozen=True)
class Originals:
    """Snapshots with their statistics, which are kept for all cells that are run on them.

    Attributes
    ----------
    given
        What is published of them, where that is not all: the edges in use of each owner.
    """

    snapshots: list[Snapshot]
    facts: list[GraphFacts]
    given: list[Snapshot] | None = None

    @classmethod
    def of(cls, snapshots: list[Snapshot], given: list[Snapshot] | None = None) -> Originals:
        return cls(snapshots, [GraphFacts(snapshot) for snapshot in snapshots], given)


def publish_cell(
    cell: Cell, originals: Originals, *, groups: Sequence[str]
) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Run a cell on the part of a data set that it uses; see `run_cell`."""
    kind = originals.snapshots[0].kind
    more = MoreMetrics([name for name in groups if GROUPS[name].on(kind).metrics], kind)
    series: dict[str, list[float]] = {}
    found = []
    given, turned = originals.given, is_undirected(cell.dataset)
    if given is None:
        given = cell.published(originals.snapshots)
    if turned:
        given = list(map(published_as, given))
    releases = _releases(cell, given)
    for original, (graph, communities_found) in zip(originals.facts, releases, strict=True):
        if turned:
            graph = turned_back(graph, original.graph, cell.seed)
        made = GraphFacts(graph)
        fidelity = compute_fidelity(original, made).to_dict()
        for name, value in (fidelity | more.compute(original, made)).items():
            series.setdefault(name, []).append(float("nan") if value is None else value)
        found.append(communities_found)
    values = {
        prefix + name: mean_over_time(over_time[judged.start : judged.stop])
        for prefix, judged in judged_timestamps(cell.dataset, len(found), cell.window).items()
        for name, over_time in series.items()
    }
    if kind != UNDIRECTED:
        values |= _undefined(values)
    return {**values, "communities_found": float(np.mean(found))}, series


def _releases(cell: Cell, given: list[Snapshot]) -> Iterator[tuple[SyntheticGraph, bool]]:
    """What a cell publishes, and whether communities were found at a timestamp."""
    guarantee = cell.guarantee
    if cell.method in TABLES:
        for table in noisy_tables(cell.method, given, guarantee, cell.seed):
            yield table, False
        return
    method = find_method(cell.method)(**dict(cell.parameters))
    for release in Publisher(method, guarantee, seed=cell.seed).publish_all(given):
        yield release.graph, bool(release.certificate.summary.get("communities_found", False))


def _undefined(values: Mapping[str, float]) -> dict[str, float]:
    """NaN for the metrics of other kinds that were not computed, so that nobody waits for them."""
    names = [name for name, metric in METRICS.items() if metric.kinds != {UNDIRECTED.name}]
    wanted = (prefix + name for prefix in ("", SETTLED) for name in names)
    return {name: float("nan") for name in wanted if name not in values}

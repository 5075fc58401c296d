"""Compare a stream with its releases, timestamp by timestamp.

**For the curator only.** Everything here is computed from the private edges, without noise: a
comparison is about as sensitive as the data itself and must not be published with the releases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from psgraph._runtime.extras import require_drawing
from psgraph._runtime.html import card, grid, note, paragraph
from psgraph._runtime.numbers import NO_VALUE, count
from psgraph.errors import DataError, InvalidArgument, MissingExtra
from psgraph.graph import Graph, Roster, Snapshot, SyntheticGraph
from psgraph.graph.kind import UNDIRECTED, Kind
from psgraph.metrics.fidelity import (
    Fidelity,
    MoreMetrics,
    compute_fidelity,
    mean_and_deviation,
)
from psgraph.metrics.groups import GROUPS, chosen_groups, find_metric
from psgraph.metrics.metric import GraphFacts, Metric, kind_of
from psgraph.publication.certificate import Release
from psgraph.publication.checks import check_stream
from psgraph.publication.releases import Releases, read_releases
from psgraph.streams.stream import read_item

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

__all__ = [
    "Comparison",
    "HasGraph",
    "ReleasesLike",
    "Row",
    "both_sides",
    "chosen_metrics",
    "compare",
    "records_to_pandas",
    "warm_up_metrics",
]

_MOST_ROWS = 24  # a notebook shows no more
_WARM_UP_NODES = 64


class HasGraph(Protocol):
    """A release: anything that carries a synthetic graph."""

    @property
    def graph(self) -> SyntheticGraph: ...


ReleasesLike = str | PathLike[str] | Iterable[SyntheticGraph | HasGraph]


@dataclass(frozen=True)
class Row:
    """One timestamp of a comparison: its ordinal, its time if it has one, its metrics.

    `more` holds the optional metrics by name, None where one has no value at this timestamp; it is
    empty unless groups were requested.
    """

    timestamp: int
    time: str | None
    fidelity: Fidelity
    more: Mapping[str, float | None] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Comparison:
    """The metrics of every timestamp, their mean and their standard deviation over time.

    The deviation is the sample's (divisor T − 1), and 0 for a single timestamp.

    Attributes
    ----------
    rows, mean, std
        The metrics that are always computed.
    groups
        The groups of optional metrics that were requested.
    more_mean, more_std
        Mean and deviation of the optional metrics over the timestamps that have a value, None
        where none has. Empty unless groups were requested.
    input_checked
        Whether the ledger of the releases says that they were made from these originals.
    kind
        The kind of the graphs.
    """

    rows: tuple[Row, ...]
    mean: Fidelity
    std: Fidelity
    groups: tuple[str, ...] = ()
    more_mean: Mapping[str, float | None] = field(default_factory=dict, hash=False)
    more_std: Mapping[str, float | None] = field(default_factory=dict, hash=False)
    input_checked: bool = False
    kind: Kind = UNDIRECTED

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON. It contains facts about the private edges.

        Optional metrics are under ``"more"``, in each row and for the whole, if there are any.
        """
        rows: list[dict[str, Any]] = [
            {"timestamp": row.timestamp, "time": row.time, **row.fidelity.to_dict()}
            for row in self.rows
        ]
        data: dict[str, Any] = {
            "curator_only": True,
            **self.kind.to_dict(),
            "input_checked": self.input_checked,
            "timestamps": len(self.rows),
            "rows": rows,
            "mean": self.mean.to_dict(),
            "std": self.std.to_dict(),
        }
        if self.groups:
            for entry, row in zip(rows, self.rows, strict=True):
                entry["more"] = dict(row.more)
            data["more"] = {
                "groups": list(self.groups),
                "mean": dict(self.more_mean),
                "std": dict(self.more_std),
            }
        return data

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Column headings and rows of text, the last row *mean ± standard deviation*.

        Every metric is in the unit that its heading names; a dash means that it has no value.
        """
        metrics = [find_metric(name) for name in self._metrics()]
        columns = ("timestamp", "time", *(metric.heading for metric in metrics))
        body = []
        for row in self.rows:
            values = {**row.fidelity.to_dict(), **row.more}
            numbers = (metric.number(values[metric.name]) for metric in metrics)
            body.append((str(row.timestamp), row.time or "", *numbers))
        means = {**self.mean.to_dict(), **self.more_mean}
        spreads = {**self.std.to_dict(), **self.more_std}
        body.append(
            ("mean", "", *(_spread(each, means[each.name], spreads[each.name]) for each in metrics))
        )
        return columns, body

    def to_pandas(self) -> pandas.DataFrame:
        """One row per timestamp, a column per metric. It contains facts about the private edges."""
        return records_to_pandas(
            [
                {
                    "timestamp": row.timestamp,
                    "time": row.time,
                    **row.fidelity.to_dict(),
                    **row.more,
                }
                for row in self.rows
            ]
        )

    def plot(self, metrics: Sequence[str] | None = None) -> Figure:
        """Draw metrics over time, all of them unless named. Needs the extra ``report``."""
        require_drawing()
        from psgraph.metrics.plots import plot_comparison

        return plot_comparison(self, chosen_metrics(metrics, self._metrics()))

    def _repr_html_(self) -> str | None:
        columns, rows = self.table()
        shown = rows if len(rows) <= _MOST_ROWS else [*rows[: _MOST_ROWS - 1], rows[-1]]
        hidden = len(rows) - len(shown)
        return card(
            f"Comparison over {count(len(self.rows), 'timestamp')}",
            note("Curator only: computed from the private edges. Don't publish it."),
            grid(columns, shown, left=2),
            paragraph(f"{hidden} timestamps are not shown; to_pandas() has them.")
            if hidden
            else None,
        )

    def _metrics(self) -> list[str]:
        return [*self.mean.to_dict(), *self.more_mean]


def chosen_metrics(wanted: Sequence[str] | None, known: Sequence[str]) -> tuple[str, ...]:
    """Return the metrics to show, all of them unless some are named; refuse unknown names."""
    chosen = tuple(known if wanted is None else [wanted] if isinstance(wanted, str) else wanted)
    unknown = [name for name in chosen if name not in known]
    if unknown or not chosen:
        fact = f"there is no metric {unknown[0]!r} here" if unknown else "no metric was named"
        raise InvalidArgument(f"{fact}\nThere are: {', '.join(known)}.")
    return chosen


def compare(
    stream: Iterable[Snapshot | Any],
    releases: ReleasesLike,
    *,
    groups: Sequence[str] = (),
) -> Comparison:
    """Compare a stream with its releases, timestamp by timestamp. For the curator only.

    Parameters
    ----------
    stream
        The snapshots, in order; or graphs of networkx, igraph, … over the nodes of the releases.
    releases
        The directory of the releases; or synthetic graphs, or objects that carry one as
        ``graph``, in the same order. Both sides are read lazily, one pair at a time; the group
        *stream* also keeps the five previous pairs. If the ledger of the directory, or of what
        `psgraph.read_releases` returned, is there, snapshots that they were not made from are
        refused.
    groups
        Optional metrics to compute as well, by the names of `psgraph.metrics.metric_groups`:
        structure, paths, spreading, communities, stream, labels, and those of installed packages.
        Metrics of a group that are not defined for this kind of graph are left out; those of
        labels are computed wherever the roster has labels.

    Raises
    ------
    InvalidArgument
        If there is no such group, no metric of a group is defined for this kind of graph, the two
        sides are of different kinds, or an argument is not what it should be. Nothing has been
        read by then, unless neither side states its kind.
    DataError
        If one side is longer than the other, both are empty, or a pair is not over one roster.
    ReplayConflict
        If the ledger says that the releases were made from other snapshots.

    Examples
    --------
    >>> from psgraph.graph import Roster, Snapshot, SyntheticGraph
    >>> star = Snapshot(Roster.range(4), [0, 0, 0], [1, 2, 3])
    >>> thinned = SyntheticGraph(star.roster, [0, 0], [1, 2])
    >>> comparison = compare([star, star], [SyntheticGraph(star.roster, star.u, star.v), thinned])
    >>> [round(row.fidelity.density_error, 3) for row in comparison.rows]
    [0.0, 0.333]
    >>> round(comparison.mean.density_error, 3), round(comparison.std.density_error, 3)
    (0.167, 0.236)
    >>> again = SyntheticGraph(star.roster, star.u, star.v)
    >>> comparison = compare([star, star], [again, thinned], groups=["stream"])
    >>> [row.more["snapshot_overlap_error"] for row in comparison.rows]
    [None, 0.33333333333333337]
    """
    from psgraph.publication.verification import check_originals

    chosen_groups(groups)
    stated = kind_of(stream)
    stream, releases = both_sides(stream, releases)
    kind = _common_kind(stated, _published_kind(releases))
    more = None if kind is None else MoreMetrics(groups, kind)
    stream, input_checked = check_originals(stream, releases)
    rows: list[Row] = []
    for ordinal, (original, release) in enumerate(zip_longest(stream, releases)):
        if original is None or release is None:
            side = "more" if original is None else "fewer"
            raise DataError(
                f"there are {side} releases than snapshots: the shorter side ends after {ordinal}\n"
                "Compare the releases of a whole run with the stream it was made from."
            )
        graph = release if isinstance(release, SyntheticGraph) else release.graph
        if more is None:  # neither side stated its kind
            more = MoreMetrics(groups, graph.kind)
        pair = GraphFacts(original), GraphFacts(graph)
        if not ordinal and original.roster.labels is not None:
            more = MoreMetrics((*more.groups, "labels"))
        fidelity = compute_fidelity(*pair)
        rows.append(Row(ordinal, original.time, fidelity, more.compute(*pair)))
    if not rows or more is None:
        raise DataError("there is nothing to compare: no snapshots and no releases")
    mean, std = _summary([row.fidelity for row in rows])
    summary = {name: mean_and_deviation(row.more[name] for row in rows) for name in more.names}
    return Comparison(
        tuple(rows),
        mean=mean,
        std=std,
        groups=more.groups,
        more_mean={name: mean for name, (mean, _) in summary.items()},
        more_std={name: deviation for name, (_, deviation) in summary.items()},
        input_checked=input_checked,
        kind=graph.kind,
    )


def _published_kind(releases: Iterable[SyntheticGraph | HasGraph]) -> Kind | None:
    """The kind of the releases, as certified or as the first of a list has it."""
    if isinstance(releases, Releases):
        return releases.certificates[0].kind if releases.certificates else None
    return kind_of(releases)


def _common_kind(one: Kind | None, other: Kind | None) -> Kind | None:
    """The kind of the original and of the releases; None if neither states one."""
    if one is not None and other is not None and one != other:
        raise InvalidArgument(
            f"the original is {one}, but the releases are {other}\n"
            "Read the original with the options that it was published with."
        )
    return one or other


def _summary(fidelities: Sequence[Fidelity]) -> tuple[Fidelity, Fidelity]:
    """Mean and sample standard deviation of the metrics that are always computed."""
    names = tuple(fidelities[0].to_dict())
    rows = [tuple(each.to_dict().values()) for each in fidelities]
    values = np.array(rows, dtype=np.float64)  # NaN for None
    means = values.mean(axis=0).tolist()
    deviations = (values.std(axis=0, ddof=1) if len(rows) > 1 else np.zeros(len(names))).tolist()
    columns = zip(*rows, strict=True)
    found = {
        name: mean_and_deviation(column) if None in column else (mean, deviation)
        for name, column, mean, deviation in zip(names, columns, means, deviations, strict=True)
    }
    return (
        Fidelity(**{name: mean for name, (mean, _) in found.items()}),
        Fidelity(**{name: deviation for name, (_, deviation) in found.items()}),
    )


def _spread(metric: Metric, mean: float | None, deviation: float | None) -> str:
    if mean is None:
        return NO_VALUE
    return f"{metric.number(mean)} ± {metric.number(deviation)}"


def both_sides(
    stream: Iterable[Any], releases: ReleasesLike
) -> tuple[Iterable[Snapshot], Iterable[SyntheticGraph | HasGraph]]:
    """Return snapshots and releases, both to be read lazily.

    What is neither a stream nor releases is refused at once, before anything is read.

    Parameters
    ----------
    stream
        Snapshots, or graphs of another library, which are read over the nodes of their release.
    releases
        Releases or synthetic graphs, or the directory they were written to.
    """
    check_stream(stream)
    if isinstance(releases, str | PathLike):
        releases = read_releases(releases)
    if isinstance(releases, Release | Graph) or not isinstance(releases, Iterable):
        raise InvalidArgument(
            f"releases are a sequence or a directory, not one {type(releases).__name__}\n"
            "Give a list of releases, or the path of their directory."
        )
    if isinstance(releases, list | tuple):
        for release in releases:
            _graph_of(release)
    return _snapshots(stream, releases), releases


def _snapshots(stream: Iterable[Any], releases: Iterable[Any]) -> Iterator[Snapshot]:
    for number, item in enumerate(stream):
        if isinstance(item, Snapshot):
            yield item
        else:
            yield _read(item, releases, number)


def _read(item: Any, releases: Iterable[Any], number: int) -> Snapshot:
    """Read a graph of another library over the nodes, and at the time, of its release."""
    if not isinstance(releases, Sequence):
        raise InvalidArgument(
            "graphs of other libraries are compared with a directory or a list of releases\n"
            "Give one of these, or make a stream of the graphs with psgraph.read_stream(...)."
        )
    if number >= len(releases):
        raise DataError(
            f"there are fewer releases than graphs: {len(releases)}\n"
            "Compare the releases of a whole run with the graphs it was made from."
        )
    published = _graph_of(releases[number])
    return read_item(item, published.roster, number, time=published.time)


def _graph_of(release: SyntheticGraph | HasGraph) -> SyntheticGraph:
    found = release if isinstance(release, SyntheticGraph) else getattr(release, "graph", None)
    if not isinstance(found, SyntheticGraph):
        raise InvalidArgument(
            f"a release is a Release or a SyntheticGraph, not {type(release).__name__}\n"
            "Give what a publisher returned, or the path of a directory of releases."
        )
    return found


def records_to_pandas(records: Sequence[dict[str, Any]]) -> pandas.DataFrame:
    """Turn rows, all with the same keys, into a data frame; a missing number becomes NaN."""
    try:
        import pandas
    except ImportError:
        raise MissingExtra("pandas", "pandas") from None
    return pandas.DataFrame.from_records(records)


def warm_up_metrics() -> None:
    """Compile all kernels that comparing needs, or load them from the cache. Reads no data.

    >>> warm_up_metrics()
    """
    around = np.arange(_WARM_UP_NODES)
    ring = Snapshot(Roster.range(_WARM_UP_NODES), around, (around + 1) % _WARM_UP_NODES)
    compare([ring], [SyntheticGraph(ring.roster, ring.u, ring.v)], groups=tuple(GROUPS))

"""The two sides of a comparison: originals, and what was published of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from typing import Any, Protocol

from psgraph.errors import DataError, InvalidArgument
from psgraph.graph import Graph, Snapshot, SyntheticGraph
from psgraph.publication.certificate import Release
from psgraph.publication.checks import check_stream
from psgraph.publication.releases import read_releases
from psgraph.streams.iterables import read_item

__all__ = ["HasGraph", "ReleasesLike", "both_sides"]


class HasGraph(Protocol):
    """A release: anything that carries a synthetic graph."""

    @property
    def graph(self) -> SyntheticGraph: ...


ReleasesLike = str | PathLike[str] | Iterable[SyntheticGraph | HasGraph]


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

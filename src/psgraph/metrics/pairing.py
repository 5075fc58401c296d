"""The two sides of a comparison, side by side: originals and what was published of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from os import PathLike
from typing import Any, Protocol

from psgraph.errors import InvalidArgument
from psgraph.graph import Graph, Snapshot, SyntheticGraph
from psgraph.publication.certificate import Release
from psgraph.publication.checking import check_stream
from psgraph.publication.reading import read_releases
from psgraph.streams.iterables import read_item

__all__ = ["HasGraph", "ReleasesLike", "pair_up"]


class HasGraph(Protocol):
    """A release: anything that carries a synthetic graph."""

    @property
    def graph(self) -> SyntheticGraph: ...


ReleasesLike = str | PathLike[str] | Iterable[SyntheticGraph | HasGraph]


def pair_up(
    stream: Iterable[Any], releases: ReleasesLike
) -> Iterator[tuple[Snapshot | None, SyntheticGraph | None]]:
    """Return pairs of a snapshot and its synthetic graph; None where a side has ended.

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
    return _pairs(stream, releases)


def _pairs(
    stream: Iterable[Any], releases: Iterable[SyntheticGraph | HasGraph]
) -> Iterator[tuple[Snapshot | None, SyntheticGraph | None]]:
    for number, (original, release) in enumerate(zip_longest(stream, releases)):
        synthetic = None if release is None else _graph_of(release)
        if original is None or synthetic is None or isinstance(original, Graph):
            yield original, synthetic
        else:
            yield read_item(original, synthetic.roster, number), synthetic


def _graph_of(release: SyntheticGraph | HasGraph) -> SyntheticGraph:
    found = release if isinstance(release, SyntheticGraph) else getattr(release, "graph", None)
    if not isinstance(found, SyntheticGraph):
        raise InvalidArgument(
            f"a release is a Release or a SyntheticGraph, not {type(release).__name__}\n"
            "Give what a publisher returned, or the path of a directory of releases."
        )
    return found

"""What the edges of an input have besides their ends: direction, weights, sides.

A graph of another kind drops it, and whoever publishes it should know.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph.graph.formats.columns import BY_NAME, ColumnNames
from psgraph.graph.formats.frames import is_frame
from psgraph.graph.kind import UNDIRECTED, Kind, pack
from psgraph.graph.left_out import FEATURES, published_as

__all__ = ["dropped_features", "told_of"]

Built = TypeVar("Built")


def dropped_features(
    source: Any,
    kind: Kind = UNDIRECTED,
    *,
    columns: ColumnNames = BY_NAME,
    look_at_edges: bool = False,
) -> tuple[str, ...]:
    """Return what a graph of a kind drops of a graph object or a table.

    Each is one of ``direction``, ``weights`` and ``sides``. The multiplicity of parallel edges is a
    weight.

    Privacy: by the type of the object, and the names of its columns, which are public. With
    `look_at_edges` also by what some edges or nodes carry: such an answer is for the curator only,
    and must not enter a certificate.

    Parameters
    ----------
    source
        A networkx or igraph graph, a matrix, a PyTorch Geometric `Data`, or a data frame. Nothing
        is known of other objects.
    columns
        Which columns of a data frame the user named.

    Examples
    --------
    >>> import networkx
    >>> dropped_features(networkx.MultiDiGraph())
    ('direction', 'weights')
    >>> weighted = networkx.Graph()
    >>> weighted.add_edge(1, 2, weight=3)
    >>> dropped_features(weighted), dropped_features(weighted, look_at_edges=True)
    ((), ('weights',))
    """
    found = _features(source, columns)
    if look_at_edges:
        found |= _carried(source)
    kept = {
        "direction": kind.sides == 2,
        "weights": kind.weighted,
        "sides": kind.two_sided,
    }
    return tuple(name for name, is_kept in kept.items() if name in found and not is_kept)


def _features(source: Any, columns: ColumnNames) -> set[str]:
    """What the type of an object and the names of its columns tell."""
    library = _library(source)
    if library == "networkx":
        return _named(direction=source.is_directed(), weights=source.is_multigraph())
    if library == "igraph":
        return _named(
            direction=source.is_directed(),
            weights="weight" in source.es.attributes(),
            sides="type" in source.vs.attributes(),
        )
    if library == "torch_geometric":
        if hasattr(source, "edge_types"):
            stores = [source[each] for each in source.edge_types]
            return _named(weights=any("edge_weight" in each for each in stores), sides=True)
        return _named(weights="edge_weight" in source)
    if is_frame(source):
        names = _column_names(source)
        return {*columns.dropped(names, len(names))}
    return set()


def _column_names(frame: Any) -> list[str]:
    if hasattr(frame, "collect_schema"):  # polars, lazy or not
        return list(frame.collect_schema().names())
    for names in ("column_names", "columns"):
        if hasattr(frame, names):
            return [str(name) for name in getattr(frame, names)]
    return [str(name) for name in frame.schema.names]


def _carried(source: Any) -> set[str]:
    """What edges and nodes carry: private."""
    library = _library(source)
    if library == "networkx":
        return _named(
            weights=any("weight" in data for *_, data in source.edges(data=True)),
            sides=any("bipartite" in data for _, data in source.nodes(data=True)),
        )
    if library == "igraph":
        return _named(weights=source.has_multiple())
    if library == "torch_geometric" and getattr(source, "edge_index", None) is not None:
        return _named(direction=_points(*source.edge_index.cpu().numpy()))
    if library in ("scipy", "numpy"):
        import scipy.sparse

        matrix = scipy.sparse.csr_array(source)
        square = matrix.shape[0] == matrix.shape[1]
        return _named(
            direction=square and _points(*matrix.nonzero()),
            weights=bool((~np.isin(matrix.data, (0, 1))).any()),
            sides=not square,
        )
    return set()


def _points(heads: Integers, tails: Integers) -> bool:
    """Whether edges seem to have a direction: not if all are there both ways, or all one way."""
    there, back = np.unique(pack(heads, tails)), np.unique(pack(tails, heads))
    one_way = (heads <= tails).all() or (heads >= tails).all()
    return not (one_way or np.array_equal(there, back))


def _named(**features: bool) -> set[str]:
    return {name for name, has in features.items() if has}


def _library(source: Any) -> str | None:
    """The library that the type of an object, or one that it extends, comes from."""
    known = {"networkx", "igraph", "torch_geometric", "scipy", "numpy"}
    modules = (each.__module__.partition(".")[0] for each in type(source).__mro__)
    return next((module for module in modules if module in known), None)


def told_of(source: Any, options: Mapping[str, Any], built: Built) -> Built:
    """Return what was built of a graph object, after saying what it has not that the object has.

    Nothing is said of what was said to be meant. The warning depends on edges: like every message
    about an input it is for the curator only.
    """
    kind, weights = options.get("kind"), options.get("weights")
    said = {"weights"} if weights is not None else set()
    if kind is not None or options.get("left") is not None:
        said |= {"direction", "sides"}
    if not isinstance(kind, Kind) and len(said) < len(FEATURES):  # a `Kind` says everything
        found = dropped_features(source, look_at_edges=True)
        if told := published_as([name for name in found if name not in said]):
            warnings.warn(told, stacklevel=3)
    return built

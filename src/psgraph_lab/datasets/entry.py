"""What the catalogue records about a data set."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Counts", "Dataset"]


@dataclass(frozen=True)
class Counts:
    """The size of a stream: distinct nodes and undirected edges over all timestamps.

    Attributes
    ----------
    self_loops
        Distinct self-loops, which `edges` leaves out; None where they were dropped uncounted.
    """

    nodes: int
    edges: int
    timestamps: int
    self_loops: int | None = None


@dataclass(frozen=True)
class Dataset:
    """One data set.

    Attributes
    ----------
    paper
        Counts in the paper's table, self-loops included; None if the paper does not use it.
    stand_in_for
        The data set of the paper that this one replaces, if it is a stand-in.
    source
        A page about where it comes from.
    downloads
        Addresses of its original files; without any, it has to be given with ``--from``.
    checksum
        SHA-256 of the first of `downloads`, once known.
    files
        Names of its Parquet file; `fetch` writes the first.
    selection
        Which part of the source is used, and how.
    discrepancy
        Known differences from the paper's counts.
    paper_self_loops
        Self-loops among the paper's edges.
    """

    name: str
    title: str
    description: str
    source: str
    licence: str
    size: str
    selection: str
    files: tuple[str, ...] = ()
    downloads: tuple[str, ...] = ()
    checksum: str | None = None
    stand_in_for: str | None = None
    paper: Counts | None = None
    paper_self_loops: int = 0
    discrepancy: str = ""

"""The data sets as public streams for `psgraph rehearse`, which resizes undirected graphs only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from psgraph_lab.datasets.catalogue import UNDIRECTED, dataset_names, find_dataset

if TYPE_CHECKING:
    from psgraph.graph import Snapshot

__all__ = ["PUBLIC_STREAMS"]


def _load(name: str) -> list[Snapshot]:
    from psgraph_lab.datasets.snapshots import load_dataset

    return load_dataset(name)


#: What loads each data set, by its name.
PUBLIC_STREAMS: Mapping[str, Callable[[], list[Snapshot]]] = {
    name: partial(_load, name) for name in dataset_names() if find_dataset(name).kind == UNDIRECTED
}

"""Data sets: the paper's four from their original files, stand-ins, and a synthetic stream."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from psgraph_lab.datasets.catalogue import dataset_names, find_dataset
from psgraph_lab.datasets.further import Counts, Dataset

if TYPE_CHECKING:
    from psgraph_lab.datasets.download import fetch_dataset
    from psgraph_lab.datasets.snapshots import is_available, load_dataset

__all__ = [
    "Counts",
    "Dataset",
    "dataset_names",
    "fetch_dataset",
    "find_dataset",
    "is_available",
    "load_dataset",
]

# NumPy and Arrow stay out until a data set is opened.
_LATER = {"fetch_dataset": "download", "is_available": "snapshots", "load_dataset": "snapshots"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"psgraph_lab.datasets.{_LATER[name]}"), name)

"""The paper's time and memory (Tables 4 and 5), for comparison with ours."""

from __future__ import annotations

__all__ = ["MACHINE", "find_published"]

MACHINE = "AMD EPYC 7402, 24 cores"

_DATASETS = ("as-733", "as-caida", "cit-hepph", "reddit")
#: Table 4: seconds for the whole stream.
_SECONDS = {
    "tmf": (70.84, 481.49, 16.88, 19.88),
    "privgraph": (310.89, 1998.91, 46.93, 101.60),
    "der": (8772.87, 48223.78, 3705.31, 5140.13),
    "privhrg": (35281.87, 270312.32, 4328.67, 10091.21),
    "ldpgen": (512.87, 1256.19, 101.42, 284.64),
    "psgraph": (678.94, 1242.34, 35.81, 104.58),
}
#: Table 5: megabytes.
_MEGABYTES = {
    "tmf": (262.26, 580.06, 127.64, 311.56),
    "privgraph": (267.47, 610.24, 159.23, 361.23),
    "der": (505.12, 7340.03, 382.29, 1120.26),
    "privhrg": (282.15, 694.23, 173.21, 372.19),
    "ldpgen": (318.95, 1604.09, 183.07, 455.86),
    "psgraph": (385.09, 2367.49, 295.12, 767.32),
}
_TABLES = {"seconds": _SECONDS, "peak_megabytes": _MEGABYTES}


def find_published(metric: str, method: str, dataset: str) -> float | None:
    """The paper's number; None if it has none.

    >>> find_published("seconds", "psgraph", "as-caida"), find_published("seconds", "tmf", "demo")
    (1242.34, None)
    """
    row = _TABLES.get(metric, {}).get(method)
    return row[_DATASETS.index(dataset)] if row and dataset in _DATASETS else None

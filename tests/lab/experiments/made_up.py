"""Made-up results that look like real ones, for all experiments; nothing is published for them."""

from __future__ import annotations

from zlib import crc32

import numpy as np

from psgraph.metrics import METRICS
from psgraph_lab.datasets import find_dataset
from psgraph_lab.datasets.jumps import SETTLED, find_jump
from psgraph_lab.datasets.kinds import is_undirected
from psgraph_lab.experiments.cells import Cell, Outcome
from psgraph_lab.experiments.definition import Experiment
from psgraph_lab.experiments.store import source_of

LENGTHS = {
    "as-733": 147,
    "as-caida": 25,
    "hepph-partial": 36,
    "wiki-talk": 24,
    "reddit-shared": 18,
    "film-ratings": 31,
    "trips": 20,
}
AT_HAND = tuple(LENGTHS)

#: Where each method's errors lie, roughly.
_LEVEL = {
    "psgraph-plus": 0.1,
    "psgraph": 0.2,
    "tmf": 0.9,
    "der": 1.1,
    "privhrg": 0.8,
    "ldpgen": 9.0,
    "privgraph": 0.6,
    "laplace-table": 3.0,
    "gaussian-table": 1.0,
}
_METRIC = {
    "eigenvector_overlap": 0.6,
    "assortativity_error": 1.0,
    "degree_divergence": 4.0,
    "density_error": 0.4,
    "clustering_error": 0.8,
    "seconds": 20.0,
    "peak_megabytes": 300.0,
    "added_megabytes": 90.0,
    "degree_divergence_smoothed": 0.3,
    "average_clustering_error": 0.8,
    "snapshot_overlap_error": 0.5,
    "degree_change_correlation": 1.0,
    "lasting_edges_error": 0.6,
    "largest_component_error": 0.2,
    "outbreak_size_error": 0.5,
    "adjusted_rand_index": 1.0,
    "community_modularity_error": 0.9,
    "community_agreement": 1.0,
    "label_modularity_error": 0.5,
    "label_assortativity_error": 0.5,
    "label_block_error": 0.7,
}
_HIGHER = {
    "eigenvector_overlap",
    "degree_change_correlation",
    "adjusted_rand_index",
    "community_agreement",
}


def made_up(experiment: Experiment, *, datasets: tuple[str, ...] = AT_HAND) -> dict[Cell, Outcome]:
    """An outcome for every cell of the data sets."""
    return {
        cell: _outcome(cell)
        for cell in experiment.cells()
        if find_jump(cell.dataset)[0] in datasets or cell.dataset in datasets
    }


def _outcome(cell: Cell) -> Outcome:
    rng = np.random.default_rng(cell.seed)
    length = cell.timestamps or LENGTHS.get(cell.dataset, 12)
    size = 1 + crc32(cell.dataset.encode()) % 4
    fades = 1 / np.sqrt(float(cell.epsilon) * 5 / cell.window)
    threshold = float(dict(cell.parameters).get("threshold", 1))
    bend = 1 + 0.1 * np.log10(threshold) ** 2 + 0.2 * (len(cell.parameters) > 0)
    values, series = {}, {}
    for name, scale in _METRIC.items():
        level = _LEVEL[cell.method] * scale * size * fades * bend * float(cell.share)
        drift = 1 + 0.2 * np.sin(np.arange(length) / 9)
        over_time = level * drift * rng.lognormal(0, 0.15, length) * rng.lognormal(0, 0.05)
        if name in _HIGHER:
            over_time = 0.9 / (1 + over_time)
        series[name] = over_time.astype(np.float32)
        values[name] = float(over_time.mean())
        if find_jump(cell.dataset)[1] is not None:
            values[SETTLED + name] = values[name]
    values |= _of_kind(cell, values["density_error"])
    values["edges"] = float(int(40_000 * size * length * float(cell.share)))
    source = source_of(cell.method)
    return Outcome(cell, values, series, version="0.0.0", machine="made up", source=source)


def _of_kind(cell: Cell, level: float) -> dict[str, float]:
    """Values of the metrics of directed, two-sided and weighted data sets; NaN where undefined."""
    kind = find_dataset(cell.dataset).kind
    if kind == "undirected":
        return {}
    found = {}
    for name, metric in METRICS.items():
        defined = kind in metric.kinds and not (metric.of_weights and is_undirected(cell.dataset))
        error = 0.9 / (1 + level) if metric.better == "higher" else level
        found[name] = found[SETTLED + name] = error if defined else float("nan")
    return found

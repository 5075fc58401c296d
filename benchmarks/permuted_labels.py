"""Whether public labels that say nothing cost anything: pairs of runs with the same noise.

    python benchmarks/permuted_labels.py demo-departments 0.5 30

publishes a labelled data set by PSGraph+ without labels, and with its labels given to other nodes
at random: another permutation in each run, the same seed in both, no search for communities. It
prints the mean error of both, and their mean difference in standard errors. A fourth argument is
the first seed, 1 unless given.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import count, islice

import numpy as np

import psgraph as pg
from psgraph.graph import Snapshot
from psgraph.metrics.fidelity import MoreMetrics, compute_fidelity
from psgraph.metrics.groups import METRICS
from psgraph.metrics.metric import GraphFacts
from psgraph_lab.datasets import load_dataset
from psgraph_lab.datasets.labelled import with_other_labels
from psgraph_lab.experiments.cells import mean_over_time

WINDOW = 5
SHOWN = (
    "eigenvector_overlap",
    "assortativity_error",
    "degree_divergence",
    "degree_divergence_smoothed",
    "density_error",
    "clustering_error",
    "average_clustering_error",
    "snapshot_overlap_error",
)


def errors(
    stream: list[Snapshot], originals: list[GraphFacts], epsilon: str, seed: int
) -> list[float]:
    """The metrics of one run, each averaged over time, and how often labels were used."""
    series: dict[str, list[float]] = {name: [] for name in SHOWN}
    guarantee, more = pg.WEventPrivacy(epsilon, window=WINDOW), MoreMetrics(["stream"])
    used = []
    with pg.Publisher(pg.PSGraphPlus(communities=False), guarantee, seed=seed) as publisher:
        for original, release in zip(originals, publisher.publish_all(stream), strict=True):
            made = GraphFacts(release.graph)
            found = compute_fidelity(original, made).to_dict() | more.compute(original, made)
            for name, values in series.items():
                value = found[name]
                values.append(float("nan") if value is None else value)
            used.append(bool(release.certificate.summary.get("labels_used", False)))
    return [*map(mean_over_time, series.values()), float(np.mean(used))]


def pairs(name: str, epsilon: str, first: int) -> Iterator[tuple[list[float], list[float]]]:
    """The errors without labels and with permuted ones, run after run."""
    stream = load_dataset(name)
    plain = with_other_labels(stream, permuted=False)
    originals = [GraphFacts(snapshot) for snapshot in plain]
    for seed in count(first):
        permuted = with_other_labels(stream, permuted=True, seed=seed)
        yield errors(plain, originals, epsilon, seed), errors(permuted, originals, epsilon, seed)


def main() -> None:
    name, epsilon, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
    first = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    found = np.array(list(islice(pairs(name, epsilon, first), runs)))
    without, permuted = found.mean(axis=0)
    difference = found[:, 1] - found[:, 0]
    error = difference.std(axis=0, ddof=1) / np.sqrt(runs)
    print(f"{name}, ε = {epsilon}, w = {WINDOW}, {runs} pairs from seed {first}")
    for index, metric in enumerate(SHOWN):
        apart = difference[:, index].mean() / max(error[index], 1e-12)
        words = METRICS[metric].words
        print(f"| {words} | {without[index]:.3f} | {permuted[index]:.3f} | {apart:+.1f} |")
    print(f"labels used at {100 * permuted[-1]:.0f} % of the timestamps")


if __name__ == "__main__":
    main()

"""Whether predicted errors hold for releases that follow public labels.

    python benchmarks/expected_labels.py demo-departments 0.5 2

publishes a labelled data set with as many seeds as given, predicts the errors of the releases, and
prints for each metric the prediction, its 90 % interval and the true error.
"""

from __future__ import annotations

import sys

import psgraph as pg
from psgraph.metrics.fidelity import MoreMetrics, compute_fidelity
from psgraph.metrics.metric import GraphFacts
from psgraph_lab.datasets import load_dataset
from psgraph_lab.experiments.cells import mean_over_time

WINDOW, TIMESTAMPS = 5, 20


def true_errors(stream: list[pg.Snapshot], releases: list[pg.Release]) -> dict[str, float]:
    """The metrics of releases, averaged over time."""
    series: dict[str, list[float]] = {}
    more = MoreMetrics(["communities", "stream"])
    for snapshot, release in zip(stream, releases, strict=True):
        original, made = GraphFacts(snapshot), GraphFacts(release.graph)
        found = compute_fidelity(original, made).to_dict() | more.compute(original, made)
        for name, value in found.items():
            series.setdefault(name, []).append(float("nan") if value is None else value)
    return {name: mean_over_time(values) for name, values in series.items()}


def main() -> None:
    name, epsilon, seeds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    stream = load_dataset(name)[:TIMESTAMPS]
    for seed in range(1, seeds + 1):
        guarantee = pg.WEventPrivacy(epsilon, window=WINDOW)
        with pg.Publisher(pg.PSGraphPlus(), guarantee, seed=seed) as publisher:
            releases = list(publisher.publish_all(stream))
        true = true_errors(stream, releases)
        for metric, found in pg.expected_errors(releases, repetitions=1).errors.items():
            if found.overall is not None and metric in true:
                held = true[metric] in found.overall
                print(metric, found.shown(), f"{true[metric]:.3f}", "held" if held else "missed")


if __name__ == "__main__":
    main()

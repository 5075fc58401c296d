"""What the last line of `psgraph demo` shows, over many seeds.

    python benchmarks/demo.py --seeds 15 --epsilon 1/2 1 2 4 --window 3

publishes the demo's stream by PSGraph, PSGraph+ and PSGraph+ with labels as the command does, and
prints of every metric the mean over seeds, its standard error, and in how many runs it is better
than PSGraph's of the same seed; also the seed of `make demo-pictures`, a typical one.
"""

from __future__ import annotations

import argparse
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

import psgraph as pg
from psgraph.cli.demo import shown_metrics
from psgraph.streams.demo import demo_stream

RUNS = {
    "PSGraph": (pg.PSGraph, False),
    "PSGraph+": (pg.PSGraphPlus, False),
    "with labels": (pg.PSGraphPlus, True),
}


def means(run: str, epsilon: Fraction, window: int, seed: int) -> list[float]:
    """Publish once, and return the means over timestamps of the metrics that the demo prints."""
    method, labels = RUNS[run]
    with pg.Publisher(method(), pg.WEventPrivacy(epsilon, window), seed=seed) as publisher:
        graphs = [release.graph for release in publisher.publish_all(demo_stream(labels=labels))]
    compared = pg.compare(demo_stream(labels=True), graphs)
    values = {**compared.mean.to_dict(), **compared.more_mean}
    return [values[metric.name] or np.nan for metric in shown_metrics()]


def print_table(epsilon: Fraction, window: int, found: dict[str, NDArray[np.float64]]) -> None:
    """Print a line for each metric: mean ± standard error, and runs that beat PSGraph's."""
    first, *others = found
    seeds = len(found[first])
    print(f"\nepsilon {epsilon}, window {window}, {seeds} seeds")
    for column, metric in enumerate(shown_metrics()):
        cells = []
        for values in found.values():
            mean = metric.scaled(values[:, column].mean())
            error = metric.scaled(values[:, column].std(ddof=1) / seeds**0.5)
            cells.append(f"{mean:.2f} ± {error:.2f}")
        for run in others:
            gain = found[run][:, column] - found[first][:, column]
            better = int((gain > 0 if metric.arrow == "↑" else gain < 0).sum())
            cells.append(f"{run} leads in {better}")
        print(f"  {metric.words + ' ' + metric.arrow:<28}" + "   ".join(cells))
    print(f"  the run closest to these means: seed {typical_seed(found)}", flush=True)


def typical_seed(found: dict[str, NDArray[np.float64]]) -> int:
    """Return the seed of the pictures: its means are closest to those over seeds.

    Distances are in standard deviations of each metric and method.
    """
    values = np.concatenate(list(found.values()), axis=1)
    distances = (values - values.mean(axis=0)) / values.std(axis=0)
    return 1 + int((distances**2).sum(axis=1).argmin())


def main() -> None:
    """Publish every run with every seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=15)
    parser.add_argument("--epsilon", type=Fraction, nargs="+", default=[Fraction(1, 2)])
    parser.add_argument("--window", type=int, default=3)
    chosen = parser.parse_args()
    for epsilon in chosen.epsilon:
        found = {
            run: np.array(
                [means(run, epsilon, chosen.window, seed) for seed in range(1, chosen.seeds + 1)]
            )
            for run in RUNS
        }
        print_table(epsilon, chosen.window, found)


if __name__ == "__main__":
    main()

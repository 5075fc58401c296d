"""Weights where edges are many, and where degrees are known, as docs/results/kinds.md says.

    PSGRAPH_DATA=~/snap python benchmarks/weights.py

publishes the four weighted streams of `psgraph experiment run kinds` and prints, for each ε: the
error of the total weight at timestamps of at least 2,000 edges, and the correlations over nodes of
the logarithms of degrees and of strengths, on each side, in the original and in the release.
"""

from __future__ import annotations

import argparse

import numpy as np

import psgraph as pg
from psgraph_lab.datasets import load_dataset

STREAMS = ("college-messages", "film-ratings", "department-email", "trips")
WINDOW, MANY = 5, 2_000


def sums(graph: pg.Snapshot | pg.SyntheticGraph) -> list[np.ndarray]:
    """Degrees on each side, then strengths on each side, as logarithms."""
    made, nodes = [], len(graph.roster)
    for weight in (np.ones(graph.u.size), graph.weight):
        made += [np.log1p(np.bincount(end, weight, nodes)) for end in (graph.u, graph.v)]
    if graph.kind.two_sided:  # positions of the right come after those of the left
        left = graph.roster.sizes[0]
        made = [each[:left] if number % 2 == 0 else each[left:] for number, each in enumerate(made)]
    return made


def main() -> None:
    """Print one line for each stream and ε."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--epsilons", nargs="*", default=["1", "2", "4"])
    asked.add_argument("--seeds", type=int, default=3)
    chosen = asked.parse_args()
    print("stream             ε    total weight   degrees: out in   strengths: out in")
    for name in STREAMS:
        stream = load_dataset(name)
        truth = [sums(snapshot) for snapshot in stream]
        for epsilon in chosen.epsilons:
            errors, found = [], []
            for seed in range(chosen.seeds):
                publisher = pg.Publisher(
                    pg.PSGraphPlus(), pg.WEventPrivacy(epsilon, WINDOW), seed=seed
                )
                with publisher:
                    for snapshot, true, release in zip(
                        stream, truth, publisher.publish_all(stream), strict=True
                    ):
                        graph = release.graph
                        if snapshot.u.size >= MANY:
                            total = snapshot.weight.sum()
                            errors.append(abs(graph.weight.sum() - total) / total)
                        pairs = zip(true, sums(graph), strict=True)
                        found.append([_correlation(*pair) for pair in pairs])
            many = (
                f"{np.mean(errors):8.3f} ({len(errors) // chosen.seeds})"
                if errors
                else "       –    "
            )
            means = "  ".join(f"{value:7.3f}" for value in np.nanmean(found, axis=0))
            print(f"{name:<18}{epsilon:>4}{many}    {means}", flush=True)


def _correlation(one: np.ndarray, other: np.ndarray) -> float:
    if not one.std() or not other.std():
        return float("nan")
    return float(np.corrcoef(one, other)[0, 1])


if __name__ == "__main__":
    main()

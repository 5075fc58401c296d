"""Fidelity of PSGraph with communities found at every timestamp, as docs/how-to/scale.md shows it.

    PSGRAPH_DATA=~/snap python benchmarks/choice_quality.py

prints means and standard deviations over six seeds, of means over snapshots of As-733 and As-caida.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

import psgraph as pg
from psgraph.metrics import find_communities, modularity

STREAMS = (("as733", 10), ("ascaida", 5))  # file and how many snapshots to step ahead
EPSILONS, WINDOW, SEEDS = (1, 20), 5, 6


def fidelity(snapshots: list[pg.Snapshot], *, epsilon: int, seed: int) -> dict[str, float]:
    """Publish once, seeded, and compare."""
    guarantee = pg.WEventPrivacy(epsilon, WINDOW)
    with pg.Publisher(pg.PSGraph(always_repartition=True), guarantee, seed=seed) as publisher:
        graphs = [release.graph for release in publisher.publish_all(snapshots)]
    differences = [
        abs(modularity(one, find_communities(one)) - modularity(other, find_communities(other)))
        for one, other in zip(snapshots, graphs, strict=True)
    ]
    compared = pg.compare(snapshots, graphs).mean.to_dict()
    return {**compared, "modularity_difference": float(np.mean(differences))}


def main() -> None:
    """Print one line for each stream and epsilon."""
    directory = Path(os.environ["PSGRAPH_DATA"])
    for name, step in STREAMS:
        stream = pg.read_stream(directory / f"{name}.parquet", roster_from_edges=True)
        snapshots = list(stream)[::step]
        for epsilon in EPSILONS:
            runs = [fidelity(snapshots, epsilon=epsilon, seed=seed) for seed in range(SEEDS)]
            print(f"{name}, epsilon {epsilon}, window {WINDOW}, {len(snapshots)} snapshots")
            for metric in runs[0]:
                values = [run[metric] for run in runs]
                print(f"  {metric:<28} {np.mean(values):.4f} ± {np.std(values, ddof=1):.4f}")


if __name__ == "__main__":
    main()

"""Graphs that PSGraph+ draws in parts against those it draws in one, as docs/how-to/scale.md shows.

    PSGRAPH_DATA=~/snap python benchmarks/parts_quality.py

publishes sixteen streams twice with the same noise: once as usual, and once cut into about seven
ranges of nodes. It prints the mean difference of every metric (in parts − in one) over seeds, with
its standard error. Communities are not searched for in either.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np

import psgraph as pg
from psgraph.methods.plus import parts
from psgraph.metrics.fidelity import compute_fidelity
from psgraph.metrics.metric import GraphFacts
from psgraph_lab.experiments.cells import mean_over_time

STREAMS = (
    *("as733", "ascaida", "hepph", "redditshared", "wikitalk", "wikitalk_monthly_2004_2005"),
    *("emaileu_weekly", "collegemsg_weekly", "dblp_yearly", "bitcoinalpha_monthly"),
    *("bitcoinotc_monthly", "mathoverflow_newlinks_monthly", "facebookwall_newlinks_monthly"),
    *("canparl_year", "radoslaw_email_week", "highschool2013_hour"),
)
WINDOW, RANGES = 5, 7


def fidelity(
    originals: list[GraphFacts], snapshots: list[pg.Snapshot], *, epsilon: str, seed: int
) -> dict[str, float]:
    """Publish once, seeded; metrics averaged over time."""
    series: dict[str, list[float]] = {}
    method = pg.PSGraphPlus(communities=False)
    with pg.Publisher(method, pg.WEventPrivacy(epsilon, WINDOW), seed=seed) as publisher:
        for original, release in zip(originals, publisher.publish_all(snapshots), strict=True):
            found = compute_fidelity(original, GraphFacts(release.graph)).to_dict()
            for name, value in found.items():
                series.setdefault(name, []).append(float("nan") if value is None else value)
    return {name: mean_over_time(values) for name, values in series.items()}


def main() -> None:
    """Print one line for each stream and metric."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--epsilon", default="1")
    asked.add_argument("--seeds", type=int, default=5)
    asked.add_argument("--timestamps", type=int, default=12)
    asked.add_argument("--only", nargs="*", default=STREAMS)
    chosen = asked.parse_args()
    directory, usual = Path(os.environ["PSGRAPH_DATA"]), parts.WIDTH
    print("stream  metric  in one ± SE  in parts ± SE  paired difference ± SE")
    for name in chosen.only:
        stream = pg.read_stream(directory / f"{name}.parquet", roster_from_edges=True)
        snapshots = list(stream)[: chosen.timestamps]
        originals = [GraphFacts(snapshot) for snapshot in snapshots]
        runs: dict[int, list[dict[str, float]]] = {}
        for width in (usual, max(len(snapshots[-1].roster) // RANGES, 8)):
            parts.WIDTH = width
            runs[width] = [
                fidelity(originals, snapshots, epsilon=chosen.epsilon, seed=seed)
                for seed in range(chosen.seeds)
            ]
        parts.WIDTH = usual
        one, several = runs.values()
        for metric in one[0]:
            values = [np.array([run[metric] for run in each]) for each in (one, several)]
            shown = [*values, values[1] - values[0]]
            cells = [f"{each.mean():+.5f} ± {_error(each):.5f}" for each in shown]
            print(f"{name:<32}{metric:<26}{'  '.join(cells)}", flush=True)


def _error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(values.size))


if __name__ == "__main__":
    main()

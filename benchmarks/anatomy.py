"""Anatomy of releases: nodes without an edge, hubs and triangles, compared with the original.

    python benchmarks/anatomy.py as-caida 2.5

publishes a data set with every fast method and PSGraph's variants, seeded, and prints means over
timestamps. The explanations in docs/results/notes.toml are based on it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from psgraph.graph import Graph
from psgraph.methods.registry import find_method
from psgraph.metrics import assortativity, clustering_coefficients, node_degrees, triangles
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.publisher import Publisher
from psgraph_lab.datasets import load_dataset

RUNS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("psgraph", {}),
    ("psgraph", {"fusion": False}),
    ("psgraph", {"postprocess": False}),
    ("psgraph", {"fusion": False, "postprocess": False}),
    ("psgraph", {"always_repartition": True}),
    ("tmf", {}),
    ("der", {}),
    ("ldpgen", {}),
    ("privgraph", {}),
)
SEED = 5


def describe(name: str, graphs: Sequence[Graph]) -> None:
    degrees = [node_degrees(graph) for graph in graphs]
    facts = {
        "no edge": np.mean([(degree == 0).mean() for degree in degrees]),
        "one or two": np.mean([((degree == 1) | (degree == 2)).mean() for degree in degrees]),
        "largest degree": np.mean([degree.max() for degree in degrees]),
        "edge ends of top 1 %": np.mean(
            [
                np.sort(degree)[-max(1, degree.size // 100) :].sum() / degree.sum()
                for degree in degrees
            ]
        ),
        "transitivity": np.mean([clustering_coefficients(graph).transitivity for graph in graphs]),
        "triangles": np.mean([triangles(graph).sum() / 3 for graph in graphs]),
        "assortativity": np.mean([assortativity(graph) for graph in graphs]),
    }
    print(name, *(f"{fact} {value:.4g}" for fact, value in facts.items()), sep="  ", flush=True)


def main() -> None:
    dataset, epsilon = sys.argv[1:]
    stream = load_dataset(dataset)
    describe("original", stream)
    for method, parameters in RUNS:
        guarantee = WEventPrivacy(epsilon, window=5)
        publisher = Publisher(find_method(method)(**parameters), guarantee, seed=SEED)
        graphs = [publisher.publish(snapshot).graph for snapshot in stream]
        describe(f"{method} {parameters or ''}", graphs)


if __name__ == "__main__":
    main()

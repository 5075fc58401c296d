"""Work on released edges: drawing a graph, repairing and encoding it, on any engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from psgraph._runtime.arrays import Floats, Labels
from psgraph.engines.base import Blocks, Model
from psgraph.engines.counter_based import derived_key
from psgraph.engines.distinct import pair_job
from psgraph.engines.repair import repaired
from psgraph.engines.running import Job, Runner
from psgraph.engines.sampling import block_job
from psgraph.graph.formats.edges import encode_part

if TYPE_CHECKING:
    from psgraph.graph import SyntheticGraph
    from psgraph.graph.parts import EdgeParts

__all__ = ["Released"]


class Released:
    """The last three verbs of an engine, done with a `Runner`.

    See `psgraph.engines.base.Engine`.
    """

    def __init__(self, runner: Runner) -> None:
        self.runner = runner

    def sample(self, *models: Model, seed: int) -> EdgeParts:
        return self.runner.shuffle(
            (_job(model, derived_key(seed, number)) for number, model in enumerate(models)),
            nodes=max(model.labels.size for model in models),
        )

    def repair(
        self,
        parts: EdgeParts,
        *,
        labels: Labels,
        inner_degrees: Floats,
        outer_degrees: Floats,
        edge_count: int,
        seed: int,
    ) -> EdgeParts:
        return repaired(
            parts,
            labels=labels,
            inner_degrees=inner_degrees,
            outer_degrees=outer_degrees,
            edge_count=edge_count,
            seed=seed,
            runner=self.runner,
        )

    def encode(self, graph: SyntheticGraph) -> Iterator[memoryview]:
        return self.runner.map(Job(encode_part, graph.parts.edges(), (graph.roster,)))


def _job(model: Model, key: int) -> Job:
    return block_job(model, key=key) if isinstance(model, Blocks) else pair_job(model, key=key)
